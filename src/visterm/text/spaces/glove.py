"""Word vectors: a text is the mean of its words' meanings, rare words first.

``y ∝ Σ_t tf_t · idf_t · v_t`` with v_t GloVe's vector of word t.

J. Pennington, R. Socher and C. Manning, EMNLP 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import MissingExtra
from visterm.progress import Progress
from visterm.text.meaning import glove, has_vectors
from visterm.text.spaces.space import texts_of, unit
from visterm.text.spaces.words import WordVectors
from visterm.text.tokens import tokens


@dataclass(repr=False, eq=False)
class Glove(WordVectors):
    """The idf-weighted mean of the word vectors of GloVe (50 numbers, 400,000 English words).

    Needs the extra ``words``. Captions teach only how rare words are; words that no caption holds
    weigh as the rarest, so that a query may use any word GloVe knows.

    Parameters
    ----------
    stop_words : sequence of str, optional
        Words to leave out; None leaves out those that only hold English together.
    """

    name = "glove"
    arrays = ("idf_",)
    min_captions = 1
    language = None  # vectors are of words as written

    stop_words: Sequence[str] | None = None

    def fit(self, captions: Sequence[str], *, progress: Progress | None = None) -> Self:
        _check_installed()
        return super().fit(captions, progress=progress)

    @property
    def dimensions(self) -> int:
        return int(glove()[1].shape[1])

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        _check_installed()
        place, vectors = glove()
        stopped, rarest = set(self._stopped()), float(self.vocabulary_.idf.max())
        rows = np.zeros((len(texts), vectors.shape[1]), np.float32)
        for row, text in zip(rows, texts_of(texts), strict=True):
            for word in tokens(text):
                at = place.get(word)
                if at is not None and word not in stopped:
                    number = self.vocabulary_.number(word)
                    weight = rarest if number is None else float(self.vocabulary_.idf[number])
                    row += np.float32(weight) * vectors[at]
        return unit(rows)


def _check_installed() -> None:
    if not has_vectors():
        raise MissingExtra("word vectors need GloVe; install it with pip install visterm[words]")

"""LSA: words that come together in captions share directions.

The tf·idf matrix of the captions is brought to rank k by its SVD, ``D ≈ U S Vᵀ``; a text d becomes
``d V``, of unit length. tf counts as ``tf^root``: a word said twice says little more than once.

S. Deerwester, S. Dumais, G. Furnas, T. Landauer and R. Harshman, JASIS 1990.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.matrices import with_values
from visterm.progress import Progress, silent
from visterm.text.spaces.space import unit
from visterm.text.spaces.words import WordVectors
from visterm.text.weighting import weigh_queries


@dataclass(repr=False, eq=False)
class Lsa(WordVectors):
    """Latent semantic analysis of captions.

    Parameters
    ----------
    n_components : int
        Singular values kept; as many as there are, if there are fewer.
    root : float
        Exponent of term frequencies: 1 counts every mention, 0.5 is the square root.
    power : float
        Exponent of the singular values on top of the projection: 0 is plain LSA, negative
        numbers bring weak directions forward.
    min_captions, language, stop_words
        As for `Words`.
    random_state : int
        Seed of the vector the SVD starts from; it moves no more than rounding.

    Examples
    --------
    >>> space = Lsa(n_components=2, min_captions=1).fit(
    ...     ["sun sea", "sun beach", "snow alps", "snow ski"]
    ... )
    >>> query, *captions = space.transform(["beach", "a sea", "the alps"])
    >>> (np.array(captions) @ query).round(2).tolist()
    [1.0, 0.0]
    """

    name = "lsa"
    arrays = ("directions_", "idf_")

    directions_: NDArray[np.float32] = field(init=False, repr=False)

    n_components: int = 300
    root: float = 0.5
    power: float = 0.0
    min_captions: int = 2
    language: str | None = "english"
    stop_words: Sequence[str] | None = ()
    random_state: int = 0

    def fit(self, captions: Sequence[str], *, progress: Progress | None = None) -> Self:
        if not self.n_components >= 1:
            raise BadInput(f"n_components must be 1 or more, not {self.n_components!r}")
        report = progress or silent
        report("analysing captions", 0, 2)
        vocabulary, counts = self._learn_words(captions)
        report("analysing captions", 1, 2)
        weighed = self._weighed(counts, vocabulary.idf)
        values, directions = leading_directions(weighed, self.n_components, self.random_state)
        scale = (values / values[0]) ** self.power
        self.vocabulary_, self.idf_ = vocabulary, vocabulary.idf
        self.directions_ = (directions.T * scale).astype(np.float32)
        report("analysing captions", 2, 2)
        return self

    @property
    def dimensions(self) -> int:
        return int(self.directions_.shape[1])

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = self.vocabulary_.counts(texts)
        return unit(np.asarray(self._weighed(counts, self.vocabulary_.idf) @ self.directions_))

    def _weighed(self, counts: csr_array, idf: NDArray[np.float64]) -> csr_array:
        rooted = with_values(counts, counts.data.astype(np.float64) ** self.root)
        return weigh_queries(rooted, idf, binary=False)


def leading_directions(
    table: csr_array, count: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest singular values of a sparse matrix and their right vectors, one a row.

    >>> values, directions = leading_directions(csr_array(np.diag([3.0, 1.0, 2.0])), 2, seed=0)
    >>> values.round(6), np.abs(directions).round(6).tolist()
    (array([3., 2.]), [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    """
    smaller = min(table.shape)
    if 2 * count >= smaller:
        _, values, directions = np.linalg.svd(table.toarray(), full_matrices=False)
    else:
        from scipy.sparse.linalg import svds

        start = np.random.default_rng(seed).standard_normal(smaller)
        _, values, directions = svds(table.astype(np.float64), k=int(count), v0=start)
    order = np.argsort(-values)[: int(count)]
    order = order[values[order] > 1e-6 * values[order[0]]]
    return np.asarray(values[order]), np.asarray(directions[order])

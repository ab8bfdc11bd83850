"""Spaces over the words of the vocabulary: themselves, their vectors, and LSA.

`Words` has a number for each word.

`Glove`: a text is the mean of its words' meanings, rare words first.
``y ∝ Σ_t tf_t · idf_t · v_t`` with v_t GloVe's vector of word t.

J. Pennington, R. Socher and C. Manning, EMNLP 2014.

`Lsa`: words that come together in captions share directions. The tf·idf matrix of the captions is
brought to rank k by its SVD, ``D ≈ U S Vᵀ``; a text d becomes ``d V``, of unit length. tf counts as
``tf^root``: a word said twice says little more than once.

S. Deerwester, S. Dumais, G. Furnas, T. Landauer and R. Harshman, JASIS 1990.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput, MissingExtra
from visterm.matrices import with_values
from visterm.progress import Progress, silent
from visterm.text.meaning import glove, has_vectors
from visterm.text.spaces.space import TextSpace, texts_of, unit
from visterm.text.tokens import tokens
from visterm.text.vocabulary import Vocabulary
from visterm.text.weighting import weigh_queries


class WordVectors(TextSpace):
    """Weights of a vocabulary's words, learnt from captions: what word-based spaces share."""

    min_captions: int
    language: str | None
    stop_words: Sequence[str] | None

    vocabulary_: Vocabulary
    idf_: NDArray[np.float64]

    def fit(self, captions: Sequence[str], *, progress: Progress | None = None) -> Self:
        report = progress or silent
        report("weighing words", 0, 1)
        self.vocabulary_, _ = self._learn_words(captions)
        self.idf_ = self.vocabulary_.idf
        report("weighing words", 1, 1)
        return self

    def _learn_words(self, captions: Sequence[str]) -> tuple[Vocabulary, csr_array]:
        """The vocabulary of the captions, and their counts."""
        texts = texts_of(captions)
        if not texts:
            raise BadInput("no captions: a text space needs some to learn from")
        vocabulary = Vocabulary.from_captions(
            texts,
            min_captions=self.min_captions,
            stop_words=self._stopped(),
            language=self.language,
        )
        if not len(vocabulary):
            raise BadInput(
                f"no word stands in {self.min_captions} captions; give more captions, or a "
                "smaller min_captions"
            )
        return vocabulary, vocabulary.counts(texts)

    def _stopped(self) -> Sequence[str]:
        """Words to leave out: those given, or else those that only hold English together."""
        if self.stop_words is not None:
            return self.stop_words
        if self.language not in (None, "english"):
            return ()
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS)

    @property
    def words_(self) -> tuple[str, ...]:
        return self.vocabulary_.words

    @property
    def keys_(self) -> tuple[str, ...]:
        return self.vocabulary_.keys

    def _arrays(self) -> dict[str, NDArray[Any]]:
        words: dict[str, NDArray[Any]] = {"idf_": self.vocabulary_.idf}
        words |= _texts("words", self.vocabulary_.words) | _texts("keys", self.vocabulary_.keys)
        return words | {name: getattr(self, name) for name in self.arrays if name not in words}

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.vocabulary_ = Vocabulary(
            _read_texts(arrays, "words"), arrays["idf_"], self.language, _read_texts(arrays, "keys")
        )
        for name in self.arrays:
            setattr(self, name, arrays[name])


@dataclass(repr=False, eq=False)
class Words(WordVectors):
    """One dimension a word, ``q_t ∝ b_t·idf_t``: the space that word search uses.

    Parameters
    ----------
    min_captions : int
        Words of fewer captions are left out.
    binary : bool
        Presence instead of term frequency.
    language : str or None
        Language whose singular and plural are one word; None takes words as written.
    stop_words : sequence of str, optional
        Words to leave out; None leaves out those that only hold English together.

    Examples
    --------
    >>> space = Words().fit(["sun and sea", "sun and snow", "sea and sun"])
    >>> space.words_
    ('and', 'sea', 'snow', 'sun')
    >>> space.queries(["snowy sea"]).toarray().round(2).tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    """

    name = "words"
    arrays = ("idf_",)
    dense: ClassVar[bool] = False

    min_captions: int = 1
    binary: bool = True
    language: str | None = "english"
    stop_words: Sequence[str] | None = ()

    @property
    def dimensions(self) -> int:
        return len(self.vocabulary_)

    def _rows(self, texts: Sequence[str]) -> csr_array:
        return weigh_queries(
            self.vocabulary_.counts(texts), self.vocabulary_.idf, binary=self.binary
        )


def _texts(name: str, texts: Sequence[str]) -> dict[str, NDArray[np.uint8]]:
    """Texts as an array of bytes, a line each: what an array file can hold."""
    return {f"{name}.utf8": np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)}


def _read_texts(arrays: dict[str, NDArray[Any]], name: str) -> tuple[str, ...]:
    return tuple(arrays[f"{name}.utf8"].tobytes().decode().split("\n"))


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

"""What a model learns from: pictures, and the captions or the relevance that are known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from visterm.errors import BadInput
from visterm.models.inputs import Vectors, relevance_for, word_matrix
from visterm.text import Relevance, Vocabulary, relevance_from_captions
from visterm.text.query_source import QuerySource, caption_source, listed_source
from visterm.text.relevance import VALIDATION_QUERIES
from visterm.text.weighting import inverse_frequency, weigh_queries

Captions: TypeAlias = "ArrayLike | csr_array | Relevance"
"""Captions as texts or as a pictures × words matrix, or the relevance of pictures to queries."""
Validation: TypeAlias = "tuple[ArrayLike | csr_array, Captions]"


@dataclass(frozen=True)
class Supervision:
    """Pictures by their vectors, and what is known of them.

    ``texts`` are their captions (pictures × words) or the vectors of their texts; None where only
    their relevance to queries is known. ``known_idf`` are word weights from elsewhere.
    """

    vectors: Vectors
    texts: Vectors | None
    relevance: Relevance | None = None
    known_idf: NDArray[np.float64] | None = None

    @cached_property
    def idf(self) -> NDArray[np.float64]:
        """Word weights, of the texts if they come from nowhere else."""
        return inverse_frequency(self.captions) if self.known_idf is None else self.known_idf

    @property
    def known_texts(self) -> Vectors:
        """The texts, of models that learn from nothing else."""
        assert self.texts is not None
        return self.texts

    @property
    def captions(self) -> csr_array:
        """The same as compressed rows."""
        return csr_array(self.known_texts)

    def margins(self, margin: str, least: float | None) -> tuple[csr_array | None, float]:
        """Captions of unit length, for margins by captions, and the least margin."""
        if margin == "constant":
            return None, 1.0 if least is None else least
        if self.texts is None:
            raise BadInput(
                "the caption margin needs captions (pictures × words) to learn from; "
                "margin='constant' learns from relevance alone"
            )
        return weigh_queries(self.captions, self.idf), 0.1 if least is None else least


def ranked(vectors: Vectors, Y: Captions, idf: NDArray[np.float64] | None = None) -> Supervision:
    """Pictures to rank for queries: for given ones, or for those drawn from their captions.

    >>> found = ranked(np.eye(2), [[1, 1], [0, 1]])
    >>> found.relevance is None, found.idf.round(2).tolist()
    (True, [0.69, 0.0])
    """
    words = None if idf is None else len(idf)
    if isinstance(Y, Relevance):
        given = relevance_for(Y, vectors.shape[0], words=words)
        idf = np.ones(given.queries.shape[1]) if idf is None else idf
        return Supervision(vectors, None, given, idf)
    captions = word_matrix(Y, vectors.shape[0], words=words)
    return Supervision(vectors, captions, None, inverse_frequency(captions) if idf is None else idf)


def read_captions(Y: Captions, known: Vocabulary | None) -> tuple[Captions, Vocabulary | None]:
    """Texts as counts of the known words, or of their own; the words. Others are left as is.

    >>> counts, vocabulary = read_captions(["sun", "sea, sun"], None)
    >>> vocabulary.words, counts.toarray().tolist()
    (('sea', 'sun'), [[0, 1], [1, 1]])
    """
    if isinstance(Y, Relevance) or issparse(Y):
        return Y, known
    try:
        given = np.asarray(Y)
    except ValueError:  # rows of different lengths, which whoever checks them will tell
        return Y, known
    if given.ndim != 1 or not len(given):
        return Y, known
    if given.dtype.kind in "biuf" and (given == np.floor(given)).all():
        labels = list(map(str, given.astype(np.int64).tolist()))  # one each, as in scikit-learn
        if known is None:
            known = Vocabulary.of_words(sorted(set(labels)), language=None)
        number = {word: t for t, word in enumerate(known.words)}
        pairs = [(row, number[label]) for row, label in enumerate(labels) if label in number]
        rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return csr_array((np.ones(len(rows)), (rows, columns)), (len(labels), len(known))), known
    if not all(isinstance(text, str) for text in given.tolist()):
        return Y, known
    texts = given.tolist()
    vocabulary = Vocabulary.from_captions(texts) if known is None else known
    if not len(vocabulary):
        raise BadInput("every caption is empty: there is nothing to learn from")
    return vocabulary.counts(texts), vocabulary


class DrawsQueries(Protocol):
    """A model's parameters of how often a query is drawn from captions."""

    query_exponent: float
    query_lengths: Sequence[float] | None
    max_words: int | None


def query_source(model: DrawsQueries, training: Supervision) -> QuerySource:
    """The given queries, or those that are drawn from captions."""
    if training.relevance is not None:
        return listed_source(training.relevance, model.query_exponent, model.query_lengths)
    return caption_source(
        training.captions,
        training.idf,
        exponent=model.query_exponent,
        lengths=model.query_lengths,
        max_words=model.max_words,
    )


def validation_queries(
    Y: Captions, pictures: int, max_words: int | None, idf: NDArray[np.float64]
) -> Relevance:
    """What validation pictures are ranked for: given queries, or some that their captions answer.

    >>> len(validation_queries([[1, 1], [0, 1]], 2, None, np.ones(2)))
    3
    """
    if isinstance(Y, Relevance):
        return relevance_for(Y, pictures, words=len(idf))
    captions = word_matrix(Y, pictures, words=len(idf))
    return relevance_from_captions(
        captions, idf, max_words=max_words, max_queries=VALIDATION_QUERIES
    )

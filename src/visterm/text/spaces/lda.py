"""LDA: documents are mixtures of topics, topics are mixtures of words.

Learnt by online variational Bayes: each batch of documents moves the topics by ``ρ_t = (τ + t)^−κ``
towards what the batch alone would say. Words may be those of captions or the visterms of pictures.

D. Blei, A. Ng and M. Jordan, JMLR 2003; M. Hoffman, D. Blei and F. Bach, NIPS 2010.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import psi

from visterm.errors import BadInput
from visterm.progress import Progress, silent
from visterm.stored import Stored

_MOST, _LEAST_CHANGE = 50, 1e-3  # turns for one document, and the mean change that ends them


@dataclass(repr=False, eq=False)
class Lda(Stored):
    """Latent Dirichlet allocation of a documents × words matrix of counts.

    Parameters
    ----------
    n_components : int
        Topics.
    doc_topic_prior, topic_word_prior : float, optional
        Of the Dirichlet distributions; 1 / n_components by default.
    max_iter : int
        How often each document is looked at.
    batch_size : int
        Documents between two moves of the topics.
    learning_offset, learning_decay : float
        τ and κ.
    random_state : int

    Attributes
    ----------
    topics_ : array of shape (T, K)
        Variational parameters of ``P(word | topic)``.

    Examples
    --------
    >>> counts = csr_array(np.repeat([[4, 3, 0, 0], [0, 0, 5, 2]], 20, axis=0))
    >>> model = Lda(n_components=2, max_iter=20).fit(counts)
    >>> mixtures = model.transform(counts[[0, 20]])
    >>> mixtures.max(axis=1) > 0.9, mixtures[0].argmax() != mixtures[1].argmax()
    (array([ True,  True]), np.True_)
    """

    name = "lda"
    arrays = ("topics_",)
    old_names: ClassVar[Mapping[str, str]] = {
        "topics": "n_components",
        "passes": "max_iter",
        "batch": "batch_size",
        "delay": "learning_offset",
        "decay": "learning_decay",
        "document_prior": "doc_topic_prior",
        "word_prior": "topic_word_prior",
    }

    topics_: NDArray[np.float64] = field(init=False, repr=False)

    n_components: int = 100
    doc_topic_prior: float | None = None
    topic_word_prior: float | None = None
    max_iter: int = 10
    batch_size: int = 512
    learning_offset: float = 10.0
    learning_decay: float = 0.7
    random_state: int = 0

    def fit(self, counts: ArrayLike | csr_array, *, progress: Progress | None = None) -> Self:
        """Learn topics from counts; the last word of progress is how many batches there were."""
        checked = _counts(counts)
        for name in ("n_components", "max_iter", "batch_size"):
            if not getattr(self, name) >= 1:
                raise BadInput(f"{name} must be 1 or more, not {getattr(self, name)!r}")
        report = progress or silent
        n, k = checked.shape[0], int(self.n_components)
        rng = np.random.default_rng(self.random_state)
        topics = rng.gamma(100.0, 0.01, (checked.shape[1], k))
        batches = [
            (turn, at) for turn in range(self.max_iter) for at in range(0, n, self.batch_size)
        ]
        order = np.arange(n)
        for done, (_, at) in enumerate(batches):
            report("learning topics", done, len(batches))
            if at == 0:
                order = rng.permutation(n)
            chosen = checked[order[at : at + self.batch_size]]
            gathered = np.zeros_like(topics)
            expected = _expected(topics)
            self._posterior(chosen, expected, gathered)
            new = self._topic_word_prior + gathered * expected * (n / chosen.shape[0])
            rate = (self.learning_offset + done) ** -self.learning_decay
            topics += rate * (new - topics)
        report("learning topics", len(batches), len(batches))
        self.topics_ = topics
        return self

    def transform(self, counts: ArrayLike | csr_array) -> NDArray[np.float32]:
        """Documents × topics: each document's mixture, rows of sum 1."""
        self._check_fitted()
        checked = _counts(counts, width=len(self.topics_), empty=True)
        gamma = self._posterior(checked, _expected(self.topics_), np.empty((0, 0)))
        return (gamma / gamma.sum(axis=1, keepdims=True)).astype(np.float32)

    def words_of_topics(self) -> NDArray[np.float64]:
        """``P(word | topic)``, words × topics: columns of sum 1."""
        self._check_fitted()
        return self.topics_ / self.topics_.sum(axis=0)

    def topics_of_words(self) -> NDArray[np.float32]:
        """``P(topic | word)``, words × topics, for a word drawn from all documents learnt from."""
        self._check_fitted()
        return (self.topics_ / self.topics_.sum(axis=1, keepdims=True)).astype(np.float32)

    def perplexity(self, counts: ArrayLike | csr_array) -> float:
        """``exp(−mean log P(word))`` of every second word of documents, given the others.

        Half of a document's words say which topics it has; how surprising the other half then is
        measures the topics. Lower is better, and guessing gives the size of the vocabulary.
        """
        self._check_fitted()
        checked = _counts(counts, width=len(self.topics_))
        second = np.arange(checked.nnz) % 2 == 1
        halves = []
        for keep in (~second, second):
            half = checked.copy()
            half.data = np.where(keep, half.data, 0)
            half.eliminate_zeros()
            halves.append(half)
        seen, asked = halves
        if asked.nnz == 0:
            raise BadInput("documents of one word cannot be completed; give longer ones")
        mixtures = self.transform(seen).astype(np.float64)
        row = np.repeat(np.arange(asked.shape[0]), np.diff(asked.indptr))
        likely = np.einsum("ij,ij->i", mixtures[row], self.words_of_topics()[asked.indices])
        return float(np.exp(-(asked.data * np.log(likely)).sum() / asked.data.sum()))

    @property
    def _doc_topic_prior(self) -> float:
        return (
            1.0 / self.n_components if self.doc_topic_prior is None else float(self.doc_topic_prior)
        )

    @property
    def _topic_word_prior(self) -> float:
        return (
            1.0 / self.n_components
            if self.topic_word_prior is None
            else float(self.topic_word_prior)
        )

    def _posterior(
        self, checked: csr_array, expected: NDArray[np.float64], gathered: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        from visterm.text.spaces._lda_kernels import topics_of_documents

        gamma = np.empty((checked.shape[0], expected.shape[1]))
        topics_of_documents(
            checked.indptr.astype(np.int64),
            checked.indices.astype(np.int64),
            checked.data.astype(np.float64),
            expected,
            self._doc_topic_prior,
            _MOST,
            _LEAST_CHANGE,
            gamma,
            gathered,
        )
        return gamma


def _expected(topics: NDArray[np.float64]) -> NDArray[np.float64]:
    """``exp E log β``, words × K."""
    return np.exp(psi(topics) - psi(topics.sum(axis=0)))


def _counts(
    counts: ArrayLike | csr_array, *, width: int | None = None, empty: bool = False
) -> csr_array:
    """Check a documents × words matrix of counts."""
    checked = csr_array(counts, dtype=np.float64)
    if width is not None and checked.shape[1] != width:
        raise BadInput(f"topics of {width} words, but counts of {checked.shape[1]}")
    if not np.isfinite(checked.data).all() or (checked.data < 0).any():
        raise BadInput("counts hold NaN, infinite or negative numbers")
    if not empty and not checked.nnz:
        raise BadInput("every document is empty: there is nothing to learn from")
    checked.eliminate_zeros()
    return checked

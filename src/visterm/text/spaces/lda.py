"""LDA: documents are mixtures of topics, topics are mixtures of words.

Learnt by online variational Bayes: each batch of documents moves the topics by ``ρ_t = (τ + t)^−κ``
towards what the batch alone would say. Words may be those of captions or the visterms of pictures.

D. Blei, A. Ng and M. Jordan, JMLR 2003; M. Hoffman, D. Blei and F. Bach, NIPS 2010.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import psi

from visterm.errors import BadInput
from visterm.progress import Progress, silent
from visterm.stored import Stored

_MOST, _LEAST_CHANGE = 50, 1e-3  # turns for one document, and the mean change that ends them


class Lda(Stored):
    """Latent Dirichlet allocation of a documents × words matrix of counts.

    Parameters
    ----------
    topics : int
    document_prior, word_prior : float, optional
        Of the Dirichlet distributions; 1 / topics by default.
    passes : int
        How often each document is looked at.
    batch : int
        Documents between two moves of the topics.
    delay, decay : float
        τ and κ.
    random_state : int

    Attributes
    ----------
    topics_ : array of shape (T, K)
        Variational parameters of ``P(word | topic)``.

    Examples
    --------
    >>> counts = csr_array(np.repeat([[4, 3, 0, 0], [0, 0, 5, 2]], 20, axis=0))
    >>> model = Lda(topics=2, passes=20).fit(counts)
    >>> mixtures = model.transform(counts[[0, 20]])
    >>> mixtures.max(axis=1) > 0.9, mixtures[0].argmax() != mixtures[1].argmax()
    (array([ True,  True]), np.True_)
    """

    name = "lda"
    arrays = ("topics_",)

    topics_: NDArray[np.float64]

    def __init__(
        self,
        topics: int = 100,
        document_prior: float | None = None,
        word_prior: float | None = None,
        passes: int = 10,
        batch: int = 512,
        delay: float = 10.0,
        decay: float = 0.7,
        random_state: int = 0,
    ) -> None:
        self.topics = topics
        self.document_prior = document_prior
        self.word_prior = word_prior
        self.passes = passes
        self.batch = batch
        self.delay = delay
        self.decay = decay
        self.random_state = random_state

    def fit(self, counts: ArrayLike | csr_array, *, progress: Progress | None = None) -> Self:
        """Learn topics from counts; the last word of progress is how many batches there were."""
        told = _counts(counts)
        for name in ("topics", "passes", "batch"):
            if not getattr(self, name) >= 1:
                raise BadInput(f"{name} must be 1 or more, not {getattr(self, name)!r}")
        report = progress or silent
        n, k = told.shape[0], int(self.topics)
        rng = np.random.default_rng(self.random_state)
        topics = rng.gamma(100.0, 0.01, (told.shape[1], k))
        batches = [(turn, at) for turn in range(self.passes) for at in range(0, n, self.batch)]
        order = np.arange(n)
        for done, (_, at) in enumerate(batches):
            report("learning topics", done, len(batches))
            if at == 0:
                order = rng.permutation(n)
            chosen = told[order[at : at + self.batch]]
            gathered = np.zeros_like(topics)
            expected = _expected(topics)
            self._posterior(chosen, expected, gathered)
            new = self._word_prior + gathered * expected * (n / chosen.shape[0])
            rate = (self.delay + done) ** -self.decay
            topics += rate * (new - topics)
        report("learning topics", len(batches), len(batches))
        self.topics_ = topics
        return self

    def transform(self, counts: ArrayLike | csr_array) -> NDArray[np.float32]:
        """Documents × topics: each document's mixture, rows of sum 1."""
        self._check_fitted()
        told = _counts(counts, width=len(self.topics_), empty=True)
        gamma = self._posterior(told, _expected(self.topics_), np.empty((0, 0)))
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
        tells how good the topics are. Lower is better, and the size of the vocabulary is chance.
        """
        self._check_fitted()
        told = _counts(counts, width=len(self.topics_))
        second = np.arange(told.nnz) % 2 == 1
        halves = []
        for keep in (~second, second):
            half = told.copy()
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
    def _document_prior(self) -> float:
        return 1.0 / self.topics if self.document_prior is None else float(self.document_prior)

    @property
    def _word_prior(self) -> float:
        return 1.0 / self.topics if self.word_prior is None else float(self.word_prior)

    def _posterior(
        self, told: csr_array, expected: NDArray[np.float64], gathered: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        from visterm.text.spaces._lda_kernels import topics_of_documents

        gamma = np.empty((told.shape[0], expected.shape[1]))
        topics_of_documents(
            told.indptr.astype(np.int64),
            told.indices.astype(np.int64),
            told.data.astype(np.float64),
            expected,
            self._document_prior,
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
    told = csr_array(counts, dtype=np.float64)
    if width is not None and told.shape[1] != width:
        raise BadInput(f"topics of {width} words, but counts of {told.shape[1]}")
    if not np.isfinite(told.data).all() or (told.data < 0).any():
        raise BadInput("counts hold NaN, infinite or negative numbers")
    if not empty and not told.nnz:
        raise BadInput("every document is empty: there is nothing to learn from")
    told.eliminate_zeros()
    return told

"""Topics: a text is the mixture of subjects that it speaks of.

A caption becomes ``θ``, its posterior mixture of LDA's topics; a label, which is one word and not a
document, becomes ``P(topic | word)``. Words that hold a text together ("a", "with") are left out.

In LDA documents are mixtures of topics, and topics mixtures of words. It is learnt by
scikit-learn's online variational Bayes, and kept as plain arrays. Words may be those of captions or
the visterms of pictures.

D. Blei, A. Ng and M. Jordan, JMLR 2003; M. Hoffman, D. Blei and F. Bach, NIPS 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import psi

from visterm.errors import BadInput
from visterm.progress import Progress, silent
from visterm.stored import Stored
from visterm.text.spaces.space import texts_of, unit
from visterm.text.spaces.words import WordVectors


@dataclass(repr=False, eq=False)
class Lda(Stored):
    """Latent Dirichlet allocation of a documents × words matrix of counts.

    Parameters
    ----------
    n_components : int
        Topics.
    doc_topic_prior : float, optional
        Of the Dirichlet distribution of mixtures; 1 / n_components by default.
    max_iter : int
        How often each document is looked at.
    batch_size : int
        Documents between two moves of the topics.
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

    n_components: int = 100
    doc_topic_prior: float | None = None
    max_iter: int = 10
    batch_size: int = 512
    random_state: int = 0

    def fit(self, counts: ArrayLike | csr_array, *, progress: Progress | None = None) -> Self:
        """Learn topics from counts."""
        checked = _counts(counts)
        for name in ("n_components", "max_iter", "batch_size"):
            if not getattr(self, name) >= 1:
                raise BadInput(f"{name} must be 1 or more, not {getattr(self, name)!r}")
        report = progress or silent
        report("learning topics", 0, 1)
        self.topics_ = np.ascontiguousarray(self._learner().fit(checked).components_.T)
        report("learning topics", 1, 1)
        return self

    def transform(self, counts: ArrayLike | csr_array) -> NDArray[np.float32]:
        """Documents × topics: each document's mixture, rows of sum 1."""
        self._check_fitted()
        checked = _counts(counts, width=len(self.topics_), empty=True)
        learner = self._learner()
        learner.components_, learner.n_features_in_ = self.topics_.T, len(self.topics_)
        expected = psi(self.topics_) - psi(self.topics_.sum(axis=0))
        learner.exp_dirichlet_component_ = np.ascontiguousarray(np.exp(expected).T)
        prior = self.doc_topic_prior
        learner.doc_topic_prior_ = 1.0 / self.n_components if prior is None else float(prior)
        return np.asarray(learner.transform(checked), dtype=np.float32)

    def _learner(self) -> Any:
        from sklearn.decomposition import LatentDirichletAllocation

        return LatentDirichletAllocation(**self.get_params(), learning_method="online")

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


def _counts(
    counts: ArrayLike | csr_array, *, width: int | None = None, empty: bool = False
) -> csr_array:
    """Check a documents × words matrix of counts."""
    checked = csr_array(counts, dtype=np.float64)
    # scikit-learn's loops take 32-bit indices
    checked.indices = checked.indices.astype(np.int32)
    checked.indptr = checked.indptr.astype(np.int32)
    if width is not None and checked.shape[1] != width:
        raise BadInput(f"topics of {width} words, but counts of {checked.shape[1]}")
    if not np.isfinite(checked.data).all() or (checked.data < 0).any():
        raise BadInput("counts hold NaN, infinite or negative numbers")
    if not empty and not checked.nnz:
        raise BadInput("every document is empty: there is nothing to learn from")
    checked.eliminate_zeros()
    return checked


@dataclass(repr=False, eq=False)
class Topics(WordVectors):
    """Mixtures of LDA's topics.

    Parameters
    ----------
    n_components : int
        Topics.
    max_iter : int
        How often each caption is looked at.
    held_out : float
        The fraction of captions that is not trained on, but measures the topics.
    normalise : {"l2", "l1"}
        Unit length, as inner products want it, or mixtures of sum 1.
    min_captions, language, stop_words
        As for `Words`; English has its usual stop words by default.
    random_state : int

    Attributes
    ----------
    perplexity_ : float
        Held-out perplexity; see `Lda.perplexity`. NaN where none were held out.

    Examples
    --------
    >>> space = Topics(n_components=2, min_captions=1).fit(["sun sea", "snow alps"] * 30)
    >>> rows = space.transform(["sun and sea", "snow in the alps"])
    >>> bool(rows[0] @ rows[0] > 2 * rows[0] @ rows[1])
    True
    """

    name = "topics"
    arrays: ClassVar[tuple[str, ...]] = ("topics_", "idf_")
    facts = ("perplexity_",)

    n_components: int = 100
    max_iter: int = 10
    held_out: float = 0.1
    normalise: str = "l2"
    min_captions: int = 2
    language: str | None = "english"
    stop_words: Sequence[str] | None = None
    random_state: int = 0

    def fit(self, captions: Sequence[str], *, progress: Progress | None = None) -> Self:
        if self.normalise not in ("l2", "l1"):
            raise BadInput(f"normalise is 'l2' or 'l1', not {self.normalise!r}")
        self._learn_topics(texts_of(captions), progress or silent)
        return self

    def _learn_topics(self, captions: list[str], progress: Progress) -> None:
        if not 0 <= self.held_out < 1:
            raise BadInput(f"held_out is a share under 1, not {self.held_out!r}")
        vocabulary, counts = self._learn_words(captions)
        order = np.random.default_rng(self.random_state).permutation(counts.shape[0])
        held = order[: int(self.held_out * len(order))]
        lda = self._lda().fit(counts[np.sort(order[len(held) :])], progress=progress)
        self.vocabulary_, self.idf_, self.topics_ = vocabulary, vocabulary.idf, lda.topics_
        unseen = counts[held]
        enough = len(held) > 0 and np.diff(unseen.indptr).max() > 1
        self.perplexity_ = lda.perplexity(unseen) if enough else float("nan")

    @property
    def dimensions(self) -> int:
        return int(self.topics_.shape[1])

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = self.vocabulary_.counts(texts)
        return self._finished(self._fitted().transform(counts), np.diff(counts.indptr) > 0)

    def labels(self, words: Sequence[str]) -> NDArray[np.float32]:
        """``P(topic | word)``; a label of several words is their mean, an unknown one zero."""
        self._check_fitted()
        counts = self.vocabulary_.counts(texts_of(words))
        total = np.asarray(counts.sum(axis=1)).reshape(-1)
        mixtures = counts @ self._fitted().topics_of_words() / np.maximum(total, 1)[:, None]
        return self._finished(np.asarray(mixtures), total > 0)

    def _finished(
        self, mixtures: NDArray[np.floating], known: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """Rows of the space; a text without a known word is zero, no even mixture of everything."""
        rows = unit(mixtures) if self.normalise == "l2" else mixtures.astype(np.float32)
        return np.where(known[:, None], rows, np.float32(0))

    def _lda(self) -> Lda:
        return Lda(self.n_components, max_iter=self.max_iter, random_state=self.random_state)

    def _fitted(self) -> Lda:
        lda = self._lda()
        lda.topics_ = self.topics_
        return lda

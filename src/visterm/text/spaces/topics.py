"""Topics: a text is the mixture of subjects that it speaks of.

A caption becomes ``θ``, its posterior mixture of LDA's topics; a label, which is one word and not a
document, becomes ``P(topic | word)``. Words that hold a text together ("a", "with") are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.progress import Progress, silent
from visterm.text.correlation import canonical, moments
from visterm.text.spaces.lda import Lda
from visterm.text.spaces.space import texts_of, unit
from visterm.text.spaces.words import WordVectors


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

    topics_: NDArray[np.float64] = field(init=False, repr=False)
    perplexity_: float = field(init=False, repr=False)

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


class CorrelatedTopics(Topics):
    """Topics of texts, turned towards what the topics of their pictures can predict.

    Canonical correlation analysis between the mixtures of captions and the mixtures, or any other
    vectors, of their pictures; `pictures` brings those to the same space.

    Parameters
    ----------
    ridge : float
        Added to the variances of both sides, as a fraction of their mean.
    n_components, max_iter, held_out, min_captions, language, stop_words, random_state
        As for `Topics`.

    Attributes
    ----------
    correlations_ : array of shape (k,)
    perplexity_ : float

    Examples
    --------
    >>> seen = np.array([[1.0, 0.0, 0.1], [0.0, 1.0, 0.2]] * 30)
    >>> space = CorrelatedTopics(n_components=2, min_captions=1)
    >>> space = space.fit(["sun sea", "snow alps"] * 30, pictures=seen)
    >>> (space.transform(["sun on the sea"]) @ space.pictures(seen[:2]).T).round(2).tolist()
    [[1.0, -1.0]]
    """

    name = "correlated-topics"
    arrays = (
        "topics_",
        "idf_",
        "text_map_",
        "text_mean_",
        "picture_map_",
        "picture_mean_",
        "correlations_",
    )

    text_map_: NDArray[np.float64]
    text_mean_: NDArray[np.float64]
    picture_map_: NDArray[np.float64]
    picture_mean_: NDArray[np.float64]
    correlations_: NDArray[np.float64]

    def __init__(
        self,
        ridge: float = 0.01,
        n_components: int = 100,
        max_iter: int = 10,
        held_out: float = 0.1,
        min_captions: int = 2,
        language: str | None = "english",
        stop_words: Sequence[str] | None = None,
        random_state: int = 0,
    ) -> None:
        self.ridge = ridge
        self.n_components = n_components
        self.max_iter = max_iter
        self.held_out = held_out
        self.min_captions = min_captions
        self.language = language
        self.stop_words = stop_words
        self.random_state = random_state

    def fit(
        self,
        captions: Sequence[str],
        *,
        pictures: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from captions and the vectors of their pictures, row by row."""
        if pictures is None:
            raise BadInput("correlated topics learn from captions and pictures; give both")
        texts, seen = texts_of(captions), np.asarray(pictures, dtype=np.float32)
        if seen.ndim != 2 or len(seen) != len(texts):
            raise BadInput(
                f"{len(texts)} captions but pictures of shape {seen.shape}; pair them up"
            )
        self._learn_topics(texts, progress or silent)
        mixtures = self._fitted().transform(self.vocabulary_.counts(texts))
        statistics = moments(seen, mixtures)
        found = canonical(statistics, x_ridge=self.ridge, y_ridge=self.ridge)
        self.picture_map_, self.picture_mean_ = found.x_map, statistics.x_mean
        self.text_map_, self.text_mean_ = found.y_map, statistics.y_mean
        self.correlations_ = found.correlations
        return self

    @property
    def dimensions(self) -> int:
        return int(self.text_map_.shape[1])

    def pictures(self, vectors: ArrayLike) -> NDArray[np.float32]:
        """Pictures in this space: the projection that agrees with their texts."""
        self._check_fitted()
        seen = np.asarray(vectors, dtype=np.float64)
        return unit((seen - self.picture_mean_) @ self.picture_map_)

    def _finished(
        self, mixtures: NDArray[np.floating], known: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        rows = unit((mixtures - self.text_mean_) @ self.text_map_)
        return np.where(known[:, None], rows, np.float32(0))

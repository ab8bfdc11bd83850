"""What models of pairs share: they learn from pictures and texts side by side, in both directions.

Pictures and texts are brought to rows of one common space, where ``F(x, y) = row(x)·row(y)``. Rows
of pictures ranked for a text, or rows of texts ranked for a picture, are the same product read two
ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from visterm.errors import BadInput
from visterm.evaluation import mean_average_precision
from visterm.models import rules
from visterm.models.base import Model
from visterm.models.inputs import Vectors, finite_rows, is_sparse, picture_vectors
from visterm.models.rules import AUTO, Rules
from visterm.models.selection import Choice, HeldOut
from visterm.models.supervision import Captions, Supervision, read_captions
from visterm.text import Relevance

JUDGED_BY = rules.one_of("pairs", "words", AUTO)


@dataclass(eq=False, repr=False, kw_only=True)
class PairModel(Model):
    """A model that learns from pairs of picture and text vectors.

    A subclass maps either side to the common space in ``_picture_rows`` and ``_text_rows``;
    ``_map`` brings pictures on to the space of the given texts, where plain text vectors can be
    compared with them. Validation pictures are ranked for word queries made of their captions
    (``judged_by="words"``), or for their own texts ("pairs"); "auto" takes words where texts count
    them.
    """

    targets: ClassVar[str] = "vectors"
    facts: ClassVar[tuple[str, ...]] = ("n_texts_in_",)
    checks: ClassVar[Rules] = {"judged_by": JUDGED_BY}

    judged_by: str = AUTO

    def _picture_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        raise NotImplementedError

    def _text_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        raise NotImplementedError

    def picture_rows(self, X: ArrayLike | csr_array) -> NDArray[np.float32]:
        """Pictures in the common space of pictures and texts."""
        self._check_fitted()
        return self._picture_rows(picture_vectors(X, width=self.n_features_in_))

    def text_rows(self, Y: ArrayLike | csr_array) -> NDArray[np.float32]:
        """Texts, given in the space that was learnt from, in the common space."""
        self._check_fitted()
        return self._text_rows(text_vectors(Y, width=self.n_texts_in_, empty=True))

    def score(self, X: ArrayLike | csr_array, Y: Captions) -> float:
        """As for other models where texts count words; else AvgP of pictures and texts by pairs."""
        Y, _ = read_captions(Y, self.vocabulary_)
        if isinstance(Y, Relevance) or count_words(csr_array(text_vectors(Y))):
            return super().score(X, Y)
        pictures = self.picture_rows(X)
        texts = text_vectors(Y, len(pictures), width=self.n_texts_in_)
        return pair_quality(pictures, self.text_rows(texts), texts)

    def _texts(self, Y: Any, pictures: int, width: int | None = None) -> Vectors:
        return text_vectors(Y, pictures, width=width)

    def _supervise(self, vectors: Vectors, Y: Captions, initial: Model | None) -> Supervision:
        texts = text_vectors(Y, vectors.shape[0])
        _check_texts_differ(texts)
        return Supervision(vectors, texts)

    def _held_out(self, vectors: Vectors, Y: Captions, training: Supervision) -> HeldOut:
        by_words = self.judged_by == "words"
        if self.judged_by == AUTO:
            by_words = count_words(training.captions)
        if by_words or isinstance(Y, Relevance):
            return super()._held_out(vectors, Y, training)
        texts = text_vectors(Y, vectors.shape[0], width=training.known_texts.shape[1])
        return HeldOut(vectors, lambda rows: pair_quality(rows[0], rows[1], texts), texts=texts)

    def _held_rows(self, held: HeldOut) -> Any:
        if held.texts is None:
            return self.transform(held.vectors)
        return self.picture_rows(held.vectors), self.text_rows(held.texts)

    def _keep(self, fitted: dict[str, Any], choice: Choice, training: Supervision) -> None:
        super()._keep(fitted, choice, training)
        self.n_texts_in_ = training.known_texts.shape[1]


def count_words(texts: csr_array) -> bool:
    """Whether texts are counts of words: whole numbers, none of them negative.

    >>> count_words(csr_array([[2, 0]])), count_words(csr_array([[0.5, 0.5]]))
    (True, False)
    """
    return bool((texts.data >= 0).all() and (texts.data == texts.data.round()).all())


def text_vectors(
    Y: Captions, pictures: int | None = None, *, width: int | None = None, empty: bool = False
) -> Vectors:
    """Check text vectors: two dimensions, finite, one row a picture, and the width that is known.

    >>> text_vectors([[0.5, -0.5]], 1).shape
    (1, 2)
    """
    if isinstance(Y, Relevance):
        raise BadInput(
            "this model learns from one text a picture, not from Relevance; "
            "Pamir learns from Relevance"
        )
    counts = "vectors of a text space, or a pictures × words matrix; Vocabulary.counts makes one"
    texts = finite_rows(Y, "texts", counts)
    if pictures is not None and texts.shape[0] != pictures:
        raise BadInput(f"{pictures} picture vectors but {texts.shape[0]} captions; pair them up")
    if width is not None and texts.shape[1] != width:
        raise BadInput(
            f"the model learnt from texts of {width} numbers, these have {texts.shape[1]}"
        )
    if not empty and not np.any(texts.data if is_sparse(texts) else texts):
        raise BadInput("every caption is empty: there is nothing to learn from")
    return texts


def _check_texts_differ(texts: Vectors) -> None:
    first = texts[[0]]
    rest = texts - (csr_array(vstack([first] * texts.shape[0])) if is_sparse(texts) else first)
    if not np.any(rest.data if is_sparse(rest) else rest):
        raise BadInput("all texts are the same; give captions that differ")


def same_texts(texts: Vectors) -> csr_array:
    """Texts × texts: 1 where two are equal, so that any of them answers for the others.

    >>> same_texts(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])).toarray().tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    rows = texts.toarray() if is_sparse(texts) else np.asarray(texts)
    _, number = np.unique(rows, axis=0, return_inverse=True)
    n = len(rows)
    held = csr_array((np.ones(n, np.float32), (np.arange(n), number.reshape(-1))))
    return csr_array(held @ held.T)


def pair_quality(
    pictures: NDArray[np.float32], texts: NDArray[np.float32], known: Vectors
) -> float:
    """AvgP of finding a text by its picture and a picture by its text; equal texts count alike.

    >>> rows = np.eye(3, dtype=np.float32)
    >>> pair_quality(rows, rows, rows)
    1.0
    """
    scores, answers = texts @ pictures.T, same_texts(known)
    forth = mean_average_precision(scores, answers)
    return (forth + mean_average_precision(np.ascontiguousarray(scores.T), answers)) / 2

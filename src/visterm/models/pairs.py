"""What models of pairs share: they learn from pictures and texts side by side, in both directions.

Pictures and texts are brought to rows of one common space, where ``F(x, y) = row(x)·row(y)``. Rows
of pictures ranked for a text, or rows of texts ranked for a picture, are the same product read two
ways.
"""

from __future__ import annotations

from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack
from sklearn.base import clone

from visterm.errors import BadInput
from visterm.evaluation import mean_average_precision
from visterm.models.base import Captions, Model, Validation
from visterm.models.inputs import Vectors, is_sparse, picture_vectors, stack
from visterm.models.selection import candidates, held_relevance, quality
from visterm.progress import Progress, silent
from visterm.text import Relevance
from visterm.text.weighting import inverse_frequency

Choice = dict[str, Any]


class PairModel(Model):
    """A model that learns from pairs of picture and text vectors.

    A subclass offers its choices in ``_offered``, learns with one in ``_learn`` from what
    ``_prepare`` makes of the pairs, and maps either side to the common space in ``_picture_rows``
    and ``_text_rows``; ``_map`` brings pictures on to the space of the given texts, where plain
    text vectors can be compared with them.
    """

    targets: ClassVar[str] = "vectors"

    judged_by: str
    retrain: bool
    max_words: int | None

    n_texts_in_: int
    validation_: float

    def _offered(self, validation: Validation | None) -> dict[str, list[Any]]:
        """The checked values of each parameter that validation pictures can decide."""
        raise NotImplementedError

    def _values(
        self, name: str, validation: Validation | None, *, whole: bool = False
    ) -> list[Any]:
        """The checked values of one parameter: numbers from 0 on, or whole ones from 1 on."""
        rule = "a whole number, 1 or more" if whole else "a number, 0 or more"

        def allowed(value: Any) -> bool:
            return bool(value >= 1 and value == int(value) if whole else 0 <= value < np.inf)

        return candidates(name, getattr(self, name), validation, allowed, rule)

    def _prepare(self, pictures: Vectors, texts: Vectors) -> Any:
        """What every choice learns from; made once for all of them."""
        raise NotImplementedError

    def _learn(self, prepared: Any, choice: Choice, progress: Progress) -> dict[str, Any]:
        """The fitted attributes, by name."""
        raise NotImplementedError

    def _picture_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        raise NotImplementedError

    def _text_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        raise NotImplementedError

    def fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        *,
        validation: Validation | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from picture vectors and the vectors of their texts, row by row.

        ``Y`` holds vectors of any text space, or captions as a pictures × words matrix. With
        ``validation = (X, Y)`` of other pictures, parameters given as several values become those
        that rank them best: by their words (``judged_by="words"``), or their own texts ("pairs").
        """
        if self.judged_by not in ("pairs", "words"):
            raise BadInput(f"judged_by is 'pairs' or 'words', not {self.judged_by!r}")
        offered = self._offered(validation)
        pictures = picture_vectors(X)
        texts = text_vectors(Y, pictures.shape[0])
        _check_texts_differ(texts)
        report = progress or silent
        choices = [dict(zip(offered, values, strict=True)) for values in product(*offered.values())]
        best, choice, chosen = float("nan"), choices[0], None
        if validation is not None:
            best, choice, chosen = self._choose(pictures, texts, choices, validation, report)
            if self.retrain:
                if isinstance(validation[1], Relevance):
                    raise BadInput("retrain needs texts of the validation pictures, not Relevance")
                held = picture_vectors(validation[0], width=pictures.shape[1])
                more = text_vectors(validation[1], held.shape[0], width=texts.shape[1])
                pictures, texts, chosen = stack(pictures, held), stack(texts, more), None
        if chosen is None:
            last = 0 if validation is None else len(choices)
            chosen = self._learn(
                self._prepare(pictures, texts), choice, one_of(report, last, last + 1)
            )
        learnt = chosen | {f"{name}_": value for name, value in choice.items()}
        self._keep(learnt, pictures.shape[1], texts.shape[1])
        self.validation_ = best
        return self

    def _keep(self, learnt: dict[str, Any], pictures: int, texts: int) -> None:
        self.n_features_in_, self.n_texts_in_ = pictures, texts
        for name, value in learnt.items():
            setattr(self, name, value)

    def _choose(
        self,
        pictures: Vectors,
        texts: Vectors,
        choices: list[Choice],
        validation: Validation,
        progress: Progress,
    ) -> tuple[float, Choice, dict[str, Any]]:
        """What validation pictures like best, of everything offered, and what was learnt so."""
        held = picture_vectors(validation[0], width=pictures.shape[1])
        told = validation[1]
        relevance: Relevance | None = None
        if self.judged_by == "words" or isinstance(told, Relevance):
            idf = inverse_frequency(csr_array(texts))
            relevance = held_relevance(told, held.shape[0], idf, self.max_words)
        else:
            told = text_vectors(told, held.shape[0], width=texts.shape[1])
        best, best_choice, best_learnt = -1.0, choices[0], {}
        prepared = self._prepare(pictures, texts)
        fits = len(choices) + self.retrain
        for number, choice in enumerate(choices):
            learnt = self._learn(prepared, choice, one_of(progress, number, fits))
            trial = clone(self)
            trial._keep(learnt, pictures.shape[1], texts.shape[1])
            if relevance is not None:
                reached = quality(trial.transform(held), relevance)
            else:
                reached = pair_quality(trial.picture_rows(held), trial.text_rows(told), told)
            if reached > best:
                best, best_choice, best_learnt = reached, choice, learnt
        return best, best_choice, best_learnt

    def picture_rows(self, X: ArrayLike | csr_array) -> NDArray[np.float32]:
        """Pictures in the common space of pictures and texts."""
        self._check_fitted()
        return self._picture_rows(picture_vectors(X, width=self.n_features_in_))

    def text_rows(self, Y: ArrayLike | csr_array) -> NDArray[np.float32]:
        """Texts, given in the space that was learnt from, in the common space."""
        self._check_fitted()
        return self._text_rows(text_vectors(Y, width=self.n_texts_in_, empty=True))


def one_of(progress: Progress, number: int, fits: int) -> Progress:
    """The part of a progress bar that one of several fits fills.

    >>> one_of(print, 1, 4)("training", 5, 10)
    training 375 1000
    """

    def report(what: str, done: int, total: int) -> None:
        progress(what, round(1000 * (number + done / max(total, 1)) / fits), 1000)

    return report


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
    try:
        texts: Vectors = (
            csr_array(Y, dtype=np.float32) if is_sparse(Y) else np.ascontiguousarray(Y, np.float32)
        )
    except (TypeError, ValueError):
        raise BadInput(
            "texts must be vectors of a text space, or a pictures × words matrix of counts; "
            "Vocabulary.counts makes one"
        ) from None
    if texts.ndim != 2:
        raise BadInput(f"texts need two dimensions, one row a picture, not {texts.ndim}")
    if pictures is not None and texts.shape[0] != pictures:
        raise BadInput(f"{pictures} picture vectors but {texts.shape[0]} captions; pair them up")
    if width is not None and texts.shape[1] != width:
        raise BadInput(
            f"the model learnt from texts of {width} numbers, these have {texts.shape[1]}"
        )
    values = texts.data if is_sparse(texts) else texts
    if not np.isfinite(values).all():
        raise BadInput("texts hold NaN or infinite numbers")
    if not empty and not np.any(values):
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


def pair_quality(pictures: NDArray[np.float32], texts: NDArray[np.float32], told: Vectors) -> float:
    """AvgP of finding a text by its picture and a picture by its text; equal texts count alike.

    >>> rows = np.eye(3, dtype=np.float32)
    >>> pair_quality(rows, rows, rows)
    1.0
    """
    scores, answers = texts @ pictures.T, same_texts(told)
    forth = mean_average_precision(scores, answers)
    return (forth + mean_average_precision(np.ascontiguousarray(scores.T), answers)) / 2

"""What validation pictures decide: one of several values, by the AvgP it reaches on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.evaluation import mean_average_precision
from visterm.models.inputs import relevance_for, word_matrix
from visterm.models.model import Captions
from visterm.text import Relevance, relevance_from_captions


def candidates(
    name: str,
    given: object,
    validation: object | None,
    allowed: Callable[[Any], bool],
    rule: str,
) -> list[Any]:
    """The values a parameter may take: it was given as one, or as a sequence to choose from.

    >>> candidates("C", 0.1, None, lambda c: c > 0, "positive")
    [0.1]
    >>> candidates("C", (0.1, -1), None, lambda c: c > 0, "positive")
    Traceback (most recent call last):
        ...
    visterm.errors.BadInput: C must be positive, not -1
    """
    values = list(given) if isinstance(given, list | tuple | np.ndarray) else [given]
    if not values:
        raise BadInput(f"{name} must be {rule}; there is no value to choose from")
    for value in values:
        try:
            good = allowed(value)
        except (TypeError, ValueError, OverflowError):
            good = False
        if not good:
            raise BadInput(f"{name} must be {rule}, not {value!r}")
    if len(values) > 1 and validation is None:
        raise BadInput(f"choosing {name} among several needs validation pictures")
    return values


def held_relevance(
    Y: Captions, pictures: int, idf: NDArray[np.float64], max_words: int | None
) -> Relevance:
    """What validation pictures are relevant to: as given, or every word set of their captions."""
    if isinstance(Y, Relevance):
        return relevance_for(Y, pictures, words=len(idf))
    captions = word_matrix(Y, pictures, words=len(idf))
    return relevance_from_captions(captions, idf, max_words=max_words)


def quality(rows: NDArray[np.floating], relevance: Relevance) -> float:
    """AvgP of text-space rows over the queries that some picture answers.

    >>> from scipy.sparse import csr_array
    >>> quality(np.eye(2), Relevance(csr_array(np.eye(2)), csr_array(np.eye(2))))
    1.0
    """
    scores = relevance.queries @ np.asarray(rows, dtype=np.float32).T
    return mean_average_precision(scores, relevance.pictures)

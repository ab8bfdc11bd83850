"""What validation pictures decide: one of several values, by the AvgP it reaches on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.evaluation import mean_average_precision
from visterm.kernels import RBF
from visterm.models.base import Captions
from visterm.models.inputs import relevance_for, word_matrix
from visterm.text import Relevance, relevance_from_captions

CHOICES: dict[str, dict[str, Any]] = {
    "pamir": {"C": (0.1, 0.3, 1.0), "max_iter": 10_000_000},
    "cmrm": {
        "alpha": (0.0, 0.1, 0.5),
        "beta": (0.1, 0.2, 0.4),
        "evidence": (None, 4.0, 8.0, 16.0),
        "power": (1.0, 0.5, 0.2),
    },
    "cmtt": {"n_components": (50, 100, 200, 300), "power": (1.0, 0.5)},
    "plsa": {
        "n_components": (200, 400, 800),
        "text_steps": (20, 40),
        "visterm_steps": 2,
        "folding_steps": 8,
        "power": (1.0, 0.25),
    },
    "concept_svm": {"C": (0.1, 1.0, 10.0)},
    "kernel_pamir": {"kernel": RBF(2.0), "C": (0.03, 0.1, 0.3), "averaged": True},
    "cca": {"ridge": (0.1, 0.3, 1.0), "text_ridge": (0.1, 0.3, 1.0), "scaling": (0.5, 1.0)},
    "bitr": {"C": (10.0, 100.0, 1e3, 1e4), "max_iter": 200},
    "wsabie": {"learning_rate": (0.003, 0.03)},
    "knn": {"n_neighbors": (25, 100), "sharpness": (10.0, 20.0, 30.0)},
}
"""What validation pictures decide for each model: small grids around what ranked Corel's best, and
for models of pairs IAPR TC-12's. BBNN has nothing but its rounds to decide."""


def pairs_of_a_round(words: int) -> int:
    """How many pairs BBNN's round has, where captions hold so many words in all.

    >>> pairs_of_a_round(300), pairs_of_a_round(5_000), pairs_of_a_round(10**6)
    (2000, 20000, 50000)
    """
    return min(max(4 * words, 2_000), 50_000)


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

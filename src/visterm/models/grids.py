"""The grids that validation pictures choose from where a parameter is "auto", model by model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from visterm.kernels import RBF

AUTO = "auto"
"""The value of a parameter that validation pictures choose from its grid."""

_T = TypeVar("_T")
Tuned: TypeAlias = _T | Sequence[_T] | str
"""A value, several for validation pictures to choose from, or "auto"."""


class Grid(NamedTuple):
    """The value of a parameter without validation pictures, and those that they choose from."""

    default: Any
    values: tuple[Any, ...]


GRIDS: dict[str, dict[str, Grid]] = {
    "pamir": {"C": Grid(0.1, (0.1, 0.3, 1.0))},
    "kernel_pamir": {"C": Grid(0.1, (0.03, 0.1, 0.3))},
    "kernel_ridge": {"alpha": Grid(0.3, (0.1, 0.3, 1.0))},
    "ridge": {"alpha": Grid(AUTO, (AUTO,)), "prior": Grid(AUTO, (AUTO,))},
    "cmrm": {
        "alpha": Grid(0.1, (0.0, 0.1, 0.5)),
        "beta": Grid(0.1, (0.1, 0.2, 0.4)),
        "evidence": Grid(None, (None, 4.0, 8.0, 16.0)),
        "power": Grid(1.0, (1.0, 0.5, 0.2)),
    },
    "cmtt": {"n_components": Grid(200, (50, 100, 200, 300)), "power": Grid(1.0, (1.0, 0.5))},
    "plsa": {
        "n_components": Grid(200, (200, 400, 800)),
        "text_steps": Grid(40, (20, 40)),
        "power": Grid(1.0, (1.0, 0.25)),
    },
    "concept_svm": {"C": Grid(1.0, (0.1, 1.0, 10.0))},
    "cca": {
        "ridge": Grid(0.1, (0.1, 0.3, 1.0)),
        "text_ridge": Grid(0.1, (0.1, 0.3, 1.0)),
        "scaling": Grid(1.0, (0.5, 1.0)),
    },
    "bitr": {"C": Grid(1.0, (10.0, 100.0, 1e3, 1e4))},
    "wsabie": {"learning_rate": Grid(0.01, (0.003, 0.03))},
    "knn": {"n_neighbors": Grid(100, (25, 100)), "sharpness": Grid(10.0, (10.0, 20.0, 30.0))},
}
"""What "auto" stands for: small grids around what ranked Corel's validation pictures best, and for
models of pairs IAPR TC-12's. Ridge regression chooses by pictures it leaves out; BBNN has nothing
but its number of epochs to choose."""

PRESETS: dict[str, dict[str, Any]] = {
    "pamir": {"max_iter": 10_000_000},
    "plsa": {"visterm_steps": 2, "folding_steps": 8},
    "kernel_pamir": {"kernel": RBF(2.0), "averaged": True},
    "kernel_ridge": {"kernel": RBF(2.0)},
    "bitr": {"max_iter": 200},
}
"""What commands set beside that: kernels, and as much work as brings something."""


def pairs_of_a_round(words: int) -> int:
    """How many pairs BBNN's epoch has, where captions hold so many words in all.

    >>> pairs_of_a_round(300), pairs_of_a_round(5_000), pairs_of_a_round(10**6)
    (2000, 20000, 50000)
    """
    return min(max(4 * words, 2_000), 50_000)

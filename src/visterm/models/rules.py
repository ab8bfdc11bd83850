"""Rules: which values a parameter of a model may have, and the values it is offered.

`GRIDS` has those that validation pictures choose from where a parameter is "auto".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from visterm.errors import BadInput
from visterm.kernels import RBF


class Rule(NamedTuple):
    """Which values a parameter may have; ``several``: validation pictures can choose among them."""

    allowed: Callable[[Any], bool]
    text: str
    several: bool = True


Rules: TypeAlias = dict[str, Rule]
"""A rule for each parameter."""


def _is_whole(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return bool(number and value >= 1 and value == int(value))


POSITIVE = Rule(lambda value: 0 < value < np.inf, "positive")
NOT_NEGATIVE = Rule(lambda value: 0 <= value < np.inf, "a number, 0 or more")
SHARE = Rule(lambda value: 0 < value <= 1, "above 0 and at most 1")
EXPONENT = Rule(lambda value: 0 <= value <= 1, "from 0 to 1")
SHARES = Rule(
    lambda value: len(value) > 0 and min(value) >= 0 and 0 < sum(value) < np.inf,
    "shares of 1, 2, … words, none negative and some positive",
    several=False,
)
WHOLE = Rule(_is_whole, "a whole number, 1 or more")
BOUND = WHOLE._replace(several=False)
"""Of iterations: validation pictures choose the best number of at most so many."""
COUNT = Rule(lambda value: value == 0 or _is_whole(value), "a whole number, 0 or more")
DROPPED = Rule(lambda value: 0 <= value < 1, "from 0 to below 1")
FLAG = Rule(lambda value: isinstance(value, bool | np.bool_), "true or false")
SEED = Rule(
    lambda value: (
        value is None
        or isinstance(value, np.random.Generator | np.random.RandomState)
        or (isinstance(value, int | np.integer) and bool(value >= 0))
    ),
    "a whole number ≥ 0, a generator of NumPy, or None",
)


def optional(rule: Rule, otherwise: str = "None") -> Rule:
    """A rule that lets None pass."""
    return Rule(lambda value: value is None or rule.allowed(value), f"{rule.text}, or {otherwise}")


def one_of(*values: str) -> Rule:
    """A rule of names.

    >>> one_of("texts", "pictures").text
    "'texts' or 'pictures'"
    """
    return Rule(lambda value: value in values, " or ".join(map(repr, values)))


THREADS = optional(WHOLE, "None for all cores")


def candidates(name: str, given: object, validation: object | None, rule: Rule) -> list[Any]:
    """The values a parameter may take: it was given as one, or as a sequence to choose from.

    >>> candidates("C", 0.1, None, POSITIVE)
    [0.1]
    >>> candidates("C", (0.1, -1), None, POSITIVE)
    Traceback (most recent call last):
        ...
    visterm.errors.BadInput: C must be positive, not -1
    """
    several = rule.several and isinstance(given, list | tuple | np.ndarray)
    values = list(given) if several else [given]  # type: ignore[call-overload]
    if not values:
        raise BadInput(f"{name} must be {rule.text}; there is no value to choose from")
    for value in values:
        try:
            good = rule.allowed(value)
        except (TypeError, ValueError, OverflowError):
            good = False
        if not good:
            raise BadInput(f"{name} must be {rule.text}, not {value!r}")
    if len(values) > 1 and validation is None:
        raise BadInput(f"choosing {name} among several needs validation pictures")
    return values


AUTO = "auto"
"""The value of a parameter that validation pictures choose from its grid."""

_T = TypeVar("_T")
Tuned: TypeAlias = _T | Sequence[_T] | str
"""A value, several for validation pictures to choose from, or "auto"."""


class Grid(NamedTuple):
    """The value of a parameter without validation pictures, and those that they choose from."""

    default: Any
    values: tuple[Any, ...]
    limit: float = np.inf
    """The highest value that the grid is extended to."""


GRIDS: dict[str, dict[str, Grid]] = {
    "pamir": {"C": Grid(0.1, (0.1, 0.3, 1.0))},
    "kernel-pamir": {"C": Grid(0.1, (0.03, 0.1, 0.3))},
    "kernel-ridge": {"alpha": Grid(0.3, (0.1, 0.3, 1.0))},
    "ridge": {"alpha": Grid(AUTO, (AUTO,)), "prior": Grid(AUTO, (AUTO,))},
    "cmrm": {
        "alpha": Grid(0.1, (0.0, 0.1, 0.5)),
        "beta": Grid(0.1, (0.1, 0.2, 0.4)),
        "evidence": Grid(None, (None, 4.0, 8.0, 16.0)),
        "power": Grid(1.0, (1.0, 0.5, 0.2)),
    },
    "cmtt": {"n_components": Grid(200, (50, 100, 200, 300)), "power": Grid(1.0, (1.0, 0.5))},
    "plsa": {
        "n_components": Grid(200, (200, 400, 800), limit=10_000),
        "text_steps": Grid(40, (20, 40)),
        "power": Grid(1.0, (1.0, 0.25)),
    },
    "concept-svm": {"C": Grid(1.0, (0.1, 1.0, 10.0))},
    "cca": {
        "ridge": Grid(0.1, (0.1, 0.3, 1.0)),
        "text_ridge": Grid(0.1, (0.1, 0.3, 1.0)),
        "scaling": Grid(1.0, (0.5, 1.0)),
    },
    "bitr": {"C": Grid(1.0, (10.0, 100.0, 1e3, 1e4))},
    "wsabie": {"learning_rate": Grid(0.01, (0.003, 0.03))},
    "weighted-knn": {
        "n_neighbors": Grid(100, (25, 100)),
        "sharpness": Grid(10.0, (10.0, 20.0, 30.0)),
    },
}
"""What "auto" stands for: small grids around what ranked Corel's validation pictures best, and for
models of pairs IAPR TC-12's. Ridge regression chooses by pictures it leaves out; BBNN has nothing
but its number of epochs to choose."""

PRESETS: dict[str, dict[str, Any]] = {
    "pamir": {"max_iter": 10_000_000},
    "plsa": {"visterm_steps": 2, "folding_steps": 8},
    "kernel-pamir": {"kernel": RBF(2.0), "averaged": True},
    "kernel-ridge": {"kernel": RBF(2.0)},
    "bitr": {"max_iter": 200},
}
"""What commands set beside that: kernels, and as much work as brings something."""


def pairs_of_a_round(words: int) -> int:
    """How many pairs BBNN's epoch has, where captions hold so many words in all.

    >>> pairs_of_a_round(300), pairs_of_a_round(5_000), pairs_of_a_round(10**6)
    (2000, 20000, 50000)
    """
    return min(max(4 * words, 2_000), 50_000)

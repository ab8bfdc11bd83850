"""Rules: which values a parameter of a model may have, and the values it is offered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from visterm.errors import BadInput


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

"""Checks of parameters that extractors share."""

from __future__ import annotations

import numpy as np

from visterm.errors import BadInput


def check_whole(thing: object, **least: int) -> None:
    """Refuse parameters that are not whole numbers, or too small.

    >>> from types import SimpleNamespace
    >>> check_whole(SimpleNamespace(side=3), side=4)
    Traceback (most recent call last):
    visterm.errors.BadInput: side is a whole number from 4 on, not 3
    """
    for name, smallest in least.items():
        if not is_whole(value := getattr(thing, name), smallest):
            raise BadInput(f"{name} is a whole number from {smallest} on, not {value!r}")


def is_whole(value: object, least: int) -> bool:
    """Whether a parameter is a whole number, no truth value, and large enough.

    >>> is_whole(4, 4), is_whole(4.0, 4), is_whole(True, 0)
    (True, False, False)
    """
    return (
        isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)
    )

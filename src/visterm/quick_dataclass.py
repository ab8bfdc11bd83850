"""`dataclass` for what every search loads: made in a quarter of the time.

Python's own compiles up to six functions a class. Here it compiles ``__init__`` alone; comparing,
hashing and showing are the same functions for all classes. Type checkers see Python's own, so that
it is they who refuse to change what is frozen.
"""

from __future__ import annotations

import dataclasses
from dataclasses import is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(kind: type | None = None, *, frozen: bool = False, eq: bool = True) -> Any:
        """As `dataclasses.dataclass`.

        >>> @dataclass(frozen=True)
        ... class Pair:
        ...     one: int
        ...     other: int = 2
        >>> Pair(1), Pair(1) == Pair(1, 2), len({Pair(1), Pair(1)})
        (Pair(one=1, other=2), True, 1)
        """
        if kind is None:
            return partial(dataclass, frozen=frozen, eq=eq)
        if eq:
            kind.__eq__ = _is_equal
            kind.__hash__ = _hash if frozen else None
        if "__repr__" not in vars(kind):
            kind.__repr__ = _shown
        above = [base.__dataclass_params__ for base in kind.__mro__[1:] if is_dataclass(base)]
        is_checked = any(about.frozen for about in above)  # what Python's own made stays as it is
        return dataclasses.dataclass(eq=False, repr=False, frozen=is_checked)(kind)


def _values(thing: Any) -> tuple[Any, ...]:
    return tuple(getattr(thing, name) for name in thing.__dataclass_fields__)


def _is_equal(thing: Any, other: object) -> bool:
    return _values(thing) == _values(other) if type(other) is type(thing) else NotImplemented


def _hash(thing: Any) -> int:
    return hash(_values(thing))


def _shown(thing: Any) -> str:
    names = [name for name, about in thing.__dataclass_fields__.items() if about.repr]
    shown = ", ".join(f"{name}={getattr(thing, name)!r}" for name in names)
    return f"{type(thing).__qualname__}({shown})"

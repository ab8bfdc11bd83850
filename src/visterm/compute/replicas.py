"""Parts of the data that answer questions, each kept by one or several processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Arguments = tuple[Any, ...]


class Replicas(Protocol):
    """Objects that hold a part of the data each, of which there may be several that are alike."""

    def __len__(self) -> int:
        """How many parts there are."""
        ...

    def ask(self, method: str, arguments: Sequence[Arguments | None]) -> list[Any]:
        """What the method gives for each part, with arguments of its own.

        None where a part was not asked (its arguments are None) or has nobody to answer now.
        """
        ...

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """What the method gives for each part, with the same arguments; an error where none can
        answer."""
        ...


class LocalReplicas:
    """The same in this process, one object a part.

    >>> LocalReplicas(list, [("ab",), ("cd",)]).ask("count", [("a",), None])
    [1, None]
    >>> LocalReplicas(list, [("ab",), ("cd",)]).call("count", "c")
    [0, 1]
    """

    def __init__(self, kind: Callable[..., Any], parts: Sequence[Arguments]) -> None:
        self._objects = [kind(*part) for part in parts]

    def __len__(self) -> int:
        return len(self._objects)

    def ask(self, method: str, arguments: Sequence[Arguments | None]) -> list[Any]:
        asked = zip(self._objects, arguments, strict=True)
        return [None if given is None else getattr(one, method)(*given) for one, given in asked]

    def call(self, method: str, *arguments: Any) -> list[Any]:
        return self.ask(method, [arguments] * len(self))

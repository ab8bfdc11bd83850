"""Objects that each hold a part of the data, and do the same with it when they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Shards(Protocol):
    """Several objects that hold a part of the data each, as long as somebody holds this."""

    def __len__(self) -> int: ...

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """What the method of every shard gives, in order; None for a shard that is missing now."""
        ...


class LocalShards:
    """The same in this process, one after another.

    >>> LocalShards(list, [("ab",), ("cd",)]).call("count", "c")
    [0, 1]
    """

    def __init__(self, kind: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> None:
        self._shards = [kind(*part) for part in parts]

    def __len__(self) -> int:
        return len(self._shards)

    def call(self, method: str, *arguments: Any) -> list[Any]:
        return [getattr(shard, method)(*arguments) for shard in self._shards]

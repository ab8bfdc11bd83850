"""Objects that each hold a part of the data, and do the same with it when they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self


class Shards(Protocol):
    """Several objects that hold a part of the data each, wherever they are."""

    def __len__(self) -> int: ...

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """What the method of every shard gives, in order; None for a shard that is missing now."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class LocalShards:
    """The same in this process, one after another.

    >>> with LocalShards(list, [("ab",), ("cd",)]) as shards:
    ...     shards.call("count", "c")
    [0, 1]
    """

    def __init__(self, kind: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> None:
        self._shards = [kind(*part) for part in parts]

    def __len__(self) -> int:
        return len(self._shards)

    def call(self, method: str, *arguments: Any) -> list[Any]:
        return [getattr(shard, method)(*arguments) for shard in self._shards]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._shards.clear()

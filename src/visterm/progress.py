"""How long work tells what it has done: one call, so that any face can draw its own bar."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with what is being done, how much of it is done, and how much there is in all."""

    def __call__(self, what: str, done: int, total: int) -> None: ...


def silent(what: str, done: int, total: int) -> None:
    """The progress of a library call that nobody watches.

    >>> silent("drawing", 1, 2)
    """

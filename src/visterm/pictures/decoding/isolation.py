"""Whether files are decoded in this process, or by children of it that may die."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visterm.pictures.decoding.decoder_process import DecoderProcesses

_turn = threading.RLock()  # a garbage collector may end what somebody forgot to close
_users = 0
_own: tuple[int, DecoderProcesses] | None = None
"""The children, and the process whose they are: a fork of it must not ask them, too."""


@contextlib.contextmanager
def decoding_elsewhere(processes: DecoderProcesses | None = None) -> Iterator[None]:
    """For as long as it lasts, files of this process are decoded by children; by these, if given.

    On Windows, where pipes cannot be waited for like this, they are decoded as always.
    """
    global _users, _own
    with _turn:
        _users, before = _users + 1, _own
        if processes is not None:
            _own = os.getpid(), processes
    try:
        yield
    finally:
        with _turn:
            _users -= 1
            if processes is not None:
                _own = before
                processes.close()


def decoders() -> DecoderProcesses | None:
    """The children that decode files; None where this process does so itself."""
    return own_decoders() if _users else None


def begin_decoding() -> None:
    """Let a child load its libraries, if children decode, while this process does other things."""
    elsewhere = decoders()
    if elsewhere is not None:
        with contextlib.suppress(OSError):  # whoever asks for a picture is told
            elsewhere.begin()


def own_decoders() -> DecoderProcesses | None:
    """The children of this process, which begin when they are first asked; None on Windows."""
    global _own
    if os.name == "nt":
        return None
    with _turn:
        if _own is None or _own[0] != os.getpid():
            from visterm.pictures.decoding.decoder_process import DecoderProcesses

            _own = os.getpid(), DecoderProcesses()
            atexit.register(_own[1].close)
        return _own[1]

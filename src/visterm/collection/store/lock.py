"""One writer at a time: a lock that the system lets go of, whatever becomes of its holder."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from visterm.errors import VistermError

WAIT = 10.0
"""Seconds that a second writer waits before it says who holds the lock."""

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # whoever sent a store could have another file signed
_FAR = 1 << 30  # Windows locks bytes against reading too, so it locks one that is never read.

_NOTE = 2048
"""Bytes that a note of who is at work takes, at most."""


class Locked(VistermError):
    """Somebody else is writing."""


@contextlib.contextmanager
def writer(path: Path, doing: str, wait: float | None = None) -> Iterator[None]:
    """Hold the lock file, or say who does after ``wait`` seconds, `WAIT` unless given.

    >>> import tempfile
    >>> lock = Path(tempfile.mkdtemp(), "lock")
    >>> with writer(lock, "adding"), writer(lock, "training", wait=0):
    ...     pass  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    visterm.collection.store.lock.Locked: the collection is being written by ... (adding, ...
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o666)
    except OSError as error:
        raise VistermError(f"cannot write {path}: {error.strerror}") from error
    try:
        _take(handle, path, WAIT if wait is None else wait)
        _sign(handle, doing)
        yield
    finally:
        os.close(handle)


def _take(handle: int, path: Path, wait: float) -> None:
    until = time.monotonic() + wait
    while not _try(handle):
        if time.monotonic() >= until:
            raise Locked(
                f"the collection is being written by {_holder(path)}; wait until that is done"
            )
        time.sleep(0.05)


def _try(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(handle: int, doing: str) -> None:
    """Leave a note of who is at work; on a full disk the lock holds without one."""
    import getpass
    import socket

    who = {"doing": doing, "pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
    with contextlib.suppress(OSError, KeyError, ImportError):
        who["user"] = getpass.getuser()
    with contextlib.suppress(OSError):
        os.lseek(handle, 0, os.SEEK_SET)  # padded, as cutting a file off takes milliseconds
        os.write(handle, json.dumps(who).encode().ljust(_NOTE))


def _holder(path: Path) -> str:
    try:
        who = json.loads(path.read_bytes())
        since = time.strftime("%H:%M:%S", time.localtime(who["since"]))
        user = who.get("user", "somebody")
        return f"{user} ({who['doing']}, process {who['pid']} on {who['host']}, since {since})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"

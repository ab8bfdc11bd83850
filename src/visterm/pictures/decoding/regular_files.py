"""Open picture files without ever waiting for one: regular files only, and reasons for the rest."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO


class Refused(Exception):
    """A reason, in a few words, not to read a picture; the caller knows which picture."""


@contextmanager
def opened(source: str | os.PathLike[str] | bytes) -> Iterator[BinaryIO]:
    """The bytes or the regular file, open for reading; `Refused` says why it could not be.

    >>> with opened(b"in memory") as file:
    ...     file.read()
    b'in memory'
    """
    if isinstance(source, bytes):
        yield io.BytesIO(source)
        return
    try:
        _refuse_unless_regular(os.stat(source).st_mode)
        # Should a pipe take the file's place just now, opening it must not wait for a writer.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(source, flags | getattr(os, "O_CLOEXEC", 0))
    except OSError as problem:
        raise Refused(_why_notopened(problem)) from None
    except ValueError:  # a NUL inside the name
        raise Refused("no such file") from None
    with open(descriptor, "rb") as file:
        _refuse_unless_regular(os.fstat(descriptor).st_mode)
        yield file


def _refuse_unless_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise Refused("it is a folder")
    if not stat.S_ISREG(mode):  # a pipe or a device may never end
        raise Refused("it is not a regular file")


def _why_notopened(problem: OSError) -> str:
    known = {
        errno.ENOENT: "no such file",
        errno.ENOTDIR: "no such file",
        errno.EACCES: "no permission to read it",
        errno.EPERM: "no permission to read it",
        errno.ELOOP: "its symbolic links run in a circle",
        errno.ENAMETOOLONG: "its name is too long",
    }
    return known.get(problem.errno or 0, problem.strerror or "it cannot be opened")

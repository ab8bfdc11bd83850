"""Files written whole: a name holds all that was meant for it, or what it held before."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from visterm.errors import VistermError

PART = ".part"
"""How the temporary name of an unfinished file ends; such a file is rubbish when nobody writes."""

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # whoever sent a folder could have another file written

_ADVICE = {
    errno.ENOSPC: "no space left on the device; free some and try again",
    errno.EDQUOT: "your disk quota is used up; free some space and try again",
    errno.EFBIG: "the file would be larger than this system allows",
    errno.EROFS: "the device is read-only; choose another folder",
    errno.EACCES: "permission denied; choose a folder you may write to",
}


def write_whole(
    path: str | os.PathLike[str],
    content: bytes | Callable[[BinaryIO], None],
    *,
    is_cache: bool = False,
) -> None:
    """Write a file so that no crash, kill or full disk leaves half of it under its name.

    The bytes go to a temporary name in the same folder, are synced, take the place of ``path`` in
    one step, and the folder is synced, so that the name outlives a power cut too.

    Parameters
    ----------
    path
        The file to write; its folder must exist.
    content
        The bytes, or a function that writes them into the open file it is given.
    is_cache
        A power cut may damage it: whoever reads it verifies it, and makes it anew.

    Raises
    ------
    VistermError
        When the system refuses the file; the old content of ``path`` stays, no temporary file does.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_whole(folder / "words.txt", b"tree snow")
    >>> write_whole(folder / "words.txt", lambda file: print(file.write(b"people")))
    6
    >>> [(path.name, path.read_bytes()) for path in folder.iterdir()]
    [('words.txt', b'people')]
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}{PART}")
    try:
        try:
            with open(part, "xb") as file:
                if callable(content):
                    content(file)
                else:
                    file.write(content)
                if not is_cache:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        if not is_cache:
            sync_folder(path.parent)
    except OSError as error:
        raise VistermError(f"cannot write {path}: {reason(error)}") from error


def append_synced(path: str | os.PathLike[str], size: int, content: bytes | memoryview) -> None:
    """Write bytes behind the first ``size`` bytes of a file, in place of what follows them.

    They are synced, and so is the file's name. A crash leaves the first bytes as they were.

    Raises
    ------
    VistermError
        When the system refuses, or the file is shorter than that.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "rows")
    >>> append_synced(path, 0, b"abcd")
    >>> append_synced(path, 2, b"xyz")
    >>> path.read_bytes()
    b'abxyz'
    """
    path = Path(path)
    try:
        is_new = not path.exists()
        with open(os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o666), "r+b") as file:
            if file.seek(0, os.SEEK_END) < size:
                raise VistermError(f"{path} is too short; visterm check --repair")
            file.truncate(size)
            file.seek(size)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync_folder(path.parent)
    except OSError as error:
        raise VistermError(f"cannot write {path}: {reason(error)}") from error


def make_folder(folder: str | os.PathLike[str]) -> None:
    """Make a folder, and those above it that are missing, as lasting as the files in it will be.

    A folder that is there already is made lasting as well: whoever made it may have been killed.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "models", "1")
    >>> make_folder(folder)
    >>> folder.is_dir()
    True
    """
    above, missing = Path(folder), []
    while not above.is_dir():
        missing.append(above)
        above = above.parent
    try:
        for one in reversed(missing):
            one.mkdir(exist_ok=True)
            sync_folder(one.parent)
        if not missing:
            with contextlib.suppress(PermissionError):  # not everybody may look into what is above
                sync_folder(above.parent)
    except OSError as error:
        raise VistermError(f"cannot make {os.fspath(folder)}: {reason(error)}") from error


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make the names in a folder as lasting as the files they name.

    >>> sync_folder(".")
    """
    if os.name == "nt":  # Windows keeps names without being asked and cannot open folders.
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def reason(error: OSError) -> str:
    """Why the system refused a file, and what to do about it.

    >>> reason(OSError(errno.ENOSPC, "No space left on device"))
    'no space left on the device; free some and try again'
    """
    return _ADVICE.get(error.errno or 0) or error.strerror or str(error)

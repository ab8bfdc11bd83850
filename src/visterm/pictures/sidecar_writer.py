"""Keywords written beside a picture, into the sidecar it has or a new ``photo.jpg.xmp``."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from visterm.errors import VistermError
from visterm.files import write_whole
from visterm.pictures.formats import Refused
from visterm.pictures.picture_files import captions_of
from visterm.pictures.sidecars import MAX_XMP, bytes_of, sidecars_of
from visterm.pictures.xmp import BrokenXMP
from visterm.pictures.xmp_writer import with_keywords


@dataclass(frozen=True)
class SidecarChange:
    """What a sidecar is and what it would become; nothing is written until `write`."""

    path: str
    before: bytes | None
    after: bytes

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """The difference as a unified diff; empty where nothing changes."""
        old = [] if self.before is None else _lines(self.before)
        name = os.devnull if self.before is None else self.path
        return "".join(difflib.unified_diff(old, _lines(self.after), name, self.path))

    def write(self) -> None:
        """Write the sidecar whole, unless somebody changed it since it was read."""
        if not self.changes:
            return
        target = os.path.realpath(self.path)  # a link stays one
        if _read(target) != self.before:
            raise VistermError(f"{self.path} was changed by somebody else just now; try again")
        mode = None if self.before is None else os.stat(target).st_mode & 0o7777
        write_whole(target, self.after)
        if mode is not None:
            os.chmod(target, mode)


def sidecar_change(
    picture: str | os.PathLike[str], words: Sequence[str], nearest: Sequence[str] = ()
) -> SidecarChange | None:
    """What ``words`` would change in the sidecar of a picture; None where there is nothing to do.

    Words that a person gave the picture as keywords, wherever they are kept, are not written again.

    Raises
    ------
    VistermError
        Where the sidecar there is cannot be read or added to; it stays as it is.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> change = sidecar_change(f"{folder}/boat.jpg", ["sea"])
    >>> change.write()
    >>> os.listdir(folder)
    ['boat.jpg.xmp']
    """
    name = os.fspath(picture)
    path = next(iter(sidecars_of(name, ".xmp")), name + ".xmp")
    given = _keywords(name)
    new = [word for word in words if word.casefold() not in given]
    before = _read(path)
    try:
        after = with_keywords(before, new, nearest)
    except BrokenXMP as problem:
        raise VistermError(f"{path} is left as it is: {problem}") from None
    return None if after is None else SidecarChange(path, before, after)


def _read(path: str) -> bytes | None:
    """The bytes of a sidecar; None where there is no such file."""
    if not os.path.lexists(path):
        return None
    try:
        return bytes_of(path, MAX_XMP)
    except Refused as problem:
        raise VistermError(f"{path} is left as it is: {problem}") from None
    except OSError as problem:
        reason = problem.strerror or "it cannot be read"
        raise VistermError(f"{path} is left as it is: {reason}") from None


def _keywords(picture: str) -> set[str]:
    """Keywords of the picture by a person, in the file and beside it."""
    return {
        line.casefold()
        for caption in captions_of(picture)
        if caption.source.endswith((":subject", ":keywords"))
        for line in caption.text.splitlines()
    }


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace")
    return (text if text.endswith("\n") else text + "\n").splitlines(keepends=True)

"""Listing the picture files below a folder, folder by folder, in the order of names."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from visterm.collection.store.location import STORE

_BESIDE = (".xmp", ".txt")


@dataclass(frozen=True, slots=True)
class File:
    """A picture file as its folder lists it; ``sidecars`` changes when what lies beside it does."""

    name: str
    size: int
    mtime_ns: int
    sidecars: str = ""


@dataclass(frozen=True)
class Listing:
    """One folder: its pictures, or the reason why it cannot be listed.

    ``folder`` is relative to the walk's root, with slashes, and "" for the root itself.
    ``unusable`` are names with reasons.
    """

    folder: str
    mtime_ns: int = 0
    files: list[File] = field(default_factory=list)
    unusable: list[tuple[str, str]] = field(default_factory=list)
    problem: str | None = None


def has_pictures(root: str | os.PathLike[str]) -> bool:
    """Whether there is a picture file in a folder or below it."""
    return any(listing.files for listing in walk(root))


def walk(root: str | os.PathLike[str], folder: str = "") -> Iterator[Listing]:
    """List ``folder`` below ``root`` and everything in it.

    Hidden files and folders are passed over, and so is visterm's own. Links are followed, but no
    folder is listed twice, so links that run in a circle end.

    >>> import pathlib, tempfile
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> (root / "sea").mkdir(); _ = (root / "sea" / "boat.jpg").write_bytes(b"...")
    >>> [(at.folder, [file.name for file in at.files]) for at in walk(root)]
    [('', []), ('sea', ['boat.jpg'])]
    """
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        path = os.path.join(root, here)
        try:
            about = os.stat(path)
            if (about.st_dev, about.st_ino) in seen:
                continue
            seen.add((about.st_dev, about.st_ino))
            listing, inner = _list(path, here, about.st_mtime_ns)
        except OSError as error:
            yield Listing(here, problem=_why(error))
            continue
        yield listing
        waiting += sorted(inner, reverse=True)


def look(root: str | os.PathLike[str], folder: str, name: str) -> File | None:
    """One file, as its folder would list it; None where it is not a file."""
    path = os.path.join(root, folder, name)
    try:
        about = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(about.st_mode):
        return None
    beside = {}
    for _, spelt in _sidecars(name):
        with contextlib.suppress(OSError):
            beside[spelt] = os.stat(os.path.join(root, folder, spelt))
    return File(name, about.st_size, about.st_mtime_ns, _stamp(name, beside))


def join(folder: str, name: str) -> str:
    """A path below the root.

    >>> join("", "a.jpg"), join("sea", "a.jpg")
    ('a.jpg', 'sea/a.jpg')
    """
    return f"{folder}/{name}" if folder else name


def _list(path: str, folder: str, mtime_ns: int) -> tuple[Listing, list[str]]:
    from visterm.pictures.decoding import SUPPORTED_EXTENSIONS

    listing, inner = Listing(folder, mtime_ns), []
    beside: dict[str, os.stat_result] = {}
    found: list[tuple[str, os.stat_result]] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name == STORE:
                continue
            ending = os.path.splitext(entry.name)[1].lower()
            try:
                if entry.is_dir():
                    inner.append(join(folder, entry.name))
                elif ending in SUPPORTED_EXTENSIONS and entry.is_file():
                    found.append((entry.name, entry.stat()))
                elif ending in _BESIDE and entry.is_file():
                    beside[entry.name] = entry.stat()
            except OSError as error:
                listing.unusable.append((entry.name, _why(error)))
    for name, about in sorted(found, key=lambda one: one[0]):
        if _is_text(name) and _is_text(folder):
            stamp = _stamp(name, beside) if beside else ""
            listing.files.append(File(name, about.st_size, about.st_mtime_ns, stamp))
        else:
            listing.unusable.append((name, "its name is not valid text; rename it"))
    return listing, inner


def _stamp(name: str, beside: dict[str, os.stat_result]) -> str:
    """The sidecars of a picture with size and time, as one short text."""
    return " ".join(
        f"{ending}:{about.st_size}:{about.st_mtime_ns}"
        for ending, spelt in _sidecars(name)
        if (about := beside.get(spelt)) is not None
    )


def _sidecars(name: str) -> Iterator[tuple[str, str]]:
    """The ending and the whole name of every file that may lie beside a picture as its sidecar."""
    for stem in (name, os.path.splitext(name)[0]):
        for ending in _BESIDE:
            yield ending, stem + ending
            yield ending.upper(), stem + ending.upper()


def _is_text(name: str) -> bool:
    """Whether a name can be stored and shown: bytes that are no text come as lone surrogates."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def _why(error: OSError) -> str:
    return (error.strerror or "it cannot be read").lower()

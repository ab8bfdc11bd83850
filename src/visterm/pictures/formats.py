"""Picture files: opened if they are regular files, recognised by their first bytes and never by
their names."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

HEAD = 64
"""How many bytes of a file `recognise` looks at."""


MAX_PIXELS = 64_000_000
"""The largest picture that is decoded."""
MAX_SIDE = 65_535
NO_MEMORY = "there is not enough memory to decode it"


class Refused(Exception):
    """A reason, in a few words, not to read a picture; the caller knows which picture.

    ``passing`` where it says nothing about the picture: a server may be away.
    """

    def __init__(self, reason: str, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.passing = passing


def check_size(size: tuple[int, int]) -> None:
    """Refuse pictures without pixels, with too many, or too long on one side."""
    width, height = size
    if width < 1 or height < 1:
        raise Refused("it has no pixels")
    if width * height > MAX_PIXELS:
        raise Refused(f"its {width:,} × {height:,} pixels are more than the {MAX_PIXELS:,} allowed")
    if max(size) > MAX_SIDE:
        raise Refused(f"its longer side of {max(size):,} pixels is more than {MAX_SIDE:,}")


@contextmanager
def reasons(format_: str) -> Iterator[None]:
    """Whatever a decoder raises of a damaged file, as a reason in a few words."""
    try:
        yield
    except Refused:
        raise
    except MemoryError:
        raise Refused(NO_MEMORY) from None
    except Exception as problem:  # decoders raise whatever comes to hand
        message = " ".join(str(getattr(problem, "strerror", None) or problem).split())[:100]
        if isinstance(problem, EOFError) or "truncated" in message.lower():
            raise Refused(f"its {format_} data are cut short") from None
        if message.startswith("cannot identify"):
            message = ""
        about = f" ({message})" if message else ""
        raise Refused(f"its {format_} data are broken{about}") from None


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
        reason = _NOT_OPENED.get(problem.errno or 0, problem.strerror or "it cannot be opened")
        raise Refused(reason) from None
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


_NOT_OPENED = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "no such file",
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ELOOP: "its symbolic links run in a circle",
    errno.ENAMETOOLONG: "its name is too long",
}


EXTENSIONS = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png", ".apng"),
    "GIF": (".gif",),
    "BMP": (".bmp", ".dib"),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
    "AVIF": (".avif",),
    "HEIF": (".heic", ".heif"),
}
"""Lower-case endings of the names of pictures, by what Pillow calls their format."""

RAW_HEADS = (b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\0")
"""What RAW files begin with that are no TIFFs."""

RAW_EXTENSIONS = frozenset(
    (".dng", ".nef", ".nrw", ".cr2", ".cr3", ".arw", ".orf", ".rw2", ".raf", ".pef", ".srw")
)
"""Lower-case endings of RAW files, which are recognised by their content as all others are."""

VIDEO_EXTENSIONS = frozenset(
    {
        *(".mp4", ".m4v", ".mov", ".3gp", ".mkv", ".webm", ".avi", ".mts", ".m2ts"),
        *(".mpg", ".mpeg", ".wmv", ".flv", ".ogv"),
    }
)
"""Lower-case endings of videos."""

SUPPORTED_EXTENSIONS = (
    RAW_EXTENSIONS
    | VIDEO_EXTENSIONS
    | frozenset(extension for some in EXTENSIONS.values() for extension in some)
)
"""Lower-case endings of names under which people keep pictures, for walking folders."""


def kind_of_name(name: str) -> str | None:
    """What a file is besides a picture, by the ending of its name: ``raw``, ``video``, or None.

    >>> kind_of_name("IMG_0001.CR2"), kind_of_name("a.MOV"), kind_of_name("a.jpg")
    ('raw', 'video', None)
    """
    ending = name[name.rfind(".") :].lower()
    if ending in RAW_EXTENSIONS:
        return "raw"
    return "video" if ending in VIDEO_EXTENSIONS else None


def video_format(head: bytes) -> str | None:
    """What FFmpeg calls the container of a video that begins with these bytes; None for others.

    >>> video_format(bytes.fromhex("000000206674797069736f6d")), video_format(b"GIF89a")
    ('mov', None)
    """
    if head[4:8] == b"ftyp":
        is_other = _by_brand(head) is not None or head[8:12] == b"crx "
        return None if is_other else "mov"
    if head[4:8] in (b"moov", b"mdat", b"wide", b"pnot"):
        return "mov"
    if head[0:1] == b"G" and not head.startswith(b"GIF8"):
        return "mpegts"
    if head.startswith(b"RIFF"):
        return "avi" if head[8:12] == b"AVI " else None
    if head[4:5] == b"G" and head[:4] == bytes(4):
        return "mpegts"  # with a time of arrival before each packet, as camcorders write it
    known = (name for begin, name in _VIDEO_HEADS.items() if head.startswith(begin))
    return next(known, None)


_VIDEO_HEADS = {
    bytes.fromhex("1a45dfa3"): "matroska",
    bytes.fromhex("000001ba"): "mpeg",
    bytes.fromhex("000001b3"): "mpegvideo",
    b"FLV\1": "flv",
    b"OggS": "ogg",
    bytes.fromhex("3026b2758e66cf11"): "asf",
}


_HEVC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1"}
_HEADS = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    **dict.fromkeys((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), "TIFF"),
}


def recognise(head: bytes) -> str | None:
    """What Pillow calls the format that begins with these bytes; None where it is none of ours.

    >>> recognise(bytes.fromhex("89504e470d0a1a0a")), recognise(b"<svg>")
    ('PNG', None)
    """
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        return _by_brand(head)
    # Two letters are a weak sign, so a BMP must also name a header size that exists.
    if head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in range(12, 125):
        return "BMP"
    return next((name for begin, name in _HEADS.items() if head.startswith(begin)), None)


def _by_brand(head: bytes) -> str | None:
    """AVIF and HEIC share a container; the brands in its first box distinguish them."""
    end = min(int.from_bytes(head[:4], "big"), len(head))
    brands = {head[8:12]} | {head[at : at + 4] for at in range(16, end - 3, 4)}
    if brands & {b"avif", b"avis"}:
        return "AVIF"
    return "HEIF" if brands & _HEVC_BRANDS else None

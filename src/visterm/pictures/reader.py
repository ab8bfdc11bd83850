"""The one reader of picture files: a file is opened once, and all that is asked of it is read then.

Content hash, metadata, width and height, and the pixels of a picture or of the frames of a video
come from one visit, which is paid by the process that calls this (`sandbox` has others do it).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO

from visterm.pictures import formats
from visterm.pictures.decoder import is_raw, open_picture, open_raw
from visterm.pictures.formats import Refused, opened
from visterm.pictures.metadata import Metadata, MetadataReader

if TYPE_CHECKING:
    from visterm.pictures.decoder import Pixels

_HASH_CHUNK = 1 << 22


@dataclass(frozen=True)
class Wanted:
    """What is asked of a file; nothing else is read."""

    digest: bool = False
    metadata: bool = False
    json: bool = False
    """Whether a ``.json`` file beside it is a caption, as in shards."""
    size: bool = False
    pixels: bool = False
    frames: bool = False
    """Whether a video gives all its frames that differ, or only the most usual one."""
    second: float | None = None
    """Of a video, the frame that is shown then."""
    max_side: int | None = None
    text: bool = False
    """Whether text in the picture is read, be its content known or not."""
    known: tuple[str, ...] = ()
    """Hashes (hexadecimal) of contents whose size and pixels nobody needs again."""


@dataclass
class Reading:
    """What one visit to a file brought, or the ``reason`` why there are no pixels or no size."""

    digest: bytes | None = None
    metadata: Metadata = field(default_factory=Metadata)
    size: tuple[int, int] | None = None
    """Width and height, upright."""
    seconds: list[float | None] = field(default_factory=list)
    """When each frame is shown, the most usual one first; None where it is no video."""
    pixels: list[Pixels] = field(default_factory=list)
    text: str | None = None
    """What is to be read in the picture; None where it was not looked for."""
    reason: str | None = None


def read_here(
    source: str | os.PathLike[str] | bytes,
    wanted: Wanted,
    alive: Callable[[], None] = lambda: None,
) -> Reading:
    """Read what is wanted of a file, or of its bytes, in this process.

    ``alive`` is called now and then while a large file is hashed.
    """
    reading = Reading()
    name = "" if isinstance(source, bytes) else os.fspath(source)
    about = MetadataReader(name)
    try:
        with opened(source) as file:
            if wanted.digest:
                reading.digest = _digest(file, alive)
                if reading.digest.hex() in wanted.known:
                    wanted = replace(wanted, pixels=False, size=False)
            if wanted.metadata or wanted.size or wanted.pixels:
                _read_content(file, wanted, reading, about)
            if wanted.text:
                reading.text = _text(file)
    except Refused as reason:
        reading.reason = str(reason)
    except OSError as error:
        reading.reason = error.strerror or "it cannot be read"
    if wanted.metadata:
        if reading.reason is not None and not (wanted.pixels or _is_no_picture(reading.reason)):
            about.problems.append(f"{name}: {reading.reason}")
        about.beside(in_shard=wanted.json)
        reading.metadata = about.metadata()
    return reading


def _read_content(file: BinaryIO, wanted: Wanted, reading: Reading, about: MetadataReader) -> None:
    file.seek(0)
    video_format = formats.video_format(file.read(formats.HEAD))
    if video_format is not None:
        _read_video(file, video_format, wanted, reading, about)
    elif is_raw(file):
        with open_raw(file) as raw:
            if wanted.metadata:
                about.embedded(raw)
            if wanted.pixels or wanted.size:
                reading.size, pixels = raw.read(wanted.max_side, only_size=not wanted.pixels)
                reading.seconds, reading.pixels = ([None], [pixels]) if wanted.pixels else ([], [])
    else:
        with open_picture(file) as picture:
            reading.size = picture.size
            if wanted.pixels:
                reading.seconds, reading.pixels = [None], [picture.pixels(wanted.max_side)]
            if wanted.metadata:
                if picture.format == "PNG":  # what it says may stand behind its pixels
                    with contextlib.suppress(Exception):
                        picture.picture.load()
                about.embedded(picture)


def _text(file: BinaryIO) -> str | None:
    """What is to be read in a picture, decoded in more pixels for it; nothing in videos."""
    from visterm.pictures import ocr

    file.seek(0)
    if formats.video_format(file.read(formats.HEAD)) is not None:
        return ""
    shown, wanted = Reading(), Wanted(pixels=True, max_side=ocr.SIDE)
    _read_content(file, wanted, shown, MetadataReader(""))
    return ocr.text_in(shown.pixels[0])


def _read_video(
    file: BinaryIO, format_: str, wanted: Wanted, reading: Reading, about: MetadataReader
) -> None:
    from visterm.pictures.video import OpenVideo

    with OpenVideo(file, format_) as video:
        if wanted.metadata:
            about.recorded = video.capture
        if wanted.pixels and wanted.second is not None:
            frame = video.at(wanted.second, wanted.max_side)
            reading.seconds, reading.pixels = [wanted.second], [frame]
        elif wanted.pixels:
            seconds, pixels = video.distinct_frames(wanted.max_side)
            count = len(pixels) if wanted.frames else 1
            reading.seconds, reading.pixels = [*seconds[:count]], pixels[:count]
        if wanted.size:
            reading.size = video.size


def _digest(file: BinaryIO, alive: Callable[[], None]) -> bytes:
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(_HASH_CHUNK):
        digest.update(chunk)
        alive()
    return digest.digest()


def _is_no_picture(reason: str) -> bool:
    """Whether a file says nothing about itself because it is no picture at all."""
    return reason == "the file is empty" or reason.startswith("it is not a picture")

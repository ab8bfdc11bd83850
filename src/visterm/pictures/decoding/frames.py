"""Frames of videos, decoded in processes of their own; of any other file, its picture.

FFmpeg reads what strangers send in dozens of formats, so it never runs in the process that asks:
one that dies, hangs or takes too much memory costs its video and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from visterm.errors import UnreadablePicture
from visterm.pictures.decoding import formats
from visterm.pictures.decoding.isolation import own_decoders
from visterm.pictures.decoding.limits import DEFAULT_MAX_PIXELS
from visterm.pictures.decoding.regular_files import Refused, opened

if TYPE_CHECKING:
    from visterm.pictures.decoding.pixels import Pixels

MEMORY = 1_000_000_000
"""Bytes that a process may take for a video, besides what it has when it begins."""


class Frames(NamedTuple):
    """Pictures of one file and when each is shown, the most usual first; no time where it is no
    video."""

    seconds: list[float | None]
    pixels: list[Pixels]


def video_format(file: BinaryIO) -> str | None:
    """The container of an open video file, as FFmpeg calls it; None for other files."""
    head = file.read(formats.HEAD)
    file.seek(0)
    return formats.video_format(head)


def is_video(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a video, by its content."""
    try:
        with opened(path) as file:
            return video_format(file) is not None
    except Refused as reason:
        raise UnreadablePicture(os.fspath(path), str(reason)) from None


def read_frames(path: str | os.PathLike[str], *, max_side: int | None = None) -> Frames:
    """A picture as `read_picture` gives it; of a video, frames that differ from each other."""
    from visterm.pictures.decoding.decoder import read_picture

    if not is_video(path):
        return Frames([None], [read_picture(path, max_side=max_side)])
    decoders = own_decoders()
    decode = decode_frames if decoders is None else decoders.frames
    return decode(os.fspath(path), DEFAULT_MAX_PIXELS, max_side, every=True)


def read_frame(
    source: str | os.PathLike[str] | bytes,
    max_pixels: int,
    max_side: int | None,
    second: float | None,
) -> Pixels:
    """One frame of a video: the one that is shown then, or else the most usual one."""
    with _on_disk(source) as path:
        decoders = own_decoders()
        decode = decode_frames if decoders is None else decoders.frames
        return decode(path, max_pixels, max_side, second=second).pixels[0]


def decode_frames(
    path: str,
    max_pixels: int,
    max_side: int | None,
    *,
    second: float | None = None,
    every: bool = False,
) -> Frames:
    """Frames of a video, decoded in this very process: one, or ``every`` one that differs."""
    from visterm.pictures.decoding import video

    try:
        with opened(path) as file:
            format_ = video_format(file)
            if format_ is None:
                raise Refused("it is not a video any more")
            if second is not None:
                one = video.frame_at(file, format_, second, max_pixels, max_side)
                return Frames([second], [one])
            seconds, pixels = video.distinct_frames(file, format_, max_pixels, max_side)
    except Refused as reason:
        raise UnreadablePicture(path, str(reason)) from None
    count = len(pixels) if every else 1
    return Frames([*seconds[:count]], pixels[:count])


def limit_memory() -> None:
    """Let this process take `MEMORY` more and no more, where the system can see to it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm") as about:
            taken = int(about.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, resource.RLIM_INFINITY))


@contextlib.contextmanager
def _on_disk(source: str | os.PathLike[str] | bytes) -> Iterator[str]:
    """A path of what may be in memory only: another process is to read it."""
    if not isinstance(source, bytes):
        yield os.fspath(source)
        return
    with tempfile.NamedTemporaryFile(prefix="visterm-") as copy:
        copy.write(source)
        copy.flush()
        yield copy.name

"""Picture files, read where they harm nobody: pixels, frames, sizes and captions of them.

Files are read by children of this process (`sandbox`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from visterm.errors import BadInput, UnreadablePicture
from visterm.pictures.formats import DEFAULT_MAX_PIXELS
from visterm.pictures.metadata import Caption
from visterm.pictures.reader import Reading, Wanted
from visterm.pictures.sandbox import readers

if TYPE_CHECKING:
    from visterm.pictures.pixels import Pixels


def read_picture(
    source: str | os.PathLike[str] | bytes,
    *,
    max_pixels: int = DEFAULT_MAX_PIXELS,
    max_side: int | None = None,
    second: float | None = None,
) -> Pixels:
    """Decode one picture to upright RGB.

    JPEG, PNG, WebP, GIF (its first frame), TIFF (its first page), BMP and AVIF are recognised by
    content, whatever the name says; HEIC too where the extra ``heic`` is installed, RAW files with
    ``raw``, and a frame of a video with ``video``. EXIF's orientation is applied, alpha is laid on
    white, 16-bit and float greys are scaled to eight bits.

    Parameters
    ----------
    source
        A path, or the bytes of a picture file. Only regular files are opened.
    max_pixels
        The largest picture that is decoded, 64 million pixels by default, checked before its pixels
        are. Decoding may also take no more than a gigabyte of memory, and in proportion more where
        this limit is raised above its default, and ten seconds of processor time.
    max_side
        Shrink so that the longer side has at most so many pixels; never enlarge. Much faster for
        JPEG, which is then decoded at a fraction of its size.
    second
        Of a video, the frame that is shown then; without it, the most usual one.

    Returns
    -------
    (height, width, 3) uint8 array, C-contiguous.

    Raises
    ------
    UnreadablePicture
        For whatever cannot be read, with the reason in a few words.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("LA", (40, 20), (0, 0)).save(file, "PNG")
    >>> read_picture(file.getvalue(), max_side=10)[0, 0].tolist()
    [255, 255, 255]
    >>> read_picture(b"GIF89a")
    Traceback (most recent call last):
    visterm.errors.UnreadablePicture: picture in memory: its GIF data are broken
    """
    if max_pixels < 1 or (max_side is not None and max_side < 1):
        raise BadInput("max_pixels and max_side must be at least 1")
    wanted = Wanted(pixels=True, second=second, max_side=max_side, max_pixels=max_pixels)
    return _readable(source, wanted).pixels[0]


def read_frames(path: str | os.PathLike[str], *, max_side: int | None = None) -> Reading:
    """A picture as `read_picture` gives it; of a video, frames that differ from each other."""
    return _readable(path, Wanted(pixels=True, frames=True, max_side=max_side))


def picture_size(source: str | os.PathLike[str] | bytes) -> tuple[int, int]:
    """Width and height as `read_picture` would give them, without decoding a pixel if it can be.

    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (40, 20)).save(file, "PNG")
    >>> picture_size(file.getvalue())
    (40, 20)
    """
    size = _readable(source, Wanted(size=True)).size
    assert size is not None
    return size


def captions_of(
    path: str | os.PathLike[str], *, problems: list[str] | None = None
) -> list[Caption]:
    """All captions of one picture, at most one for each source.

    Metadata from strangers never raises: what is broken gives no caption, and a line about it is
    appended to ``problems`` where a list is given.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     picture = pathlib.Path(folder, "boat.jpg")
    ...     _ = picture.with_suffix(".txt").write_text("a boat on the sea")
    ...     captions_of(picture)
    [Caption(source='txt', text='a boat on the sea')]
    """
    found = readers().read(path, Wanted(metadata=True)).metadata
    if problems is not None:
        problems.extend(found.problems)
    return found.captions


def _readable(source: str | os.PathLike[str] | bytes, wanted: Wanted) -> Reading:
    reading = readers().read(source, wanted)
    if reading.reason is not None:
        where = "picture in memory" if isinstance(source, bytes) else os.fspath(source)
        raise UnreadablePicture(where, reading.reason)
    return reading

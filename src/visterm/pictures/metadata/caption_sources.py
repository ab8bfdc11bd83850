"""What is written about a picture, in the file or in files beside it: captions, time and place."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from visterm.pictures.decoding import formats
from visterm.pictures.decoding.containers import BrokenContainer
from visterm.pictures.decoding.frames import video_format
from visterm.pictures.decoding.regular_files import Refused, opened
from visterm.pictures.metadata.capture import (
    NOTHING,
    Capture,
    exif_capture,
    xmp_capture,
)
from visterm.pictures.metadata.exif import read_exif, read_exif_tags
from visterm.pictures.metadata.iptc import read_iptc
from visterm.pictures.metadata.metadata_blocks import blocks_of
from visterm.pictures.metadata.sidecars import read_txt_sidecar, read_xmp_sidecar, sidecars_of
from visterm.pictures.metadata.video_header import video_capture
from visterm.pictures.metadata.xmp import CAPTURE, BrokenXMP, read_xmp

__all__ = ["Caption", "Metadata", "captions_of", "metadata_of"]

Values = dict[str, list[str]]


@dataclass(frozen=True)
class Caption:
    """A text about a picture and where it was found.

    ``source`` is ``iptc:``, ``xmp:``, ``xmp-sidecar:`` or ``exif:`` and the name of a field
    (``keywords``, ``caption``, ``title``, ``headline``; ``subject``, ``title``, ``description``;
    ``description``, ``title``, ``subject``, ``keywords``, ``comment``; ``place`` for names of
    places), or ``txt``. ``text`` holds one value a line: each keyword, each language, each line of
    a file.
    """

    source: str
    text: str


@dataclass
class Metadata:
    """All that is written about a picture: captions by source, time and place, and problems."""

    captions: list[Caption] = field(default_factory=list)
    capture: Capture = NOTHING
    recorded: Capture = NOTHING
    """What the header of a video says, by a clock that is not the camera's."""
    problems: list[str] = field(default_factory=list)


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
    found = metadata_of(path)
    if problems is not None:
        problems.extend(found.problems)
    return found.captions


def metadata_of(path: str | os.PathLike[str]) -> Metadata:
    """The captions of one picture, and when and where it was taken.

    A sidecar counts before what the file itself says of time and place: it was written later.
    """
    name = os.fspath(path)
    said: list[str] = []
    found: Values = {}
    inside: list[Capture] = []
    _merge(found, _attempt(partial(_embedded, name, said, inside), name, said))
    beside_it = NOTHING
    for beside in sidecars_of(name, ".xmp"):
        values = _attempt(partial(read_xmp_sidecar, beside), beside, said)
        beside_it |= _without_capture(values)
        _merge(found, values, "xmp-sidecar:")
    for beside in sidecars_of(name, ".txt"):
        _merge(found, _attempt(partial(read_txt_sidecar, beside), beside, said))
    capture = beside_it
    for one in inside:
        capture |= one
    captions = [Caption(source, "\n".join(texts)) for source, texts in found.items()]
    return Metadata(captions, capture, _recorded(name), said)


def _recorded(path: str) -> Capture:
    try:
        with opened(path) as file:
            if video_format(file) == "mov":
                return video_capture(file)
    except (Refused, OSError):
        pass  # whoever decodes it says so
    return NOTHING


def _without_capture(values: Values) -> Capture:
    """Take what says when and where out of the values of a packet."""
    return xmp_capture({name: values.pop(name) for name in CAPTURE if name in values})


def _embedded(path: str, problems: list[str], captures: list[Capture]) -> Values:
    """What the file itself holds; one broken kind of metadata does not cost the others."""
    found: Values = {}
    with opened(path) as file:
        format_ = formats.recognise(file.read(formats.HEAD))
        if format_ is None:
            return {}
        blocks = blocks_of(file, format_)
        _merge(found, read_iptc(blocks.iptc), "iptc:")
        if format_ is formats.TIFF:  # its own tags are its EXIF
            _merge(found, read_exif_tags(file), "exif:")
            captures.append(exif_capture(file))
        elif blocks.exif:
            _merge(found, _attempt(partial(read_exif, blocks.exif), path, problems), "exif:")
            captures.append(exif_capture(blocks.exif))
        if blocks.xmp:
            values = _attempt(partial(read_xmp, blocks.xmp), path, problems)
            captures.append(_without_capture(values))
            _merge(found, values, "xmp:")
    return found


def _merge(found: Values, more: Values, prefix: str = "") -> None:
    for name, texts in more.items():
        found[prefix + name] = list(dict.fromkeys(found.get(prefix + name, []) + texts))


def _attempt(read: Callable[[], Values], where: str, problems: list[str]) -> Values:
    try:
        return read()
    except (Refused, BrokenContainer, BrokenXMP) as problem:
        problems.append(f"{where}: {problem}")
    except OSError as problem:
        problems.append(f"{where}: {problem.strerror or 'it cannot be read'}")
    return {}

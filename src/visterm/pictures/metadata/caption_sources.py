"""What people said about a picture, wherever they keep it: in the file or in files beside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from visterm.pictures.decoding import formats
from visterm.pictures.decoding.containers import BrokenContainer
from visterm.pictures.decoding.regular_files import Refused, opened
from visterm.pictures.metadata.exif import read_exif, read_exif_tags
from visterm.pictures.metadata.iptc import read_iptc
from visterm.pictures.metadata.metadata_blocks import blocks_of
from visterm.pictures.metadata.sidecars import read_txt_sidecar, read_xmp_sidecar, sidecars_of
from visterm.pictures.metadata.xmp import BrokenXMP, read_xmp

__all__ = ["Caption", "captions_of"]

Values = dict[str, list[str]]


@dataclass(frozen=True)
class Caption:
    """A text about a picture and where it was found.

    ``source`` is ``iptc:``, ``xmp:``, ``xmp-sidecar:`` or ``exif:`` and the name of a field
    (``keywords``, ``caption``, ``title``, ``headline``; ``subject``, ``title``, ``description``;
    ``description``, ``title``, ``subject``, ``keywords``, ``comment``), or ``txt``. ``text`` holds
    one value a line: each keyword, each language, each line of a file.
    """

    source: str
    text: str


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
    name = os.fspath(path)
    said: list[str] = []
    found: Values = {}
    _merge(found, _attempt(partial(_embedded, name, said), name, said))
    for beside in sidecars_of(name, ".xmp"):
        values = _attempt(partial(read_xmp_sidecar, beside), beside, said)
        _merge(found, values, "xmp-sidecar:")
    for beside in sidecars_of(name, ".txt"):
        _merge(found, _attempt(partial(read_txt_sidecar, beside), beside, said))
    if problems is not None:
        problems.extend(said)
    return [Caption(source, "\n".join(texts)) for source, texts in found.items()]


def _embedded(path: str, problems: list[str]) -> Values:
    """What the file itself holds; one broken kind of metadata does not cost the others."""
    found: Values = {}
    with opened(path) as file:
        format_ = formats.recognise(file.read(formats.HEAD))
        if format_ is None:
            return {}
        blocks = blocks_of(file, format_)
        _merge(found, read_iptc(blocks.iptc), "iptc:")
        if blocks.xmp:
            _merge(found, _attempt(partial(read_xmp, blocks.xmp), path, problems), "xmp:")
        if format_ is formats.TIFF:  # its own tags are its EXIF
            _merge(found, read_exif_tags(file), "exif:")
        elif blocks.exif:
            _merge(found, _attempt(partial(read_exif, blocks.exif), path, problems), "exif:")
    return found


def _merge(found: Values, more: Values, prefix: str = "") -> None:
    for field, texts in more.items():
        found[prefix + field] = list(dict.fromkeys(found.get(prefix + field, []) + texts))


def _attempt(read: Callable[[], Values], where: str, problems: list[str]) -> Values:
    try:
        return read()
    except (Refused, BrokenContainer, BrokenXMP) as problem:
        problems.append(f"{where}: {problem}")
    except OSError as problem:
        problems.append(f"{where}: {problem.strerror or 'it cannot be read'}")
    return {}

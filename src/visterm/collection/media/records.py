"""Pictures by number: their files, the hash of their content, and what front ends show of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from visterm.collection.media import captions
from visterm.collection.media.fields import ID, Value
from visterm.collection.store.caption_words import effective_caption
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import Url, is_url
from visterm.errors import BadInput
from visterm.quick_dataclass import dataclass

_EPOCH = datetime(1970, 1, 1)


class UnknownPicture(BadInput):
    """No picture has this number, or its files have gone."""


@dataclass(frozen=True)
class PictureFile:
    """A file that holds a picture, with what it was like when the picture was read."""

    path: str
    """Below the collection's folder, with slashes, or a URL."""
    size: int
    mtime_ns: int
    offset: int | None = None
    """Where its bytes begin in its shard."""

    def at(self, root: Path) -> Path | Url:
        """Its whole path, or its URL."""
        return file_at(root, self.path)


@dataclass(frozen=True)
class PictureRecord:
    """A picture as the catalogue knows it: its number, the hash of its content, and its files.

    A frame of a video has the files of the video, and a hash of its own.
    """

    picture: int
    digest: str
    files: tuple[PictureFile, ...]
    second: float | None = None
    """When a frame is shown."""
    pixels: tuple[int, int] | None = None
    """Width and height, upright; None where they were not read yet."""


@dataclass(frozen=True)
class Picture:
    """A picture, with what is known about it."""

    __pydantic_config__: ClassVar = {"use_attribute_docstrings": True}

    picture: int
    """Its number, for as long as the collection exists."""
    path: str
    """Its file, below the collection's folder, or its URL."""
    also: list[str]
    """Other files with the same content."""
    caption: str | None
    """What people said about it."""
    width: int | None
    """Pixels, upright; null where the file cannot be read."""
    height: int | None
    thumbnail: str
    """Address of a small JPEG on the server; add &side= for other sizes."""
    frame_time: float | None
    """Of a video, when the frame of the thumbnail is shown, in seconds."""
    taken: str | None
    """When it was taken, by the camera's clock."""
    taken_from: str | None
    """How that is known: exif, xmp, name, video or file."""
    latitude: float | None
    longitude: float | None
    type: str
    """picture, raw or video."""
    id: str | None
    """What a program calls it."""
    fields: dict[str, Value]
    """What a program keeps with it, under names of its own."""


def records(catalogue: Catalogue, pictures: Iterable[int]) -> dict[int, PictureRecord]:
    """The records of those of the pictures that have a file, by number."""
    by_picture: dict[int, tuple[tuple[Any, ...], list[PictureFile]]] = {}
    question = """SELECT pictures.id, hex(hash), second, width, height, folder, name,
            places.size, mtime_ns, offset
        FROM pictures JOIN places ON places.picture = coalesce(video, pictures.id)
        WHERE NOT vanished AND pictures.id IN {numbers} ORDER BY folder, name"""
    rows = catalogue.among(question, list(dict.fromkeys(pictures)))
    for picture, digest, second, width, height, folder, name, *facts in rows:
        path = f"{folder}/{name}" if folder else name
        about = digest.lower(), second, None if width is None else (width, height)
        by_picture.setdefault(picture, (about, []))[1].append(PictureFile(path, *facts))
    return {
        picture: PictureRecord(picture, digest, tuple(files), second, pixels)
        for picture, ((digest, second, pixels), files) in by_picture.items()
    }


def record(catalogue: Catalogue, picture: int) -> PictureRecord:
    """The record of one picture."""
    known = records(catalogue, [picture]).get(picture)
    if known is None:
        raise UnknownPicture(
            f"there is no picture {picture}; it may have been moved away or removed since"
        )
    return known


def number_of(catalogue: Catalogue, root: Path, picture: int | str | os.PathLike[str]) -> int:
    """The number of a picture, by its number, by that of a frame of it, or by one of its files."""
    if not isinstance(picture, int):
        return captions.find_picture(catalogue, root, picture)
    record(catalogue, picture)  # or say that it has gone
    video = catalogue.one("SELECT video FROM pictures WHERE id = ?", picture)
    return picture if video is None else int(video)


def located(
    catalogue: Catalogue, root: Path, ids: Sequence[int]
) -> dict[int, tuple[Path | Url, ...]]:
    """Where pictures lie now, by name."""
    return {
        picture: tuple(file.at(root) for file in record.files)
        for picture, record in records(catalogue, ids).items()
    }


def file_at(root: Path, path: str) -> Path | Url:
    """A file below the collection's folder, or its URL."""
    folder, _, name = path.rpartition("/")
    inside = _folder_at(root, folder)
    return Url(path) if inside is None else inside / name


@lru_cache(maxsize=4096)
def _folder_at(root: Path, folder: str) -> Path | None:
    """The path of a folder, None for a URL; reading it takes longer than ranking its pictures."""
    return None if is_url(folder) else root / folder


def newest(catalogue: Catalogue, k: int, *, offset: int = 0) -> list[int]:
    """Numbers of pictures, those taken last first; those of unknown time, last added first, follow.

    The time of a file is that of a copy or scan, so it counts as unknown.
    """
    question = """SELECT id FROM pictures WHERE present > 0
        ORDER BY CASE WHEN taken_from != 'file' THEN taken END DESC NULLS LAST, id DESC
        LIMIT ? OFFSET ?"""
    return [picture for (picture,) in catalogue.db.execute(question, (k, offset))]


_SHOWN = """SELECT json_group_array(json_array(
        id, lower(hex(substr(hash, 1, 8))), second, width, height, taken, taken_from, latitude,
        longitude, kind,
        json((SELECT json_group_array(json_array(folder, name)) FROM places
            WHERE picture = coalesce(video, pictures.id) AND NOT vanished)),
        json((SELECT json_group_object(source, text) FROM captions WHERE picture = pictures.id)),
        json((SELECT json_group_object(name, json(json)) FROM fields WHERE picture = pictures.id))))
    FROM pictures WHERE id IN {numbers}"""
"""One row for all: between rows Python lets other threads in, and then waits for its turn again."""


def pictures(
    catalogue: Catalogue,
    numbers: Sequence[int],
    frames: Mapping[int, int] | None = None,
    folders: Sequence[str] = (),
) -> dict[int, Picture]:
    """Those of the pictures that are there, by number, in the order asked for.

    ``frames`` are the frames that stand for videos, if others than the most usual ones. Of files
    with the same content, those in ``folders`` come first, then by name.
    """
    frames = frames or {}
    asked = list(dict.fromkeys((*numbers, *(frames[one] for one in numbers if one in frames))))
    known = {
        number: facts
        for (rows,) in catalogue.among(_SHOWN, asked)
        for number, *facts in json.loads(rows)
    }
    address = "/api/v1" if catalogue.shared is None else catalogue.shared.address
    shown = {}
    for number in dict.fromkeys(numbers):
        _, _, width, height, *capture, kind, files, texts, own = known.get(number, _GONE)
        if not files:
            continue
        if len(files) > 1:
            files.sort(key=lambda file: (not _is_in(folders, file[0]), *file))
        path, *also = (f"{folder}/{name}" if folder else name for folder, name in files)
        still = frames.get(number, number)
        tag, second = known.get(still, known[number])[:2]
        seconds, source, latitude, longitude = capture
        shown[number] = Picture(
            number,
            path,
            also,
            effective_caption(texts) if texts else None,
            width,
            height,
            f"{address}/pictures/{still}/thumbnail?v={tag}",
            second,
            None if seconds is None else (_EPOCH + timedelta(seconds=seconds)).isoformat(),
            source or None,
            latitude,
            longitude,
            kind or "picture",
            own.pop(ID, None),
            own,
        )
    return shown


_GONE = (None,) * 12


def _is_in(folders: Sequence[str], folder: str) -> bool:
    return any(f"/{one}/".lower() in f"/{folder}/".lower() for one in folders)


def names_content(record: PictureRecord, tag: str | None) -> bool:
    """Whether an address of a thumbnail was made for this very content: it has a piece of the hash,
    so that a browser may keep what it got for ever."""
    return tag == record.digest[:16]

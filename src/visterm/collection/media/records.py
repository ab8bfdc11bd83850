"""Pictures by number: their files, the hash of their content, and what front ends show of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from visterm.collection.media import captions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import Url, is_url
from visterm.errors import BadInput

_EPOCH = datetime(1970, 1, 1)
_TAG = 16
"""Letters of the hash in the address of a thumbnail."""


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
        return Url(self.path) if is_url(self.path) else root / self.path


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


def captures(catalogue: Catalogue, pictures: Sequence[int]) -> dict[int, dict[str, Any]]:
    """When and where pictures were taken, by number, with the keys that every front end shows.

    ``taken_from`` says how the time is known: exif, xmp, name, video (its header) or file.
    """
    question = """SELECT id, taken, taken_from, latitude, longitude, kind FROM pictures
        WHERE id IN {numbers}"""
    return {picture: captured(*facts) for picture, *facts in catalogue.among(question, pictures)}


def captured(
    seconds: int | None,
    source: str | None,
    latitude: float | None,
    longitude: float | None,
    kind: str | None,
) -> dict[str, Any]:
    """What `captures` has of a picture, from the columns of its table."""
    return {
        "taken": None if seconds is None else (_EPOCH + timedelta(seconds=seconds)).isoformat(),
        "taken_from": source or None,
        "latitude": latitude,
        "longitude": longitude,
        "type": kind or "picture",
    }


def records(catalogue: Catalogue, pictures: Iterable[int]) -> dict[int, PictureRecord]:
    """The records of those of the pictures that have a file, by number."""
    found: dict[int, tuple[tuple[Any, ...], list[PictureFile]]] = {}
    question = """SELECT pictures.id, hex(hash), second, width, height, folder, name,
            places.size, mtime_ns, offset
        FROM pictures JOIN places ON places.picture = coalesce(video, pictures.id)
        WHERE NOT vanished AND pictures.id IN {numbers} ORDER BY folder, name"""
    rows = catalogue.among(question, list(dict.fromkeys(pictures)))
    for picture, digest, second, width, height, folder, name, *facts in rows:
        path = f"{folder}/{name}" if folder else name
        about = digest.lower(), second, None if width is None else (width, height)
        found.setdefault(picture, (about, []))[1].append(PictureFile(path, *facts))
    return {
        picture: PictureRecord(picture, digest, tuple(files), second, pixels)
        for picture, ((digest, second, pixels), files) in found.items()
    }


def frame_seconds(catalogue: Catalogue, rows: Sequence[int]) -> dict[int, float]:
    """When frames of videos are shown, by number; pictures have no time."""
    question = "SELECT id, second FROM pictures WHERE second IS NOT NULL AND id IN {numbers}"
    return dict(catalogue.among(question, rows))


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
    places: dict[int, list[tuple[str, str]]] = {}
    question = (
        "SELECT picture, folder, name FROM places WHERE NOT vanished AND picture IN {numbers}"
    )
    for picture, folder, name in catalogue.among(question, ids):
        places.setdefault(picture, []).append((folder, name))
    return {
        picture: tuple(file_at(root, folder, name) for folder, name in sorted(found))
        for picture, found in places.items()
    }


def file_at(root: Path, folder: str, name: str) -> Path | Url:
    """The file of a name in a folder below the collection's, or its URL."""
    return Url(f"{folder}/{name}") if is_url(folder) else _folder_at(root, folder) / name


@lru_cache(maxsize=4096)
def _folder_at(root: Path, folder: str) -> Path:
    """Remembered, as reading a path takes longer than ranking its pictures."""
    return root / folder


def newest(catalogue: Catalogue, k: int, *, offset: int = 0) -> list[int]:
    """Numbers of pictures, those taken last first; those of unknown time, last added first, follow.

    The time of a file is that of a copy or scan, so it counts as unknown.
    """
    question = """SELECT id FROM pictures WHERE present > 0
        ORDER BY CASE WHEN taken_from != 'file' THEN taken END DESC NULLS LAST, id DESC
        LIMIT ? OFFSET ?"""
    return [picture for (picture,) in catalogue.db.execute(question, (k, offset))]


def pictures(
    catalogue: Catalogue, numbers: Sequence[int], frames: Mapping[int, int] | None = None
) -> dict[int, Picture]:
    """Those of the pictures that are there, by number, in the order asked for.

    ``frames`` are the frames that stand for videos, if others than the most usual ones.
    """
    known = records(catalogue, numbers)
    frame_of = {number: (frames or {}).get(number, number) for number in known}
    others = records(catalogue, [frame for number, frame in frame_of.items() if frame != number])
    texts = captions.effective_captions(catalogue, list(known))
    taken = captures(catalogue, list(known))
    shown = {}
    for number in dict.fromkeys(numbers):
        if number not in known:
            continue
        still = others.get(frame_of[number], known[number])
        path, *also = (file.path for file in known[number].files)
        width, height = known[number].pixels or (None, None)
        shown[number] = Picture(
            number,
            path,
            also,
            texts.get(number),
            width,
            height,
            thumbnail_address(still),
            still.second,
            **taken[number],
        )
    return shown


def thumbnail_address(record: PictureRecord) -> str:
    """With a piece of the hash, so that a browser may keep what it got for ever."""
    return f"/api/v1/pictures/{record.picture}/thumbnail?v={record.digest[:_TAG]}"


def names_content(record: PictureRecord, tag: str | None) -> bool:
    """Whether an address was made by `thumbnail_address` for this very content."""
    return tag == record.digest[:_TAG]

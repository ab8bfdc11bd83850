"""Picture records: the files of a picture and the hash of its content, by number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import Url, is_url
from visterm.errors import BadInput

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


def captures(catalogue: Catalogue, pictures: Sequence[int]) -> dict[int, dict[str, Any]]:
    """When and where pictures were taken, by number, with the keys that every front end shows.

    ``taken_from`` says how the time is known: exif, xmp, name, video (its header) or file.
    """
    question = """SELECT id, taken, taken_from, latitude, longitude, kind FROM pictures
        WHERE id IN {numbers}"""
    return {
        picture: {
            "taken": None if seconds is None else (_EPOCH + timedelta(seconds=seconds)).isoformat(),
            "taken_from": source or None,
            "latitude": latitude,
            "longitude": longitude,
            "type": kind or "picture",
        }
        for picture, seconds, source, latitude, longitude, kind in catalogue.among(
            question, pictures
        )
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
    found = records(catalogue, [picture]).get(picture)
    if found is None:
        raise UnknownPicture(
            f"there is no picture {picture}; it may have been moved away or removed since"
        )
    return found


def located(
    catalogue: Catalogue, root: Path, ids: list[int], folders: tuple[str, ...] = ()
) -> dict[int, tuple[Path | Url, ...]]:
    """Where pictures lie now: files in the asked-for folders first, then by name."""
    places: dict[int, list[tuple[bool, str, str]]] = {}
    question = (
        "SELECT picture, folder, name FROM places WHERE NOT vanished AND picture IN {numbers}"
    )
    for picture, folder, name in catalogue.among(question, ids):
        away = not any(f"/{one}/".lower() in f"/{folder}/".lower() for one in folders)
        places.setdefault(picture, []).append((away, folder, name))
    return {
        picture: tuple(
            Url(f"{folder}/{name}") if is_url(folder) else Path(root, folder, name)
            for _, folder, name in sorted(found)
        )
        for picture, found in places.items()
    }


def newest(catalogue: Catalogue, k: int, *, offset: int = 0) -> list[int]:
    """Numbers of pictures, those taken last first; those of unknown time, last added first, follow.

    The time of a file is that of a copy or scan, so it counts as unknown.
    """
    question = """SELECT id FROM pictures WHERE present > 0
        ORDER BY CASE WHEN taken_from != 'file' THEN taken END DESC NULLS LAST, id DESC
        LIMIT ? OFFSET ?"""
    return [picture for (picture,) in catalogue.db.execute(question, (k, offset))]

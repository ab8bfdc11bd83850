"""Pictures as front ends show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from visterm.collection.media import captions
from visterm.collection.media.records import PictureRecord, captures, records
from visterm.collection.store.catalogue import Catalogue

_TAG = 16
"""Letters of the hash in the address of a thumbnail."""


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

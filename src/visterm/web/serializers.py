"""The fields with which the API shows pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from visterm.collection import Collection, PictureRecord, ScoreParts, SearchResult

_TAG = 16


def picture_fields(
    collection: Collection, pictures: Iterable[int], frames: dict[int, int] | None = None
) -> dict[int, dict[str, Any]]:
    """The fields of `schemas.Picture` for those of the pictures that are there.

    ``frames`` are the frames that stand for videos, if others than the most usual ones.
    """
    found = collection.records(pictures)
    shown = {number: (frames or {}).get(number, number) for number in found}
    others = collection.records([one for number, one in shown.items() if one != number])
    stills = {number: others.get(one, found[number]) for number, one in shown.items()}
    sizes = collection.thumbnails.sizes(found.values())
    captions = collection.effective_captions(list(found))
    taken = collection.captures(list(found))
    return {
        number: {
            "picture": number,
            "path": _printable(record.files[0].path),
            "also": [_printable(file.path) for file in record.files[1:]],
            "caption": captions.get(number),
            "width": sizes.get(number, (None, None))[0],
            "height": sizes.get(number, (None, None))[1],
            "thumbnail": thumbnail_address(stills[number]),
            "frame_time": stills[number].second,
            **taken[number].fields(),
        }
        for number, record in found.items()
    }


def found_fields(
    collection: Collection, results: Sequence[SearchResult]
) -> dict[int, dict[str, Any]]:
    """The same for what a search found: videos are shown by the frame that answers."""
    frames = {one.picture: one.frame for one in results if one.frame is not None}
    return picture_fields(collection, [one.picture for one in results], frames)


def evidence_fields(parts: ScoreParts | None) -> dict[str, Any] | None:
    """The fields of `schemas.Evidence`."""
    return None if parts is None else parts.fields()


def thumbnail_address(record: PictureRecord) -> str:
    """With a piece of the hash, so that a browser may keep what it got for ever."""
    return f"/api/v1/pictures/{record.picture}/thumbnail?v={record.digest[:_TAG]}"


def names_content(record: PictureRecord, given: str | None) -> bool:
    """Whether an address was made by `thumbnail_address` for this very content."""
    return given == record.digest[:_TAG]


def _printable(path: str) -> str:
    """A file's name may hold bytes that no encoding can write."""
    return path.encode("utf-8", errors="replace").decode()

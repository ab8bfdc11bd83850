"""The fields with which the API shows pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from visterm.collection import Collection, PictureRecord, ScoreParts

_TAG = 16


def picture_fields(collection: Collection, pictures: Iterable[int]) -> dict[int, dict[str, Any]]:
    """The fields of `schemas.Picture` for those of the pictures that are there."""
    found = collection.records(pictures)
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
            "thumbnail": thumbnail_address(record),
            **taken[number].fields(),
        }
        for number, record in found.items()
    }


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

"""From numbers of pictures to what a page needs to show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from visterm.collection.captions import PERSON
from visterm.collection.catalogue import Catalogue
from visterm.collection.looking import Card, cards
from visterm.web.readers import Desk

_TAG = 16


def seen(desk: Desk, pictures: Iterable[int]) -> dict[int, dict[str, Any]]:
    """The fields of `answers.Seen` for those of the pictures that are there."""
    found = cards(desk.collection.catalogue, pictures)
    sizes = desk.thumbnails.sizes(found.values())
    said = _captions(desk.collection.catalogue, list(found))
    return {
        number: {
            "picture": number,
            "path": _shown(card.places[0].path),
            "also": [_shown(place.path) for place in card.places[1:]],
            "caption": said.get(number),
            "width": sizes.get(number, (None, None))[0],
            "height": sizes.get(number, (None, None))[1],
            "thumbnail": thumbnail_address(card),
        }
        for number, card in found.items()
    }


def thumbnail_address(card: Card) -> str:
    """With a piece of the hash, so that a browser may keep what it got for ever."""
    return f"/api/v1/pictures/{card.picture}/thumbnail?v={card.digest[:_TAG]}"


def names_content(card: Card, given: str | None) -> bool:
    """Whether an address was made by `thumbnail_address` for this very content."""
    return given == card.digest[:_TAG]


def heard(captions: Mapping[str, str]) -> str | None:
    """What is learnt from: a person's own words, or else all others."""
    if PERSON in captions:
        return captions[PERSON]
    return "\n".join(captions.values()) or None


def _captions(catalogue: Catalogue, pictures: list[int]) -> dict[int, str]:
    found: dict[int, dict[str, str]] = {}
    marks = ",".join("?" * len(pictures))
    for picture, source, text in catalogue.db.execute(
        f"SELECT picture, source, text FROM captions WHERE picture IN ({marks}) ORDER BY source",
        pictures,
    ):
        found.setdefault(picture, {})[source] = text
    return {picture: heard(texts) or "" for picture, texts in found.items()}


def _shown(path: str) -> str:
    """A file's name may hold bytes that no encoding can write."""
    return path.encode("utf-8", errors="replace").decode()

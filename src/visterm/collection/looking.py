"""Looking at pictures one by one: their files and captions by number, page after page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from visterm.collection import captions
from visterm.collection.catalogue import Catalogue
from visterm.errors import BadInput


class UnknownPicture(BadInput):
    """No picture has this number, or its files have gone."""


@dataclass(frozen=True)
class Place:
    """A file that holds a picture, with what it was like when the picture was read."""

    path: str
    """Below the collection's folder, with slashes."""
    size: int
    mtime_ns: int

    def at(self, root: Path) -> Path:
        return root / self.path


@dataclass(frozen=True)
class Card:
    """A picture as a catalogue card: its number, the hash of its content, and its files."""

    picture: int
    digest: str
    places: tuple[Place, ...]


def cards(catalogue: Catalogue, pictures: Iterable[int]) -> dict[int, Card]:
    """The cards of those of the pictures that have a file, by number."""
    wanted = list(dict.fromkeys(pictures))
    found: dict[int, tuple[str, list[Place]]] = {}
    for first in range(0, len(wanted), 500):
        some = wanted[first : first + 500]
        marks = ",".join("?" * len(some))
        for picture, digest, folder, name, size, mtime in catalogue.db.execute(
            f"""SELECT picture, hex(hash), folder, name, size, mtime_ns FROM places
                JOIN pictures ON pictures.id = picture
                WHERE NOT vanished AND picture IN ({marks}) ORDER BY folder, name""",
            some,
        ):
            path = f"{folder}/{name}" if folder else name
            card = found.setdefault(picture, (digest.lower(), []))
            card[1].append(Place(path, size, mtime))
    return {
        picture: Card(picture, digest, tuple(places)) for picture, (digest, places) in found.items()
    }


def card(catalogue: Catalogue, picture: int) -> Card:
    """The card of one picture."""
    found = cards(catalogue, [picture]).get(picture)
    if found is None:
        raise UnknownPicture(
            f"there is no picture {picture}; it may have been moved away or removed since"
        )
    return found


def captions_of(catalogue: Catalogue, picture: int) -> dict[str, str]:
    """All captions of a picture by source."""
    card(catalogue, picture)
    return captions.of_picture(catalogue, picture)


def caption(catalogue: Catalogue, picture: int, text: str) -> dict[str, str]:
    """Say what is to be seen in a picture, as `Collection.caption`; returns all its captions."""
    with catalogue.writing("captioning"):
        card(catalogue, picture)
        with catalogue.transaction():
            captions.give(catalogue, picture, captions.PERSON, text)
    return captions.of_picture(catalogue, picture)


def newest(catalogue: Catalogue, k: int, *, offset: int = 0) -> list[int]:
    """Numbers of pictures, those that came last first."""
    return [
        picture
        for (picture,) in catalogue.db.execute(
            "SELECT id FROM pictures WHERE present > 0 ORDER BY id DESC LIMIT ? OFFSET ?",
            (k, offset),
        )
    ]

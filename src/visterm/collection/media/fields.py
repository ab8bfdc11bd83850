"""What programs keep with a picture: fields of their own, and the id by which they know it.

A field is a name and a string, a number, or true or false; dates are strings such as 2026-05-01.
The id is the field ``id``, which no two pictures share.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput
from visterm.text.filters import FIELD

Value: TypeAlias = str | float | bool
Fields: TypeAlias = Mapping[str, Value]
ID = "id"
FIELD_NAME = FIELD.pattern.removeprefix(r"field\.")
MOST_FIELDS = 64
LONGEST_FIELD = 1000
_LARGEST = 1e300


def check(fields: Fields | None, own_id: str | None = None) -> None:
    """Refuse names and values that cannot be kept.

    >>> check({"price": 12.5}, "4711")
    >>> check({"id": "4711"})
    Traceback (most recent call last):
    visterm.errors.BadInput: an id is no field; give it beside the fields
    >>> check({"price": 1, "Price": 2})
    Traceback (most recent call last):
    visterm.errors.BadInput: two fields differ only in capitals; give one another name
    """
    fields = fields or {}
    if len(fields) > MOST_FIELDS:
        raise BadInput(f"a picture has at most {MOST_FIELDS} fields, not {len(fields)}")
    names = {name.lower() for name in fields}
    if ID in names:
        raise BadInput("an id is no field; give it beside the fields")
    if len(names) < len(fields):
        raise BadInput("two fields differ only in capitals; give one another name")
    for name, value in {**fields, ID: own_id or ""}.items():
        if not re.fullmatch(FIELD_NAME, name):
            raise BadInput(f"a field is called by letters, digits, _ and -, not {name[:80]!r}")
        if isinstance(value, str):
            if len(value) > LONGEST_FIELD or any(ord(letter) < 32 for letter in value):
                raise BadInput(f"{name} is one line of at most {LONGEST_FIELD} characters")
        elif not isinstance(value, (bool, int, float)) or not abs(value) < _LARGEST:
            raise BadInput(f"{name} is a string, a number, true or false")


def changed(
    catalogue: Catalogue, picture: int, fields: Fields | None, own_id: str | None
) -> dict[str, Value]:
    """The fields of a picture with others in their place, or another id, where these are given."""
    known = of_picture(catalogue, picture)
    known_id = known.pop(ID, "") if own_id is None else own_id
    return {**(known if fields is None else fields), ID: known_id}


def of_picture(catalogue: Catalogue, picture: int) -> dict[str, Value]:
    """All fields of a picture, its id among them."""
    rows = catalogue.db.execute("SELECT name, json FROM fields WHERE picture = ?", (picture,))
    return {name: json.loads(value) for name, value in rows}


def check_other_id(catalogue: Catalogue, path: str, data: bytes, own_id: str) -> None:
    """Refuse an id for bytes that also lie at another path, under another id."""
    known = catalogue.one(
        """SELECT value FROM pictures
            JOIN fields ON fields.picture = pictures.id AND fields.name = 'id'
            JOIN places ON places.picture = pictures.id AND NOT vanished
            WHERE hash = ? AND value != ? AND ltrim(folder || '/' || places.name, '/') != ?""",
        *(hashlib.sha256(data).digest(), own_id, path),
    )
    if known is not None:
        raise BadInput(
            f"this very file is here under the id {known!r}: files of the same bytes are one "
            "picture, with one id; find it by that, or give it another"
        )


def with_id(catalogue: Catalogue, own_id: str) -> int | None:
    """The picture that is there under an id; None where there is none."""
    found = catalogue.one(
        """SELECT picture FROM fields JOIN pictures ON pictures.id = picture
            WHERE name = 'id' AND value = ? AND present > 0""",
        own_id,
    )
    return None if found is None else int(found)


def give(catalogue: Catalogue, picture: int, fields: Fields) -> list[tuple[int, dict[str, Value]]]:
    """Let a picture have these fields and no others, inside a transaction.

    An id that another picture has is its own no more, and an empty one is none. Returns what was
    changed as it was, by picture.
    """
    wanted = {name: value for name, value in fields.items() if (name, value) != (ID, "")}
    old = of_picture(catalogue, picture)
    if wanted == old and list(map(type, wanted.values())) == list(map(type, old.values())):
        return []
    before = [(picture, old)]
    others = catalogue.db.execute(
        "SELECT picture FROM fields WHERE name = 'id' AND value = ? AND picture != ?",
        (wanted.get(ID), picture),
    )
    for (other,) in others.fetchall():
        before.append((other, of_picture(catalogue, other)))
        catalogue.db.execute("DELETE FROM fields WHERE picture = ? AND name = 'id'", (other,))
    _write(catalogue, picture, wanted.items())
    return before


def inherit(catalogue: Catalogue, old: int, new: int) -> None:
    """A file was replaced: its fields are those of the new content, inside a transaction."""
    kept = of_picture(catalogue, old)
    if kept:
        give(catalogue, new, kept)
        _write(catalogue, old, ())


def _write(catalogue: Catalogue, picture: int, fields: Iterable[tuple[str, Value]]) -> None:
    catalogue.db.execute("DELETE FROM fields WHERE picture = ?", (picture,))
    catalogue.db.executemany(
        "INSERT INTO fields (picture, name, json) VALUES (?, ?, ?)",
        ((picture, name, json.dumps(value, ensure_ascii=False)) for name, value in fields),
    )

"""Captions in the catalogue, by source; a person's own count before all others."""

from __future__ import annotations

import contextlib
import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from visterm.collection.store.caption_words import (
    FOLDER,
    NAMES,
    OCR,
    PERSON,
    SOURCES,
    checked_names,
    effective_caption,
)
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.location import below
from visterm.collection.store.urls import is_url
from visterm.errors import BadInput
from visterm.quick_dataclass import dataclass

TABLE = "table"
GIVEN = (PERSON, TABLE)  # the sources that no reading of files may overwrite
PRESENT = "captions.picture IN (SELECT id FROM pictures WHERE present > 0)"
"""The condition on ``captions`` under which one counts: its picture has not vanished."""


@dataclass
class Imported:
    """What an import from a table did."""

    pictures: int = 0
    unknown: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list, repr=False)
    """The pictures that got captions."""
    unread: list[str] = field(default_factory=list)
    """Columns of the table that nothing was read from."""


def give(catalogue: Catalogue, picture: int, source: str, text: str) -> None:
    """Set one caption, inside a transaction; an empty text takes it away."""
    known = "SELECT text FROM captions WHERE picture = ? AND source = ?"
    if (catalogue.one(known, picture, source) or "") == text.strip():
        return  # what is said again is no change
    if text.strip():
        catalogue.db.execute(
            "INSERT OR REPLACE INTO captions VALUES (?, ?, ?)", (picture, source, text.strip())
        )
    else:
        catalogue.db.execute(
            "DELETE FROM captions WHERE picture = ? AND source = ?", (picture, source)
        )


def keep_read(
    catalogue: Catalogue, picture: int, captions: Iterable[tuple[str, str]], *, all_there_is: bool
) -> None:
    """Store what was read from a picture's file and from beside it, inside a transaction.

    ``all_there_is`` lets go of what was read before: not so where the picture also lies elsewhere,
    perhaps with other words beside it, or has just been moved without them.
    """
    if all_there_is:
        catalogue.db.execute(
            "DELETE FROM captions WHERE picture = ? AND source NOT IN (?, ?)", (picture, *GIVEN)
        )
    for source, text in captions:
        give(catalogue, picture, source, text)


def any_there(catalogue: Catalogue) -> bool:
    """Whether some picture that is there has a caption."""
    return catalogue.one(f"SELECT 1 FROM captions WHERE {PRESENT} LIMIT 1") is not None


def fingerprint(catalogue: Catalogue) -> str:
    """What captions there are to learn from: another text for others, as good as always."""
    count, length = catalogue.db.execute(
        f"SELECT count(*), total(length(text)) FROM captions WHERE {PRESENT}"
    ).fetchone()
    bare = catalogue.one(
        """SELECT 1 FROM pictures WHERE present > 0
            AND id NOT IN (SELECT picture FROM captions) LIMIT 1"""
    )
    folders = catalogue.get("folders") or "no"
    return f"{count} {length:.0f} {'some' if bare else 'all'} {folders}"


def inherit(catalogue: Catalogue, old: int, new: int) -> None:
    """A file was changed in its place: what people gave its old content belongs to the new.

    Editing a picture, or writing keywords into it, makes other bytes of what is the same picture
    to its owner.
    """
    db = catalogue.db
    db.execute(
        """INSERT OR IGNORE INTO captions SELECT ?, source, text FROM captions
            WHERE picture = ? AND source IN (?, ?)""",
        (new, old, *GIVEN),
    )
    db.execute(
        """INSERT OR IGNORE INTO feedback (query, picture, answer, time, step)
            SELECT query, ?, answer, time, step FROM feedback WHERE picture = ?""",
        (new, old),
    )


def text_in(catalogue: Catalogue, picture: int) -> dict[str, str]:
    """What is to be read in a picture, as one more source beside its captions."""
    text = catalogue.one("SELECT ocr FROM pictures WHERE id = ?", picture)
    return {OCR: text} if text else {}


def of_picture(catalogue: Catalogue, picture: int) -> dict[str, str]:
    """All captions of one picture by source."""
    return dict(
        catalogue.db.execute(
            "SELECT source, text FROM captions WHERE picture = ? ORDER BY source", (picture,)
        )
    )


def effective_captions(catalogue: Catalogue, pictures: Sequence[int]) -> dict[int, str]:
    """The effective captions of those of the pictures that have any."""
    texts: dict[int, dict[str, str]] = {}
    question = "SELECT picture, source, text FROM captions WHERE picture IN {numbers} ORDER BY 1, 2"
    for picture, source, text in catalogue.among(question, pictures):
        texts.setdefault(picture, {})[source] = text
    return {picture: effective_caption(by_source) for picture, by_source in texts.items()}


def to_learn_from(catalogue: Catalogue, extractor: str) -> Iterator[tuple[int, bytes, str]]:
    """Id, content hash and text of every picture that has words and a vector, by id.

    A person's own caption stands alone; otherwise every source counts. With the setting
    ``folders`` the names of a picture's folders are words to learn, too.
    """
    from visterm.pictures.texts import folder_words

    question = """
        SELECT pictures.id, hash, source, text FROM pictures
        JOIN rows ON rows.picture = pictures.id AND rows.extractor = ?
        JOIN captions ON captions.picture = pictures.id
        WHERE present > 0"""
    values = [extractor]
    if catalogue.get("folders") == "yes":
        question += """
        UNION ALL SELECT pictures.id, hash, 'folders', folder FROM pictures
        JOIN rows ON rows.picture = pictures.id AND rows.extractor = ?
        JOIN places ON places.picture = pictures.id
        WHERE NOT vanished AND folder != ''"""
        values.append(extractor)
    captions = catalogue.db.execute(question + " ORDER BY 1, 3", values)
    for (picture, digest), rows in groupby(captions, itemgetter(0, 1)):
        texts: dict[str, str] = {}
        for _, _, source, text in rows:
            words = " ".join(folder_words(text)) if source == "folders" else text
            if words:
                texts[source] = f"{texts[source]}\n{words}" if source in texts else words
        if texts:
            yield picture, digest, effective_caption(texts)


def let_count(
    catalogue: Catalogue, names: str | None, folders: bool | None, ocr: bool | None
) -> None:
    """Change what counts beside captions, as ``Collection.add`` takes it; None leaves it as it is.

    The caller holds the lock.
    """
    if ocr is not None:
        with catalogue.transaction() as db:
            catalogue.set(OCR, "yes" if ocr else None)
            if not ocr:
                db.execute("UPDATE pictures SET ocr = NULL WHERE ocr IS NOT NULL")
    if names is None and folders is None:
        return
    now = (catalogue.get(NAMES) or "none") if names is None else checked_names(names)
    kept = set(SOURCES[now])
    if folders is False and names is not None and FOLDER in kept:
        raise BadInput(f"names of {names} count, or folders do not; leave one of the two out")
    if folders is not None:
        kept = kept | {FOLDER} if folders else kept - {FOLDER}
    value = next(name for name, sources in SOURCES.items() if set(sources) == kept)
    learns = FOLDER in kept and (folders or catalogue.get("folders") == "yes")
    with catalogue.transaction():
        catalogue.set(NAMES, None if value == "none" else value)
        catalogue.set("folders", "yes" if learns else None)


def read_table(catalogue: Catalogue, root: Path, table: Path) -> tuple[Imported, dict[int, str]]:
    """Captions by picture, from a table of paths and texts.

    Paths count from the table's folder or from the collection's; a bare name will do where only
    one picture has it. A picture that stands in several rows gets the words of them all.
    """
    from visterm.pictures.caption_table import read_caption_table

    texts_of: dict[int, list[str]] = {}
    report, unread = Imported(), set[str]()
    for path, text in read_caption_table(table, unread=unread):
        picture = _named(catalogue, root, table.parent, path)
        if picture is None:
            report.unknown.append(path)
        elif text not in texts_of.setdefault(picture, []):
            texts_of[picture].append(text)
    report.pictures, report.numbers, report.unread = len(texts_of), list(texts_of), sorted(unread)
    return report, {picture: "\n".join(texts) for picture, texts in texts_of.items()}


def find_picture(catalogue: Catalogue, root: Path, path: str | os.PathLike[str]) -> int:
    """The picture of which this file is a copy."""
    picture = at_path(catalogue, root, path)
    if picture is None:
        is_outside = below(root, path) is None
        hint = f"it is outside {root}" if is_outside else "visterm add finds new pictures"
        raise BadInput(f"{os.fspath(path)} is not in the collection; {hint}")
    return picture


def _named(catalogue: Catalogue, root: Path, beside: Path, path: str) -> int | None:
    for start in (beside, root):
        picture = at_path(catalogue, root, path if is_url(path) else start / path)
        if picture is not None:
            return picture
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    called = catalogue.db.execute(
        "SELECT DISTINCT picture FROM places WHERE name = ? AND NOT vanished LIMIT 2", (name,)
    ).fetchall()
    return int(called[0][0]) if len(called) == 1 else None


def at_path(catalogue: Catalogue, root: Path, path: str | os.PathLike[str]) -> int | None:
    """The number of the picture in a file; None where the collection has no such file."""
    inside = below(root, path)
    if inside is None:
        return None
    exact = "SELECT picture FROM places WHERE folder = ? AND name = ? AND vanished >= 0"
    for spelt in dict.fromkeys((inside, *_normal_forms(inside))):
        folder, _, name = spelt.rpartition("/")
        picture = catalogue.one(exact, folder, name)
        if picture is not None:
            return int(picture)
    return None if is_url(inside) else _in_other_case(catalogue, root, inside)


def _normal_forms(path: str) -> tuple[str, ...]:
    """The same path as other systems spell it: macOS takes accents and letters apart."""
    if path.isascii():
        return ()
    return unicodedata.normalize("NFC", path), unicodedata.normalize("NFD", path)


def _in_other_case(catalogue: Catalogue, root: Path, inside: str) -> int | None:
    """The picture of a path in other capitals, where the file system says it is the same file."""
    folder, _, name = inside.rpartition("/")
    candidates = catalogue.db.execute(
        """SELECT picture, folder, name FROM places
            WHERE name = ? COLLATE NOCASE AND folder = ? COLLATE NOCASE AND NOT vanished""",
        (name, folder),
    )
    for picture, its_folder, its_name in candidates:
        with contextlib.suppress(OSError):
            if os.path.samefile(root / its_folder / its_name, root / inside):
                return int(picture)
    return None

"""Asking: words to pictures, through the index and back to paths.

This is the way of every search, so it loads NumPy and SQLite only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.collection.answering import answering
from visterm.collection.catalogue import Catalogue
from visterm.errors import BadInput
from visterm.index import Index
from visterm.text.query import Query, QueryVector, closest_words, parse_query, query_vector


class UnknownWords(BadInput):
    """No caption taught any word of a query; ``unknown`` has close ones for each."""

    def __init__(self, message: str, unknown: dict[str, list[str]]) -> None:
        super().__init__(message)
        self.unknown = unknown


@dataclass(frozen=True)
class Result:
    """A picture that answers: its score and its files, the first of them to be shown."""

    picture: int
    score: float
    paths: tuple[Path, ...]

    @property
    def path(self) -> Path:
        return self.paths[0]


@dataclass(frozen=True)
class Answer:
    """Results, best first; words that are not known, each with known ones that are close."""

    results: list[Result]
    unknown: dict[str, list[str]] = field(default_factory=dict)


def search(catalogue: Catalogue, root: Path, text: str, k: int) -> Answer:
    """The ``k`` best pictures for a query in the language of `visterm.text.query`."""
    query = parse_query(text)
    if query.is_empty:
        raise BadInput('an empty query; write words, as in visterm search "tree snow"')
    now = answering(catalogue)
    vocabulary = now.vocabulary
    vector = query_vector(query, vocabulary)
    unknown = {word: closest_words(word, vocabulary.words) for word in vector.unknown}
    if query.words and not vector.numbers.size:
        raise UnknownWords(_unknown_only(unknown), unknown)
    return Answer(_found(catalogue, root, now.index, vector, query, k), unknown)


def allowed(catalogue: Catalogue, query: Query) -> NDArray[np.int64] | None:
    """The pictures that a query's conditions allow; None where it has none."""
    if not query.folders and query.captioned is None:
        return None
    conditions, values = ["present > 0"], []
    if query.folders:
        inside = " OR ".join("'/' || folder || '/' LIKE ? ESCAPE '\\'" for _ in query.folders)
        conditions.append(f"id IN (SELECT picture FROM places WHERE NOT vanished AND ({inside}))")
        values += [f"%/{_escaped(folder)}/%" for folder in query.folders]
    if query.captioned is not None:
        negation = "" if query.captioned else "NOT"
        conditions.append(f"id {negation} IN (SELECT picture FROM captions)")
    found = catalogue.db.execute(
        f"SELECT id FROM pictures WHERE {' AND '.join(conditions)}", values
    )
    ids = np.fromiter((picture for (picture,) in found), np.int64)
    if not ids.size and query.folders:
        _check_folders(catalogue, query)
    return ids


def located(
    catalogue: Catalogue, root: Path, ids: list[int], folders: tuple[str, ...] = ()
) -> dict[int, tuple[Path, ...]]:
    """Where pictures lie now: files in the asked-for folders first, then by name."""
    places: dict[int, list[tuple[bool, str, str]]] = {}
    for first in range(0, len(ids), 500):
        some = ids[first : first + 500]
        marks = ",".join("?" * len(some))
        for picture, folder, name in catalogue.db.execute(
            f"SELECT picture, folder, name FROM places WHERE NOT vanished AND picture IN ({marks})",
            some,
        ):
            away = not any(f"/{one}/".lower() in f"/{folder}/".lower() for one in folders)
            places.setdefault(picture, []).append((away, folder, name))
    return {
        picture: tuple(root / folder / name for _, folder, name in sorted(found))
        for picture, found in places.items()
    }


def _found(
    catalogue: Catalogue, root: Path, index: Index, vector: QueryVector, query: Query, k: int
) -> list[Result]:
    allow = allowed(catalogue, query)
    wanted = k
    while True:
        ids, scores = index.search((vector.numbers, vector.weights), wanted, allow=allow)
        places = located(catalogue, root, ids.tolist(), query.folders)
        # A picture that has just vanished may still be in the index; then more are asked for.
        results = [
            Result(picture, float(score), places[picture])
            for picture, score in zip(ids.tolist(), scores, strict=True)
            if picture in places
        ]
        if len(results) >= k or len(ids) < wanted:
            return results[:k]
        wanted *= 2


def _check_folders(catalogue: Catalogue, query: Query) -> None:
    known = {
        part
        for (folder,) in catalogue.db.execute("SELECT DISTINCT folder FROM places")
        for part in (folder, *folder.split("/"))
        if part
    }
    lower = {folder.lower() for folder in known}
    for folder in query.folders:
        ends = tuple(f"/{one}/" for one in lower)
        if not any(f"/{folder.lower()}/" in end for end in ends):
            near = closest_words(folder, sorted(known))
            hint = f"; did you mean {' or '.join('in:' + one for one in near)}?" if near else ""
            raise BadInput(f"the collection has no folder {folder!r}{hint}")


def _unknown_only(unknown: dict[str, list[str]]) -> str:
    named = "; ".join(
        f"{word!r}" + (f" (close to {', '.join(close)})" if close else "")
        for word, close in unknown.items()
    )
    return f"no caption taught the words asked for: {named}"


def _escaped(folder: str) -> str:
    return folder.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


__all__ = ["Answer", "Result", "allowed", "located", "search"]

"""Asking: words to pictures, through the index and back to paths.

This is the way of every search, so it loads NumPy and SQLite only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.collection.answering import Answering, answering
from visterm.collection.catalogue import Catalogue
from visterm.collection.clicks import columns, with_clicks
from visterm.errors import BadInput
from visterm.text.meaning import meanings
from visterm.text.query import Query, QueryVector, closest_words, parse_query, query_vector

if TYPE_CHECKING:
    from visterm.calibration import Calibration


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
    chance: float | None = None
    """How likely it is that the picture answers; None where that is not known."""

    @property
    def path(self) -> Path:
        return self.paths[0]


@dataclass(frozen=True)
class Answer:
    """Results, best first; words that are not known, each with known ones that are close."""

    results: list[Result]
    unknown: dict[str, list[str]] = field(default_factory=dict)
    cutoff: int | None = None
    """How many pictures, from the best on, are good matches; None where that is not known."""
    taken: dict[str, list[str]] = field(default_factory=dict)
    """Words that are not known but that known ones stand for: synonyms, or close in meaning."""


def search(
    catalogue: Catalogue, root: Path, text: str, k: int, offset: int = 0, *, good: bool = False
) -> Answer:
    """Pictures for a query in the language of `visterm.text.query`, best first.

    The ``k`` best after ``offset`` better ones; with ``good``, only those that are good matches.
    """
    query = parse_query(text)
    if query.is_empty:
        raise BadInput('an empty query; write words, as in visterm search "tree snow"')
    now = answering(catalogue)
    vocabulary = now.vocabulary
    vector = query_vector(query, vocabulary, meanings)
    unknown = {word: closest_words(word, vocabulary.words) for word in vector.unknown}
    if query.words and not vector.numbers.size:
        raise UnknownWords(_unknown_only(unknown), unknown)
    asking = Asking(catalogue, root, now, vector, query)
    cutoff = asking.cutoff(offset + k)
    if good and cutoff is not None:
        k = max(0, min(k, cutoff - offset))
    return Answer(asking.results(k, offset), unknown, cutoff, vector.taken)


class Asking:
    """One query about to be answered: what the index is asked for, and under which conditions."""

    def __init__(
        self, catalogue: Catalogue, root: Path, now: Answering, vector: QueryVector, query: Query
    ) -> None:
        self.catalogue, self.root, self.query = catalogue, root, query
        self.index, self.vector = now.index, vector
        self.calibration = now.calibration if vector.numbers.size else None
        taught = columns(catalogue) if vector.numbers.size else {}
        self.asked = with_clicks(vector, taught, now.version.words, now.index.words)
        self.allow = allowed(catalogue, query)
        self._cutoffs = now.cutoffs
        self._found = np.empty(0, np.int64), np.empty(0, np.float32)
        self._for = 0

    def best(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The ``k`` best; the best of more, where those were asked for before, begin with them."""
        if k > self._for:
            self._found, self._for = self.index.search(self.asked, k, allow=self.allow), k
        ids, scores = self._found
        return ids[:k], scores[:k]

    def cutoff(self, k: int) -> int | None:
        """How many pictures are good matches; ``k`` is a guess at it."""
        if self.calibration is None:
            return None
        if self.allow is not None:
            return self._cutoff(self.calibration, k)
        # Whoever scrolls on asks the same again, for the line as well.
        words, weights = self.asked
        key = (self.index.version, words.tobytes(), weights.tobytes())
        found = self._cutoffs.get(key)
        if found is None:
            found = self._cutoff(self.calibration, k)
            if self.index.version == key[0]:
                self._cutoffs.keep(key, found)
        return found

    def _cutoff(self, calibration: Calibration, k: int) -> int:
        # The best of all pictures, whatever the conditions are: the line is the same under them.
        _, highest = self.index.search(self.asked, 1)
        if not highest.size:
            return 0
        words, weights = self.vector.numbers, self.vector.weights
        least = calibration.cutoff(words, weights, float(highest[0]))
        while True:
            _, scores = self.best(k)
            if len(scores) < k or scores[-1] < least:
                # Scores fall, so whoever is above the line comes before whoever is below.
                return int(np.searchsorted(-scores.astype(np.float64), -least, side="right"))
            k *= 4

    def results(self, k: int, offset: int) -> list[Result]:
        """The ``k`` best pictures that are there, after the ``offset`` best of them."""
        wanted = offset + k
        while k:
            ids, scores = self.best(wanted)
            places = located(self.catalogue, self.root, ids.tolist(), self.query.folders)
            # A picture that has just vanished may still be in the index; then more are asked for.
            there = [number for number, one in enumerate(ids.tolist()) if one in places]
            if len(there) >= offset + k or len(ids) < wanted:
                return self._shown(ids, scores, there[offset : offset + k], places)
            wanted *= 2
        return []

    def _shown(
        self,
        ids: NDArray[np.int64],
        scores: NDArray[np.float32],
        chosen: list[int],
        places: dict[int, tuple[Path, ...]],
    ) -> list[Result]:
        chances: list[float | None] = [None] * len(chosen)
        if self.calibration is not None:
            numbers, weights = self.vector.numbers, self.vector.weights
            chances = self.calibration.probabilities(numbers, weights, scores[chosen]).tolist()
        return [
            Result(int(ids[number]), float(scores[number]), places[int(ids[number])], chance)
            for number, chance in zip(chosen, chances, strict=True)
        ]


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
        picture: tuple(Path(root, folder, name) for _, folder, name in sorted(found))
        for picture, found in places.items()
    }


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

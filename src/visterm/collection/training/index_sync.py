"""From vectors to the index: pictures mapped into the text space, and the index kept in step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import FINDABLE, Rows
from visterm.collection.store.index_rows import LinearRows, ToRows, index_rows
from visterm.collection.store.linear_values import linear_weights, open_index
from visterm.collection.store.vector_files import row_lengths
from visterm.collection.store.versions import MODEL, WORDS, Version, every_current
from visterm.index import DenseIndex, Index
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.features.extractor import Rows as Vectors
    from visterm.models import Model


_AT_ONCE = 1 << 25
"""Values of the text space held in memory together: 128 MB."""
_PENDING = 4096


def build(
    catalogue: Catalogue, version: Version, model: Model, *, progress: Progress = silent
) -> None:
    """Write the index of every picture that can be found, for a version not yet named."""
    kind_of_index(version).create(version.index, words=version.words)
    synchronised = _Synchronised.of(catalogue, version, model)
    rows = Rows(catalogue, version.extractor)
    total = catalogue.one(
        f"SELECT count(*) FROM rows WHERE extractor = ? AND {FINDABLE}", version.extractor
    )
    done = 0
    for ids in synchronised.append(rows, max(1, _AT_ONCE // max(1, version.words))):
        done += len(ids)
        progress("mapping pictures", done, total)
    synchronised.merge()


def catch_up(catalogue: Catalogue, *, link: bool = True, progress: Progress = silent) -> int:
    """Bring every index in step with pictures that came or went; the caller holds the lock.

    Vectors of before are brought to 8 bits a number first, segment by segment; an index made before
    the link is written anew with it, unless ``link`` says otherwise; and pictures of which an index
    keeps values that can be computed anew are mapped again.
    Returns how many that were. A kill leaves some of them pending for the next writer, and mapping
    a picture twice changes nothing.
    """
    from visterm.collection.training.index_upgrade import link_index

    _compact(catalogue, progress)
    if link:
        link_index(catalogue, progress=progress)
    _lighten(catalogue)
    total = int(catalogue.one("SELECT count(*) FROM pending"))
    if not total:
        return 0
    indexes = [_Synchronised.open(catalogue, version) for version in every_current(catalogue)]
    if not indexes:
        with catalogue.transaction() as db:
            db.execute("DELETE FROM pending")  # whoever trains first maps every picture
        return 0
    done = 0
    while chunk := _pending(catalogue):
        for index in indexes:
            index.update(chunk)
        with catalogue.transaction() as db:
            db.executemany("DELETE FROM pending WHERE picture = ?", ((one,) for one in chunk))
        done += len(chunk)
        progress("mapping pictures", done, total)
    for index in indexes:
        index.merge()
    return total


def _compact(catalogue: Catalogue, progress: Progress) -> None:
    for extractor, total in catalogue.db.execute(
        "SELECT extractor, sum(rows) FROM segments GROUP BY extractor"
    ).fetchall():
        rows, done = Rows(catalogue, extractor), 0
        while more := rows.compact():
            done += more
            progress("storing vectors in 8 bits", done, total)


def _lighten(catalogue: Catalogue) -> None:
    """Let pictures be mapped again of which the index keeps values that can be computed anew."""
    for version in every_current(catalogue):
        if linear_weights(version) is None:
            continue
        pictures = Index.open(version.index).keeping(version.words)
        if pictures.size:
            with catalogue.transaction() as db:
                db.executemany(
                    "INSERT OR IGNORE INTO pending VALUES (?)",
                    ((one,) for one in pictures.tolist()),
                )


@dataclass(frozen=True)
class _Synchronised:
    """A version's index, and what makes rows for it."""

    catalogue: Catalogue
    version: Version
    index: Index | DenseIndex
    to_rows: ToRows
    linear: LinearRows | None
    """What the rows begin with, where values are not kept."""

    @classmethod
    def open(cls, catalogue: Catalogue, version: Version) -> _Synchronised:
        from visterm.models import load_model

        return cls.of(catalogue, version, load_model(version.folder / MODEL))

    @classmethod
    def of(cls, catalogue: Catalogue, version: Version, model: Model) -> _Synchronised:
        if version.space != WORDS:
            index = DenseIndex.open(version.index)
            return cls(catalogue, version, index, index_rows(version, model), None)
        columns = open_index(catalogue, version)
        linear = None if linear_weights(version) is None else LinearRows(version, model)
        to_rows = linear or index_rows(version, model)
        if more := columns.words - version.words:
            to_rows = _with_clicks(catalogue, version, columns, to_rows, more)
        return cls(catalogue, version, columns, to_rows, linear)

    def update(self, pictures: list[int]) -> None:
        """Append those of the pictures that can be found, and remove the others."""
        pending = f"(SELECT picture FROM pending ORDER BY picture LIMIT {len(pictures)}) AS some"
        source = f"{pending} CROSS JOIN rows ON rows.picture = some.picture"
        rows = Rows(self.catalogue, self.version.extractor)
        found = [np.empty(0, np.int64), *self.append(rows, len(pictures), source)]
        self.index.remove(np.setdiff1d(np.array(pictures), np.concatenate(found)))

    def append(self, rows: Rows, size: int, source: str = "rows") -> Iterator[NDArray[np.int64]]:
        """Append pictures, ``size`` at a time, in place of what was known of them; their ids."""
        for ids, values, longest in _gathered(rows, self.to_rows, size, source):
            if self.linear is None:
                self.index.append(values, ids, replace=True)
            else:
                assert isinstance(self.index, Index)
                recomputed = self.linear.recomputed(longest)
                self.index.append(values, ids, replace=True, recomputed=recomputed)
            yield ids

    def merge(self) -> None:
        while self.index.merge():
            pass


def kind_of_index(version: Version) -> type[Index] | type[DenseIndex]:
    """Words have columns, sentences rows."""
    return Index if version.space == WORDS else DenseIndex


def _with_clicks(
    catalogue: Catalogue, version: Version, index: Index, to_rows: ToRows, columns: int
) -> ToRows:
    """The same, and after it what clicks have added in so many more columns."""
    from visterm.collection.feedback.offsets import FeedbackOffsets

    offsets = FeedbackOffsets.read(catalogue, version, version.vocabulary(), index)

    def both(vectors: Vectors) -> NDArray[np.float32]:
        rows = to_rows(vectors)
        return np.concatenate([rows, offsets.rows(vectors, columns, rows)], axis=1)

    return both


def _gathered(
    rows: Rows, to_rows: ToRows, size: int, source: str
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32], float]]:
    """Ids and text-space rows, about ``size`` pictures at a time, ids ascending in each; and the
    length of the longest vector so far."""
    ids: list[NDArray[np.int64]] = []
    values: list[NDArray[np.float32]] = []
    held, longest = 0, 0.0
    for numbers, places, block in rows.blocks(source, FINDABLE):
        vectors = block.vectors(places)
        longest = max(longest, float(row_lengths(vectors).max(initial=0.0)))
        mapped = to_rows(vectors)
        for first in range(0, len(numbers), size):
            ids.append(numbers[first : first + size])
            values.append(mapped[first : first + size])
            held += len(ids[-1])
            if held >= size:
                yield *_by_id(ids, values), longest
                ids, values, held = [], [], 0
    if ids:
        yield *_by_id(ids, values), longest


def _by_id(
    ids: list[NDArray[np.int64]], values: list[NDArray[np.float32]]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    every = np.concatenate(ids)
    order = np.argsort(every)
    return every[order], np.concatenate(values)[order]


def _pending(catalogue: Catalogue) -> list[int]:
    found = catalogue.db.execute(
        "SELECT picture FROM pending ORDER BY picture LIMIT ?", (_PENDING,)
    )
    return [picture for (picture,) in found]

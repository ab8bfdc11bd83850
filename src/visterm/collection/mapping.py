"""From vectors to the index: pictures mapped into the text space, and the index kept in step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.collection.catalogue import Catalogue
from visterm.collection.rows import Rows
from visterm.collection.versions import MODEL, Version, current
from visterm.index import Index
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.collection.taught import Taught
    from visterm.features.extractor import Rows as Vectors
    from visterm.models import Model


@dataclass(frozen=True)
class _Mapped:
    """A model, and what clicks have added to it in so many more columns of the index."""

    model: Model
    taught: Taught | None = None
    columns: int = 0

    def rows(self, vectors: Vectors) -> NDArray[np.float32]:
        mapped = self.model.transform(vectors)
        if self.taught is None:
            return mapped
        return np.concatenate([mapped, self.taught.rows(vectors, self.columns)], axis=1)


FINDABLE = "rows.picture IN (SELECT id FROM pictures WHERE present > 0)"
"""The condition on ``rows`` under which a picture can be found."""
_AT_ONCE = 1 << 25
"""Values of the text space held in memory together: 128 MB."""
_PENDING = 4096


def build(
    catalogue: Catalogue, version: Version, model: Model, *, progress: Progress = silent
) -> Index:
    """The index of every picture that can be found, for a version that is not yet named."""
    index = Index.create(version.index, words=version.words)
    rows = Rows(catalogue, version.extractor)
    total = catalogue.one(
        f"SELECT count(*) FROM rows WHERE extractor = ? AND {FINDABLE}", version.extractor
    )
    done = 0
    mapped = _Mapped(model)
    for ids, values in _gathered(rows, mapped, max(1, _AT_ONCE // max(1, version.words))):
        order = np.argsort(ids)
        index.append(values[order], ids[order])
        done += len(ids)
        progress("mapping pictures", done, total)
    while index.merge():
        pass
    return index


def catch_up(catalogue: Catalogue, *, progress: Progress = silent) -> int:
    """Tell the index about pictures that came or went; the caller holds the lock.

    Returns how many it had not heard of. A kill leaves some of them pending for the next writer,
    and telling the index twice changes nothing.
    """
    version = current(catalogue)
    total = int(catalogue.one("SELECT count(*) FROM pending"))
    if version is None:
        with catalogue.transaction() as db:
            db.execute("DELETE FROM pending")  # whoever trains first maps every picture
        return 0
    if not total:
        return 0
    from visterm.models import load_model

    index = Index.open(version.index)
    model = _Mapped(load_model(version.folder / MODEL), *_taught(catalogue, version, index))
    done = 0
    while chunk := _pending(catalogue):
        living = _tell(catalogue, version, model, index, chunk)
        index.remove(np.setdiff1d(np.array(chunk), living))
        with catalogue.transaction() as db:
            db.executemany("DELETE FROM pending WHERE picture = ?", ((one,) for one in chunk))
        done += len(chunk)
        progress("mapping pictures", done, total)
    while index.merge():
        pass
    return total


def findable(catalogue: Catalogue, extractor: str) -> NDArray[np.int64]:
    """The ids that the index of this extractor's pictures must hold, ascending."""
    found = catalogue.db.execute(
        f"SELECT picture FROM rows WHERE extractor = ? AND {FINDABLE} ORDER BY picture",
        (extractor,),
    )
    return np.fromiter((picture for (picture,) in found), np.int64)


def _tell(
    catalogue: Catalogue, version: Version, model: _Mapped, index: Index, chunk: list[int]
) -> NDArray[np.int64]:
    """Append those of the pictures that can be found; returns their ids."""
    pending = f"(SELECT picture FROM pending ORDER BY picture LIMIT {len(chunk)}) AS some"
    source = f"{pending} CROSS JOIN rows ON rows.picture = some.picture"
    rows = Rows(catalogue, version.extractor)
    living = []
    for ids, values in _gathered(rows, model, len(chunk), source):
        order = np.argsort(ids)
        index.append(values[order], ids[order], replace=True)
        living.append(ids)
    return np.concatenate([np.empty(0, np.int64), *living])


def _gathered(
    rows: Rows, model: _Mapped, size: int, source: str = "rows"
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Ids and text-space rows, about ``size`` pictures at a time, from however many segments."""
    ids: list[NDArray[np.int64]] = []
    values: list[NDArray[np.float32]] = []
    held = 0
    for numbers, places, block in rows.blocks(source, FINDABLE):
        mapped = model.rows(block.vectors()[places])
        for first in range(0, len(numbers), size):
            ids.append(numbers[first : first + size])
            values.append(mapped[first : first + size])
            held += len(ids[-1])
            if held >= size:
                yield np.concatenate(ids), np.concatenate(values)
                ids, values, held = [], [], 0
    if ids:
        yield np.concatenate(ids), np.concatenate(values)


def _taught(catalogue: Catalogue, version: Version, index: Index) -> tuple[Taught | None, int]:
    """What clicks have taught, and how many columns the index has for it."""
    from visterm.collection.taught import Taught

    more = index.words - version.words
    if not more:
        return None, 0
    return Taught.read(catalogue, version, version.vocabulary(), index), more


def _pending(catalogue: Catalogue) -> list[int]:
    found = catalogue.db.execute(
        "SELECT picture FROM pending ORDER BY picture LIMIT ?", (_PENDING,)
    )
    return [picture for (picture,) in found]

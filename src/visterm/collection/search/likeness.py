"""Ranking by likeness to a picture, and folding of near-duplicates.

Here the text space is that of the pictures' own vectors, the model leaves them as they are, and the
rows are those that the extractor gave: a score is a cosine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.collection.ingest.extractors import current_key, described_by, vectors_of_files
from visterm.collection.media.captions import at_path
from visterm.collection.search.rankers import Ranked, Ranker, Scores
from visterm.collection.store.active_model import frame_rows
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import FINDABLE, Rows
from visterm.errors import BadInput, UnreadablePicture, VistermError
from visterm.index.score import best

ALIKE = {"cnn-1": 0.88}
"""Cosines from which two pictures are near-duplicates: other sizes, qualities or crops of one.

On 75 Corel pictures, copies at half size, with 5 % cut off or of JPEG quality 30 lie at 0.91 to
0.93 in the median and above 0.85 in 95 of 100; other pictures lie below 0.80.
"""
ALIKE_OTHERWISE = 0.97


class LikenessRanker(Ranker):
    """Likeness to a picture by cosine, itself left out.

    With ``beside``, what else is asked for counts as much: both kinds of scores are standardised
    over all pictures and added up, ``z(F(q, p)) + z(cos(x, p))``.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        root: Path,
        picture: int | str | os.PathLike[str],
        beside: Ranker | None = None,
    ) -> None:
        super().__init__()
        if beside is not None:
            self.unknown, self.replaced = beside.unknown, beside.replaced
            self.unsure = beside.unsure
        rows = Rows(catalogue, described_by(catalogue))
        vector, own = _vector(catalogue, root, rows, picture)
        known = frame_rows(catalogue)
        itself = known.pictures(np.array([] if own is None else [own], np.int64))
        self.ids, self.cosines = _cosines(rows, vector, known.rows(itself))
        if beside is not None and self.ids.size:
            both = _standardised(beside.scores(self.ids)) + _standardised(self.cosines)
            self.cosines = both.astype(np.float32)

    def best(self, k: int, allow: NDArray[np.bool_] | None) -> Ranked:
        if allow is None:
            return best(self.ids, self.cosines, k)
        keep = np.flatnonzero(self.ids < allow.size)
        keep = keep[allow[self.ids[keep]]]
        return best(self.ids[keep], self.cosines[keep], k)

    def scores(self, pictures: NDArray[np.int64]) -> NDArray[np.float32]:
        order = np.argsort(self.ids)
        return self.cosines[order[np.searchsorted(self.ids, pictures, sorter=order)]]


def without_near_duplicates(
    catalogue: Catalogue, pictures: Sequence[int], wanted: int
) -> list[int]:
    """The first ``wanted`` of the pictures, best first, that are like no better one."""
    extractor = current_key(catalogue)
    if extractor is None:
        return list(pictures[:wanted])
    limit = ALIKE.get(extractor, ALIKE_OTHERWISE)
    vectors = Rows(catalogue, extractor).of(pictures)
    shown: list[int] = []
    directions: list[NDArray[np.float32]] = []
    for picture in pictures:
        vector = vectors.get(picture)
        if vector is not None:
            direction = vector / (np.linalg.norm(vector) or 1)
            if any(float(direction @ other) >= limit for other in directions):
                continue
            directions.append(direction)
        shown.append(picture)
        if len(shown) == wanted:
            break
    return shown


def _vector(
    catalogue: Catalogue, root: Path, rows: Rows, picture: int | str | os.PathLike[str]
) -> tuple[NDArray[np.float32], int | None]:
    """The vector of a picture of the collection, with its number, or of any other file."""
    number = picture if isinstance(picture, int) else at_path(catalogue, root, picture)
    if number is not None:
        found = rows.of([number]).get(number)
        if found is not None:
            return found, number
    if isinstance(picture, int):
        raise BadInput(f"picture {picture} has not been described yet; visterm add does")
    if not Path(picture).exists():
        raise BadInput(f"there is no picture {os.fspath(picture)}")
    vectors, reasons = vectors_of_files(catalogue, [str(picture)])
    if reasons:
        raise UnreadablePicture(str(picture), reasons[0])
    return vectors[0], None


def _cosines(
    rows: Rows, vector: NDArray[np.float32], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Every row that can be found, but for a picture's ``own``, with its cosine to a vector."""
    for attempt in (1, 2):
        try:
            return _pass(rows, vector, own)
        except FileNotFoundError as error:
            # A writer may have merged segments since we read their names.
            if attempt == 2:
                raise VistermError(
                    f"{error.filename} is missing; visterm check --repair"
                ) from error
    raise AssertionError("unreachable")


def _pass(
    rows: Rows, vector: NDArray[np.float32], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    length = float(np.linalg.norm(vector)) or 1.0
    ids, cosines = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    for numbers, places, block in rows.blocks(wanted=FINDABLE):
        lengths = np.maximum(block.lengths(), np.finfo(np.float32).tiny)
        near = (block.products(vector) / (lengths * length)).astype(np.float32)[places]
        keep = ~np.isin(numbers, own)
        ids.append(numbers[keep])
        cosines.append(near[keep])
    return np.concatenate(ids), np.concatenate(cosines)


def _standardised(scores: Scores) -> NDArray[np.float64]:
    deviation = float(scores.std(dtype=np.float64)) or 1.0
    return (scores - scores.mean(dtype=np.float64)) / deviation

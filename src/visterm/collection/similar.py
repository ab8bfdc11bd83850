"""Pictures like a picture, and pictures so alike that one stands for them all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.collection.captions import at_path
from visterm.collection.catalogue import Catalogue
from visterm.collection.extractors import current_key, kept
from visterm.collection.rows import Rows
from visterm.collection.search import Result, allowed, located
from visterm.collection.stores import below
from visterm.errors import BadInput, UnreadablePicture, VistermError
from visterm.index.score import best
from visterm.text.query import Query

ALIKE = {"cnn-1": 0.88}
"""Cosines from which two pictures are near-duplicates: other sizes, qualities or crops of one.

On 75 Corel pictures, copies at half size, with 5 % cut off or of JPEG quality 30 lie at 0.91 to
0.93 in the median and above 0.85 in 95 of 100; other pictures lie below 0.80.
"""
ALIKE_OTHERWISE = 0.97


def like(catalogue: Catalogue, root: Path, picture: Path, query: Query, k: int) -> list[Result]:
    """The ``k`` pictures whose vectors are closest to a picture's, by cosine, itself left out."""
    extractor = current_key(catalogue)
    if extractor is None:
        raise VistermError("there are no pictures yet; visterm add finds them")
    rows = Rows(catalogue, extractor)
    vector, own = _vector(catalogue, root, rows, picture)
    allow = allowed(catalogue, query)
    for attempt in (1, 2):
        try:
            ids, cosines = _closest(rows, vector, own, allow, k)
            break
        except FileNotFoundError as error:
            # A writer may have merged segments since we read their names.
            if attempt == 2:
                raise VistermError(
                    f"{error.filename} is missing; visterm check --repair"
                ) from error
    places = located(catalogue, root, ids.tolist(), query.folders)
    return [
        Result(number, float(cosine), places[number])
        for number, cosine in zip(ids.tolist(), cosines, strict=True)
        if number in places
    ]


def folded(catalogue: Catalogue, results: list[Result], k: int) -> list[Result]:
    """The first ``k`` results after those that are near-duplicates of a better one are dropped."""
    extractor = current_key(catalogue)
    if extractor is None or not results:
        return results[:k]
    limit = ALIKE.get(extractor, ALIKE_OTHERWISE)
    vectors = Rows(catalogue, extractor).of([one.picture for one in results])
    shown: list[Result] = []
    directions: list[NDArray[np.float32]] = []
    for one in results:
        vector = vectors.get(one.picture)
        direction = None if vector is None else vector / (np.linalg.norm(vector) or 1)
        if direction is not None:
            if any(float(direction @ other) >= limit for other in directions):
                continue
            directions.append(direction)
        shown.append(one)
        if len(shown) == k:
            break
    return shown


def _vector(
    catalogue: Catalogue, root: Path, rows: Rows, picture: Path
) -> tuple[NDArray[np.float32], int | None]:
    """The vector of a picture of the collection, or of any other file."""
    found_at = below(root, picture)
    number = None if found_at is None else at_path(catalogue, found_at)
    if number is not None:
        found = rows.of([number]).get(number)
        if found is not None:
            return found, number
    from visterm.features.picture_batches import over_pictures
    from visterm.models.inputs import dense

    if not picture.exists():
        raise BadInput(f"there is no picture {picture}")
    extractor = kept(catalogue, catalogue.get("features") or "")
    if extractor is None:
        raise VistermError("there are no pictures yet; visterm add finds them")
    (batch,) = over_pictures(extractor.rows, [str(picture)], max_side=extractor.max_side)
    if batch.result is None:
        raise UnreadablePicture(str(picture), batch.skipped[0].reason)
    return dense(batch.result)[0], None


def _closest(
    rows: Rows,
    vector: NDArray[np.float32],
    own: int | None,
    allow: NDArray[np.int64] | None,
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    length = float(np.linalg.norm(vector)) or 1.0
    ids, cosines = np.empty(0, np.int64), np.empty(0, np.float32)
    findable = "rows.picture IN (SELECT id FROM pictures WHERE present > 0)"
    for numbers, places, block in rows.blocks(wanted=findable):
        lengths = np.maximum(block.lengths(), np.finfo(np.float32).tiny)
        near = (block.products(vector) / (lengths * length)).astype(np.float32)[places]
        keep = np.ones(len(numbers), bool) if allow is None else np.isin(numbers, allow)
        if own is not None:
            keep &= numbers != own
        ids = np.concatenate([ids, numbers[keep]])
        cosines = np.concatenate([cosines, near[keep]])
        ids, cosines = best(ids, cosines, k)
    return ids, cosines

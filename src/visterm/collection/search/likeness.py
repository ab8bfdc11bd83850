"""Likeness of pictures by the cosine of their vectors, and folding of near-duplicates."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from visterm.collection.ingest.extractors import (
    current_extractor,
    current_key,
    described_by,
    vectors_of_files,
)
from visterm.collection.media.captions import at_path
from visterm.collection.media.records import records
from visterm.collection.store.feature_rows import DescribedPictures, Rows
from visterm.collection.store.snapshot import Snapshot
from visterm.errors import BadInput, UnreadablePicture

Region: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, as fractions of a picture."""

ALIKE = {"cnn-1": 0.88}
"""Cosines from which two pictures are near-duplicates: other sizes, qualities or crops of one.

On 75 Corel pictures, copies at half size, with 5 % cut off or of JPEG quality 30 lie at 0.91 to
0.93 in the median and above 0.85 in 95 of 100; other pictures lie below 0.80.
"""
ALIKE_OTHERWISE = 0.97


def cosines(
    now: Snapshot,
    root: Path,
    picture: int | str | os.PathLike[str] | tuple[float, ...],
    region: Region | None = None,
) -> tuple[DescribedPictures, NDArray[np.float32]]:
    """The rows of all pictures, and the cosine of each to a picture, to a region of it, or to a
    vector; -∞ for its own rows."""
    extractor = described_by(now.catalogue)
    pictures = now.pictures(extractor)
    if pictures is None:
        raise BadInput("no picture has been described yet; visterm add does")
    if isinstance(picture, tuple):
        vector, own = np.array(picture, np.float32), None
        if vector.size != pictures.file.width:
            raise BadInput(f"vectors here have {pictures.file.width} numbers, not {vector.size}")
    elif region is None:
        vector, own = _vector(now, root, Rows(now.catalogue, extractor), picture)
    else:
        vector, own = _region_vector(now, root, picture, region)
    lengths = now.remembered("lengths of vectors", pictures.file.lengths)
    scale = np.maximum(lengths, np.finfo(np.float32).tiny) * (float(np.linalg.norm(vector)) or 1.0)
    near = (pictures.file.products(vector[None])[0] / scale).astype(np.float32)
    if own is not None:
        itself = now.frames.pictures(np.array([own], np.int64))
        near[pictures.positions(now.frames.rows(itself))] = -np.inf
    return pictures, near


def without_near_duplicates(now: Snapshot, pictures: Sequence[int], wanted: int) -> list[int]:
    """The first ``wanted`` of the pictures, best first, that are like no better one."""
    extractor = current_key(now.catalogue)
    if extractor is None:
        return list(pictures[:wanted])
    limit = ALIKE.get(extractor, ALIKE_OTHERWISE)
    vectors = Rows(now.catalogue, extractor).of(pictures)
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


def _region_vector(
    now: Snapshot, root: Path, picture: int | str | os.PathLike[str], region: Region
) -> tuple[NDArray[np.float32], int | None]:
    """The vector of a region of a picture, which is described by itself as if it were one."""
    from visterm.models.inputs import dense
    from visterm.pictures.sandbox import read_picture

    number = picture if isinstance(picture, int) else at_path(now.catalogue, root, picture)
    path: str | os.PathLike[str] = "" if isinstance(picture, int) else picture
    if number is not None:
        if number not in (known := records(now.catalogue, [number])):
            raise BadInput(f"there is no picture {picture}")
        path = known[number].files[0].at(root)
    pixels = read_picture(path)
    height, width = pixels.shape[:2]
    left, top = int(region[0] * width), int(region[1] * height)
    right, bottom = math.ceil(region[2] * width), math.ceil(region[3] * height)
    part = np.ascontiguousarray(pixels[top:bottom, left:right])
    return dense(current_extractor(now.catalogue).rows([part]))[0], number


def _vector(
    now: Snapshot, root: Path, rows: Rows, picture: int | str | os.PathLike[str]
) -> tuple[NDArray[np.float32], int | None]:
    """The vector of a picture of the collection, with its number, or of any other file."""
    number = picture if isinstance(picture, int) else at_path(now.catalogue, root, picture)
    if number is not None:
        found = rows.of([number]).get(number)
        if found is not None:
            return found, number
    if isinstance(picture, int):
        raise BadInput(f"picture {picture} has not been described yet; visterm add does")
    if not Path(picture).exists():
        raise BadInput(f"there is no picture {os.fspath(picture)}")
    vectors, reasons = vectors_of_files(now.catalogue, [str(picture)])
    if reasons:
        raise UnreadablePicture(str(picture), reasons[0])
    return vectors[0], None

"""A new version: its files, written before the catalogue names it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import findable, vectors_of
from visterm.collection.store.versions import (
    CALIBRATION,
    MEAN,
    METRIC,
    MODEL,
    SQUARE,
    VOCABULARY,
    Version,
    hashes,
)
from visterm.files import make_folder, write_whole

if TYPE_CHECKING:
    from visterm.models import Model
    from visterm.models.feedback import Metric
    from visterm.text import Vocabulary

_AT_LARGE = 2000
"""Pictures that say what is usual."""


def at_large(catalogue: Catalogue, extractor: str, without: ArrayLike = ()) -> Any:
    """The vectors of some pictures, captioned or not, ``without`` those of some numbers."""
    everybody = np.setdiff1d(findable(catalogue, extractor), np.asarray(without, np.int64))
    count = min(len(everybody), _AT_LARGE)
    some = np.random.default_rng(0).choice(everybody, count, replace=False)
    return vectors_of(catalogue, extractor, np.sort(some).tolist())


def write_version(
    catalogue: Catalogue,
    model: Model,
    write_files: Callable[[Path], None],
    *,
    extractor: str,
    words: int,
    captioned: int = 0,
    name: str | None = None,
    **about: Any,
) -> Version:
    """Write a model and what belongs to it.

    Parameters
    ----------
    write_files
        Writes everything but the model into the folder it is given.
    name
        What the version is called, if not as its model.
    about
        Other fields of `Version` that are not as usual, such as ``space``.
    """
    version = Version(
        id=catalogue.last_number("versions") + 1,  # a number that no version ever had
        model=name or model.name,
        extractor=extractor,
        words=words,
        captioned=captioned,
        time=time.time(),
        files={},
        store=catalogue.store,
        **about,
    )
    make_folder(version.folder)
    model.save(version.folder / MODEL)
    write_files(version.folder)
    return replace(version, files=hashes(version.folder))


def write_vocabulary(folder: Path, vocabulary: Vocabulary, calibration: dict[str, Any]) -> None:
    """The files of a vocabulary and of what its words' scores are worth."""
    words = json.dumps(vocabulary.to_json(), ensure_ascii=False)
    write_whole(folder / VOCABULARY, words.encode())
    write_whole(folder / CALIBRATION, json.dumps(calibration).encode())


def write_reference(folder: Path, vectors: Any, metric: Metric | None) -> None:
    """The files of what clicks are measured by: the mean of pictures, and lengths around it."""
    mean = np.asarray(vectors.mean(axis=0), np.float64).ravel()
    _save(folder / MEAN, mean.astype(np.float32))
    if metric is None:
        squares = vectors.multiply(vectors) if hasattr(vectors, "multiply") else vectors**2
        square = squares.sum() / vectors.shape[0] - mean @ mean
    else:
        _save(folder / METRIC, metric.rows)
        around = vectors - mean
        square = np.einsum("ij,ij->", around, metric.applied(around)) / len(around)
    _save(folder / SQUARE, np.asarray(max(float(square), 0.0)))


def _save(path: Path, array: NDArray[np.floating]) -> None:
    write_whole(path, lambda file: np.save(file, array))

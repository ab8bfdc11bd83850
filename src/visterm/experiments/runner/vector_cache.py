"""Vectors that take minutes to make, kept in the user's cache: another table need not wait."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, load_npz, save_npz

from visterm.errors import BadInput
from visterm.features import CNN, Extractor
from visterm.models.inputs import Vectors
from visterm.progress import Progress

VIEWS = (CNN(size=288), CNN(network="lite1", size=320), CNN(network="lite2", size=352))
"""What each of three networks sees of a picture."""


def cnn_vectors(paths: list[Path], n_jobs: int, progress: Progress) -> NDArray[np.float32]:
    """CNN vectors of pictures."""
    return view_vectors(paths, CNN(), n_jobs, progress)


def view_vectors(
    paths: list[Path], view: CNN, n_jobs: int, progress: Progress
) -> NDArray[np.float32]:
    """What a CNN set up in some way sees in pictures."""
    asked = replace(view, n_jobs=n_jobs)
    return np.asarray(extracted(paths, asked, paths, progress), np.float32)


def side_by_side(paths: list[Path], n_jobs: int, progress: Progress) -> NDArray[np.float32]:
    """What three networks see in pictures, of unit length."""
    views = [view_vectors(paths, view, n_jobs, progress) for view in VIEWS]
    return np.hstack(views) / np.float32(np.sqrt(len(views)))


def extracted(
    paths: list[Path], extractor: Extractor, training: list[Path], progress: Progress
) -> Vectors:
    """Vectors of all pictures, by an extractor that learns from some."""

    def rows() -> Vectors:
        found = extractor.fit(training).extract(paths, progress=progress)
        if found.skipped:
            first = found.skipped[0]
            raise BadInput(f"a benchmark needs all its pictures; {first.picture}: {first.reason}")
        return found.rows

    return kept(extractor.name, recipe_of(paths, extractor, training), rows)


def recipe_of(paths: list[Path], extractor: Extractor, training: list[Path]) -> str:
    """What tells these vectors from others in the cache."""
    settings = {k: v for k, v in extractor.get_params().items() if k != "n_jobs"}
    return f"{extractor.name} {extractor.version} {settings} {paths} {training}"


def kept(what: str, recipe: str, make: Callable[[], Vectors]) -> Vectors:
    """What ``make`` makes, or made before by this recipe."""
    for suffix in (".npy", ".npz"):
        with suppress(OSError, ValueError):
            file = cache_file(what, recipe, suffix)
            if suffix == ".npz":
                return csr_array(load_npz(file))
            return np.load(file, allow_pickle=False)
    rows = make()
    with suppress(OSError):
        file = cache_file(what, recipe, ".npz" if issparse(rows) else ".npy")
        file.parent.mkdir(parents=True, exist_ok=True)
        if issparse(rows):
            save_npz(file, rows)
        else:
            np.save(file, rows)
    return rows


def cache_file(what: str, recipe: str, suffix: str) -> Path:
    """Where something made by a recipe is kept."""
    from platformdirs import user_cache_path

    name = f"{what}-{hashlib.sha256(recipe.encode()).hexdigest()[:24]}{suffix}"
    return user_cache_path("visterm", appauthor=False) / "experiments" / name

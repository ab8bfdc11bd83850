"""Features of one's own: what a Python function makes of pictures, or vectors given beside them.

Vectors can be stored and functions cannot, so the two are parted: features have a *label*, under
which their vectors are kept, and a function is known by its label for as long as a program runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.features.extractor import Extractor, nothing_read
from visterm.features.picture_batches import (
    Pictures,
    Pixels,
    Skipped,
    gather,
)
from visterm.progress import Progress, silent

Embedder = Callable[[list[Pixels]], ArrayLike]
"""A function of decoded pictures that gives a row for each.

Pictures come as a list of arrays, height × width × 3 bytes, at most 1,024 pixels on a side.
"""

_LABEL = re.compile(r"[A-Za-z_][\w.-]*")
_FUNCTIONS: dict[str, Embedder] = {}
_VECTORS: dict[str, Mapping[str, NDArray[np.float32]]] = {}


class OwnFeatures(Extractor):
    """Features of one's own, by their label.

    Parameters
    ----------
    label : str
        What they are called: the name of the function, or one that was chosen for vectors.

    Attributes
    ----------
    width_ : int
        How many numbers describe a picture.

    Examples
    --------
    >>> def mean_colour(pictures):
    ...     return [pixels.mean(axis=(0, 1)) for pixels in pictures]
    >>> features = OwnFeatures(use_function(mean_colour))
    >>> features.key
    'own-1(label=mean_colour)'
    >>> features.fit_transform([np.full((4, 4, 3), 7, np.uint8)])
    array([[7., 7., 7.]], dtype=float32)
    """

    name = "own"
    version = 1
    facts = ("width_",)
    max_side = 1024
    portable = False  # a function may hold what no other process can have, such as a network

    width_: int

    def __init__(self, label: str) -> None:
        self.label = label

    @property
    def n_jobs(self) -> int:
        """Always one: see ``portable``."""
        return 1

    @n_jobs.setter
    def n_jobs(self, n_jobs: int) -> None: ...

    @property
    def ready(self) -> bool:
        return self.label in _FUNCTIONS or self.label in _VECTORS

    def fit(self, pictures: Pictures = (), y: Any = None, *, progress: Progress = silent) -> Self:
        """Find out how many numbers describe a picture, from one; nothing is learnt."""
        if self.label in _VECTORS:
            self.width_ = next((row.size for row in _VECTORS[self.label].values()), 0)
            return self
        skipped: list[Skipped] = []
        for picture in pictures:
            found, _, broken = gather(
                self._embedded, [picture], max_side=self.max_side, portable=False
            )
            if found:
                self.width_ = found[0].shape[1]
                return self
            skipped += broken
        raise nothing_read(skipped)

    def rows(self, pictures: list[Pixels]) -> NDArray[np.float32]:
        found = self._embedded(pictures)
        if found.shape[1] != self.width_:
            raise BadInput(
                f"{self.label} gives {found.shape[1]} numbers a picture, but it gave {self.width_} "
                "before; give other features another name"
            )
        return found

    def given_rows(self, paths: Sequence[str]) -> list[NDArray[np.float32] | str] | None:
        given = _VECTORS.get(self.label)
        if given is None and self.label in _FUNCTIONS:
            return None
        missing = self._what_is_missing()
        return [missing if given is None else given.get(path, missing) for path in paths]

    def _embedded(self, pictures: list[Pixels]) -> NDArray[np.float32]:
        if self.label not in _FUNCTIONS:
            raise BadInput(self._what_is_missing())
        found = np.asarray(_FUNCTIONS[self.label](pictures), dtype=np.float32)
        if found.ndim != 2 or len(found) != len(pictures) or not np.isfinite(found).all():
            raise BadInput(
                f"{self.label} must give one row of finite numbers for each of {len(pictures)} "
                f"pictures; it gave shape {found.shape}"
            )
        return found

    def _what_is_missing(self) -> str:
        return (
            f"pictures here have features of your own, {self.label!r}; add new ones in "
            f"Python, with add(features={self.label}) or with vectors=…, features={self.label!r}"
        )


def use_function(function: Embedder, label: str | None = None) -> str:
    """Make a function known under a label, by default its name; returns the label.

    A later function of the same name takes its place, as when a cell of a notebook runs again.
    """
    chosen = label or str(getattr(function, "__name__", type(function).__name__))
    _FUNCTIONS[checked_label(chosen)] = function
    return chosen


@contextmanager
def use_vectors(label: str, vectors: Mapping[str, NDArray[np.float32]]) -> Iterator[None]:
    """For a while, take these vectors as the features of the files of these paths."""
    _VECTORS[checked_label(label)] = vectors
    try:
        yield
    finally:
        del _VECTORS[label]


def checked_label(label: str) -> str:
    """A label that can be part of a text, a key and a folder's name.

    >>> checked_label("clip-vit.b32")
    'clip-vit.b32'
    """
    if not _LABEL.fullmatch(label):
        raise BadInput(
            f"{label!r} is no name for features; give a function made by def, or a name of "
            "letters, digits and _"
        )
    return label

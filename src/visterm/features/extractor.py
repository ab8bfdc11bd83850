"""What all extractors share: pictures in, one vector a picture out.

`join_rows` makes vectors of several extractors one: side by side, normalised, weighted.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from types import ModuleType
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse, vstack

from visterm.errors import BadInput, VistermError, needs_extra
from visterm.features.picture_batches import (
    Pictures,
    Pixels,
    Skipped,
    gather,
)
from visterm.matrices import unit_rows
from visterm.progress import Progress, silent
from visterm.stored import Stored


def check_whole(thing: object, **least: int) -> None:
    """Refuse parameters that are not whole numbers, or too small.

    >>> from types import SimpleNamespace
    >>> check_whole(SimpleNamespace(side=3), side=4)
    Traceback (most recent call last):
    visterm.errors.BadInput: side is a whole number from 4 on, not 3
    """
    for name, smallest in least.items():
        if not is_whole(value := getattr(thing, name), smallest):
            raise BadInput(f"{name} is a whole number from {smallest} on, not {value!r}")


def is_whole(value: object, least: int) -> bool:
    """Whether a parameter is a whole number, no truth value, and large enough.

    >>> is_whole(4, 4), is_whole(4.0, 4), is_whole(True, 0)
    (True, False, False)
    """
    return (
        isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)
    )


_UNNEEDED = re.compile(r"[\s'\"]")
_UNSAFE = re.compile(r"[^\w.,=()\[\]-]")  # in the name of a folder
_LONGEST_KEY = 80

Rows: TypeAlias = "csr_array | NDArray[np.float32]"


@dataclass(frozen=True)
class Extraction:
    """Rows of the pictures that could be read, their numbers, and the others with reasons."""

    rows: Rows
    numbers: NDArray[np.int64]
    skipped: list[Skipped]


class Extractor(Stored):
    """Pixels to vectors.

    An extractor sets ``name`` and ``version`` (raised when the same pictures would give other
    rows), learns in ``fit`` what it must, and makes a row of each picture of a batch in ``rows``.
    """

    version: ClassVar[int] = 1
    max_side: int | None
    """Pictures are shrunk to this many pixels on the long side before anything else."""
    n_jobs: int
    portable: ClassVar[bool] = True
    """Whether other processes can have what describes pictures."""
    uses_threads: ClassVar[bool] = False
    """Whether `rows` is at work on all cores already."""

    @property
    def key(self) -> str:
        """Name, version and parameters that are not the usual ones, as in ``cnn-1(size=288)``.

        Vectors of different keys cannot be compared. A key can be the name of a folder.
        """
        return f"{self.name}-{self.version}{self._given('n_jobs')}"

    def _given(self, *but: str) -> str:
        """Parameters other than their defaults, in brackets; nothing where there are none."""
        usual = {key: one.default for key, one in signature(type(self)).parameters.items()}
        given = ",".join(
            f"{key}={value}"
            for key, value in self.get_params(deep=False).items()
            if key not in but and value != usual[key]
        )
        if not given:
            return ""
        text = f"({re.sub(_UNNEEDED, '', given)})"
        if len(text) <= _LONGEST_KEY and not _UNSAFE.search(text):
            return text
        return f"-{hashlib.sha256(given.encode()).hexdigest()[:16]}"

    @property
    def ready(self) -> bool:
        """Whether features of new pictures can be extracted here and now."""
        return True

    @property
    def gpus(self) -> int:
        """Accelerators that a process needs to describe pictures."""
        return 0

    @property
    def block_numbers(self) -> int | None:
        """How many numbers describe a block, where a row is a picture's blocks one after another;
        None where it is not."""
        return None

    def fit(self, pictures: Pictures, y: Any = None, *, progress: Progress = silent) -> Self:
        raise NotImplementedError

    def fit_transform(
        self, pictures: Pictures, y: Any = None, *, progress: Progress = silent
    ) -> Rows:
        """Fit, and the vectors of the same pictures but the unreadable ones."""
        fitted = self.fit(pictures, progress=progress)
        return fitted.extract(pictures, progress=progress).rows

    def rows(self, pictures: list[Pixels]) -> Rows:
        """Vectors of decoded pictures, one a row."""
        raise NotImplementedError

    def given_rows(self, paths: Sequence[str]) -> list[NDArray[np.float32] | str] | None:
        """Vectors that are known without a look at the files, or the reason why one is not; None
        where pictures are described by their pixels."""
        return None

    def transform(self, pictures: Pictures) -> Rows:
        """Vectors of pictures, one a row; an error names every picture that cannot be read."""
        found = self.extract(pictures)
        if found.skipped:
            first = found.skipped[0]
            raise VistermError(
                f"{len(found.skipped)} of {len(pictures)} pictures cannot be read, the first is "
                f"{first.picture}: {first.reason}; use extract to skip them"
            )
        return found.rows

    def extract(self, pictures: Pictures, *, progress: Progress = silent) -> Extraction:
        """Vectors of all pictures that can be read, and the reasons for the others."""
        self._check_fitted()
        options = {"progress": progress, "what": "extracting", **self._options()}
        parts, numbers, skipped = gather(self.rows, pictures, **options)
        if not parts:
            raise nothing_read(skipped)
        return Extraction(stack_rows(parts), np.array(numbers, dtype=np.int64), skipped)

    def _options(self) -> dict[str, Any]:
        """How pictures are decoded for this extractor, and where that may be done."""
        return {"max_side": self.max_side, "n_jobs": self.n_jobs, "portable": self.portable}


def stack_rows(parts: Sequence[Rows]) -> Rows:
    """Rows of several batches under each other.

    >>> stack_rows([np.zeros((1, 2)), np.zeros((2, 2))]).shape
    (3, 2)
    """
    if issparse(parts[0]):
        return csr_array(vstack(parts, format="csr"))
    return np.concatenate(parts)


class NothingRead(BadInput):
    """Of a list of pictures not a single one can be read; ``skipped`` says why."""

    def __init__(self, skipped: Sequence[Skipped]) -> None:
        first = skipped[0]
        super().__init__(f"no picture can be read; the first is {first.picture}: {first.reason}")
        self.skipped = skipped


def nothing_read(skipped: Sequence[Skipped]) -> BadInput:
    """The error of a list without a single readable picture.

    >>> nothing_read([])
    BadInput('no pictures were given')
    """
    return NothingRead(skipped) if skipped else BadInput("no pictures were given")


def warn_skipped(skipped: Sequence[Skipped]) -> None:
    """Warn of pictures left out of fitting, once."""
    if skipped:
        first = skipped[0]
        warnings.warn(
            f"{len(skipped)} pictures left out, the first is {first.picture}: {first.reason}",
            stacklevel=3,
        )


NORMALISATIONS = ("each", "late")
MOST_DENSE = 4096
"""Beside compressed rows, a dense part may have so many columns: there each costs 8 bytes."""


def join_rows(
    parts: Sequence[Rows], weights: Sequence[float] | None = None, *, normalise: str = "each"
) -> Rows:
    """Rows of several extractors side by side, of unit length.

    Parameters
    ----------
    parts : sequence of rows
        The same pictures in each. Only if all are dense is the result; otherwise it is compressed
        rows, in which every number of a dense part takes 8 bytes instead of 4.
    weights : sequence of float, optional
        What each part is multiplied with; equal by default.
    normalise : {"each", "late"}
        Each part to unit length before they are joined, so that none drowns the others, or only
        once afterwards, as the ECML paper joins blobs and SIFT.

    Examples
    --------
    >>> one, other = np.array([[3.0, 4.0]]), np.array([[5.0]])
    >>> join_rows([one, other], normalise="late").round(3).tolist()
    [[0.424, 0.566, 0.707]]
    >>> join_rows([one, csr_array(other)], [1, 0]).toarray().round(3).tolist()
    [[0.6, 0.8, 0.0]]
    """
    _check_parts(parts)
    given = check_weights(weights, len(parts))
    if normalise not in NORMALISATIONS:
        raise BadInput(f"parts are normalised {' or '.join(NORMALISATIONS)}, not {normalise!r}")
    scaled = [
        (unit_rows(part) if normalise == "each" else part) * np.float32(weight)
        for part, weight in zip(parts, given, strict=True)
    ]
    if any(issparse(part) for part in parts):
        return unit_rows(csr_array(hstack([csr_array(part) for part in scaled], format="csr")))
    return unit_rows(np.concatenate(scaled, axis=1))


def check_weights(weights: Sequence[float] | None, parts: int) -> list[float]:
    """The weights as given, or equal ones; refuse those that do not fit."""
    given = [1.0] * parts if weights is None else [float(weight) for weight in weights]
    if len(given) != parts:
        raise BadInput(f"{parts} parts need so many weights, not {len(given)}")
    if not np.isfinite(given).all() or min(given) < 0 or max(given) == 0:
        raise BadInput(f"weights are 0 or more, and one is above 0; these are {given}")
    return given


def _check_parts(parts: Sequence[Rows]) -> None:
    if not parts:
        raise BadInput("there is nothing to join")
    for part in parts:
        if part.ndim != 2:
            raise BadInput(f"rows of shape {part.shape} cannot be joined; one vector a picture can")
    if len({part.shape[0] for part in parts}) > 1:
        rows = ", ".join(str(part.shape[0]) for part in parts)
        raise BadInput(f"parts speak of different numbers of pictures: {rows}")
    if any(issparse(part) for part in parts):
        widest = max((p.shape[1] for p in parts if not issparse(p)), default=0)
        if widest > MOST_DENSE:
            raise BadInput(
                f"a dense part of {widest} columns is too wide to join to sparse ones; at most "
                f"{MOST_DENSE} are sensible"
            )


def opencv() -> Any:
    """OpenCV, or a line that says how to get it."""
    with needs_extra("classic", "these features need OpenCV"):
        import cv2
    return cv2


def scikit_image() -> ModuleType:
    """scikit-image, or a line that says how to get it."""
    with needs_extra("classic", "these features need scikit-image"):
        import skimage
    return skimage

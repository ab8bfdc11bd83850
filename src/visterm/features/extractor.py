"""What all extractors share: pictures in, one vector a picture out."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from visterm.errors import BadInput, VistermError
from visterm.features.picture_batches import (
    Picture,
    Pixels,
    Skipped,
    gather,
)
from visterm.progress import Progress, silent
from visterm.stored import Stored

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

    def fit(
        self, pictures: Sequence[Picture], y: Any = None, *, progress: Progress = silent
    ) -> Self:
        raise NotImplementedError

    def fit_transform(
        self, pictures: Sequence[Picture], y: Any = None, *, progress: Progress = silent
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

    def transform(self, pictures: Sequence[Picture]) -> Rows:
        """Vectors of pictures, one a row; an error names every picture that cannot be read."""
        found = self.extract(pictures)
        if found.skipped:
            first = found.skipped[0]
            raise VistermError(
                f"{len(found.skipped)} of {len(pictures)} pictures cannot be read, the first is "
                f"{first.picture}: {first.reason}; use extract to skip them"
            )
        return found.rows

    def extract(self, pictures: Sequence[Picture], *, progress: Progress = silent) -> Extraction:
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

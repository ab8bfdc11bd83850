"""Bags of local descriptors: what the match and the expected likelihood kernel compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from visterm.errors import BadInput


@dataclass(frozen=True, eq=False)
class Bags:
    """Local descriptors of pictures, all under each other.

    Attributes
    ----------
    descriptors : array of shape (all descriptors, d), float32
    starts : array of shape (n + 1,), int64
        Picture ``p`` owns the rows from ``starts[p]`` to ``starts[p + 1]``, one at least.
    """

    descriptors: NDArray[np.float32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, picture: int) -> NDArray[np.float32]:
        return self.descriptors[self.starts[picture] : self.starts[picture + 1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @classmethod
    def of(cls, pictures: Any, width: int | None = None) -> Bags:
        """Bags from any of the forms they come in.

        Parameters
        ----------
        pictures
            n × descriptors × d where all bags have one size, a sequence of (descriptors × d)
            arrays, or vectors in which ``width`` numbers after another are a descriptor.
        width : int, optional
            Numbers of a descriptor, where bags come as vectors.

        Examples
        --------
        >>> Bags.of(np.zeros((2, 77, 109))).sizes.tolist()
        [77, 77]
        >>> Bags.of([np.zeros((3, 8)), np.ones((5, 8))]).sizes.tolist()
        [3, 5]
        >>> len(Bags.of(np.zeros((2, 24)), width=8).descriptors)
        6
        """
        if isinstance(pictures, Bags):
            return pictures
        bags = _split(pictures, width) if width is not None else pictures
        parts = [_checked(number, bag) for number, bag in enumerate(bags)]
        if not parts:
            raise BadInput("no pictures: a kernel compares at least one")
        if len({part.shape[1] for part in parts}) > 1:
            raise BadInput("local descriptors of all pictures need the same number of numbers")
        starts = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
        return cls(np.concatenate(parts), starts)


def _split(pictures: Any, width: int) -> NDArray[Any]:
    vectors = pictures.toarray() if issparse(pictures) else np.asarray(pictures)
    if vectors.ndim != 2 or width < 1 or vectors.shape[1] % width:
        raise BadInput(
            f"vectors of shape {vectors.shape} do not divide into descriptors of {width} numbers"
        )
    return vectors.reshape(len(vectors), -1, width)


def _checked(number: int, bag: Any) -> NDArray[np.float32]:
    try:
        part = np.asarray(bag, dtype=np.float32)
    except (TypeError, ValueError):
        raise BadInput(f"picture {number}: local descriptors must be numbers") from None
    if part.ndim != 2 or part.size == 0:
        raise BadInput(
            f"picture {number}: a bag is descriptors × numbers with one descriptor at least, "
            f"not {part.shape}"
        )
    if not np.isfinite(part).all():
        raise BadInput(f"picture {number}: local descriptors hold NaN or infinite numbers")
    return part

"""Values that an index does not keep, because they can be computed anew from what others keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from visterm.index.score import Floats, Integers

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recomputed:
    """What an index must know of such values when it is given pictures.

    The rows that come with it hold, for the first words, numbers from which their values follow:
    ``value = link(number)``. So that these may be made in whatever way is fastest, they may be off.

    Attributes
    ----------
    errors : array of shape (words,)
        By how much, at most, the numbers of each word differ from those of the exact values.
    link : callable
        Values from numbers, words × any, for a slice of the words; never falling.
    """

    errors: Doubles
    link: Callable[[slice, Doubles], Doubles]

    def __len__(self) -> int:
        return len(self.errors)


class ExactValues(Protocol):
    """Computes exact values anew."""

    def __call__(self, words: Integers, ids: Integers) -> Floats:
        """The values of some words for some pictures, one row a picture: the same bits whoever asks
        for how many of them. A picture that has gone meanwhile has NaN."""

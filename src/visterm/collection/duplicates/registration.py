"""Whether one picture is the other, perhaps smaller, re-encoded, cropped or of other colours.

Vectors say which pictures are alike; two views of one scene are, too. So the pictures themselves
are laid over each other: the one is shrunk to every size at which it could be a part of the other,
moved over it, and the normalised cross-correlation of their details (greys without their local
mean) says how well they fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIDE = 40
"""Pixels of the longer side at which pictures are compared."""
SMALLEST = 0.7
"""The smallest part of a side that a crop may have left."""
_STEP = 0.025

Greys = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SmallPicture:
    """A picture small enough to be laid over others: greys, and twice as fine for shrinking."""

    greys: Greys
    fine: Greys

    @classmethod
    def of(cls, pixels: NDArray[np.uint8]) -> SmallPicture:
        """From upright RGB.

        >>> SmallPicture.of(np.zeros((60, 90, 3), np.uint8)).greys.shape
        (27, 40)
        """
        from PIL import Image

        grey = Image.fromarray(pixels).convert("L")
        longer = max(grey.size)
        width, height = grey.size
        small, fine = (
            np.asarray(
                grey.resize(
                    (max(8, round(width * side / longer)), max(8, round(height * side / longer))),
                    Image.Resampling.BOX,
                ),
                np.float32,
            )
            for side in (SIDE, 2 * SIDE)
        )
        return cls(small, fine)

    @property
    def shape(self) -> tuple[int, int]:
        height, width = self.greys.shape
        return height, width


def fit(one: SmallPicture, other: SmallPicture) -> float:
    """How well one of two pictures fits the other or a part of it, up to 1."""
    return max(_best_fit(one, other), _best_fit(other, one))


def _best_fit(whole: SmallPicture, part: SmallPicture) -> float:
    """How well a part, at some size and place, fits a whole."""
    details, best = _details(whole.greys), -1.0
    for height, width in _sizes(whole.shape, part.shape):
        best = max(best, _correlation(details, _details(_shrunk(part.fine, height, width))))
    return best


def _sizes(whole: tuple[int, int], part: tuple[int, int]) -> list[tuple[int, int]]:
    """The sizes that a part may have in a whole, given both shapes; each once."""
    height, width = part[0] / whole[0], part[1] / whole[1]
    found = dict[tuple[int, int], None]()
    for share in np.arange(1.0, SMALLEST - _STEP, -_STEP):
        scale = share / max(height, width)
        size = round(part[0] * scale), round(part[1] * scale)
        if min(size[0] / whole[0], size[1] / whole[1]) >= SMALLEST - 0.05:
            found[size] = None
    return list(found)


def _shrunk(fine: Greys, height: int, width: int) -> Greys:
    from PIL import Image

    image = Image.fromarray(fine).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(image, np.float32)


def _details(greys: Greys) -> Greys:
    """Greys without their mean over 7 × 7 pixels: what is left when the light changes."""
    padded = np.pad(greys, 4, mode="edge")[:-1, :-1].cumsum(0).cumsum(1)
    total = padded[7:, 7:] - padded[:-7, 7:] - padded[7:, :-7] + padded[:-7, :-7]
    return np.asarray(greys - total / 49, np.float32)


def _correlation(whole: Greys, part: Greys) -> float:
    """The highest normalised cross-correlation of a part with places of a whole."""
    part = part - part.mean()
    length = float(np.linalg.norm(part))
    if length < 1e-3 * part.size**0.5:
        return -1.0  # nothing to be seen in it
    windows = np.lib.stride_tricks.sliding_window_view(whole, part.shape)
    flat = windows.reshape(-1, part.size)
    sums = flat.sum(axis=1)
    squares = np.einsum("ij,ij->i", flat, flat) - sums * sums / part.size
    spread = np.sqrt(np.maximum(squares, 1e-6))
    return float((flat @ part.ravel() / (spread * length)).max())

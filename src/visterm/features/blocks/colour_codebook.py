"""The colours that describe pictures: an RGB codebook fitted to a few pixels of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visterm.features.codebook import learn_codebook
from visterm.features.extractor import nothing_read
from visterm.features.picture_batches import Picture, Pixels, gather

_SAMPLE = 1000  # pictures that colours are learnt from


def learn_colours(
    pictures: Sequence[Picture],
    colours: int,
    *,
    max_side: int | None,
    n_jobs: int = 1,
    random_state: int = 0,
) -> NDArray[np.float32]:
    """So many typical colours of some of the pictures; fewer where there are no more.

    >>> white = np.full((8, 8, 3), 255, dtype=np.uint8)
    >>> learn_colours([white], 1, max_side=8).tolist()
    [[255.0, 255.0, 255.0]]
    """
    chosen = np.sort(np.random.default_rng(random_state).permutation(len(pictures))[:_SAMPLE])
    some = [pictures[i] for i in chosen]
    found, _, skipped = gather(_Pixels(random_state), some, max_side=max_side, n_jobs=n_jobs)
    if not found:
        raise nothing_read(skipped)
    points = np.concatenate(found).astype(np.float32)
    return learn_codebook(points, colours, random_state=random_state, points_per_centre=2000)


class _Pixels:
    """A few pixels of each picture; a class, because a process pool cannot send a lambda."""

    def __init__(self, seed: int, each: int = 200) -> None:
        self.seed, self.each = seed, each

    def __call__(self, pictures: list[Pixels]) -> NDArray[np.uint8]:
        rng = np.random.default_rng(self.seed)
        flat = [pixels.reshape(-1, 3) for pixels in pictures]
        return np.concatenate([f[rng.integers(len(f), size=self.each)] for f in flat])

"""What extractors over a network share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.features.cnn.frame import frame
from visterm.features.cnn.onnx_network import OnnxNetwork
from visterm.features.cnn.recipe import Recipe, normalised
from visterm.features.extractor import Extractor
from visterm.features.picture_batches import Picture, Pixels
from visterm.progress import Progress, silent


class NetworkExtractor(Extractor):
    """What extractors over a network share; they say which network and how it is fed."""

    arrays: ClassVar[tuple[str, ...]] = ()
    uses_threads = True
    together: ClassVar[int] = 1
    """Pictures that go through the network at once. One is right for any network: more may change
    the last digits, or not be allowed."""

    def fit(
        self, pictures: Sequence[Picture] = (), y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Open the network, so that whatever is wrong with it is said now; nothing is learnt."""
        self._opened()
        return self

    def prepare(self, pixels: Pixels) -> NDArray[np.uint8]:
        """The square of one picture that the network will see."""
        return frame(pixels, self._recipe())

    def rows(self, pictures: list[Pixels]) -> NDArray[np.float32]:
        """Vectors of decoded pictures, one a row, on all cores that the processes leave."""
        network, recipe, output = self._opened()

        def some(pictures: list[Pixels]) -> list[NDArray[np.float32]]:
            squares = np.stack([frame(pixels, recipe) for pixels in pictures])
            return [self._shaped(one) for one in network.run(squares, recipe, output)]

        found = in_threads(some, pictures, self.together, self.n_jobs)
        return normalised(np.stack(found), recipe.normalise)

    @property
    def gpus(self) -> int:
        return int(self._recipe().provider != "cpu")

    @property
    def max_side(self) -> int:  # type: ignore[override]
        """Twice what the network sees, so that even a 2 : 1 picture is never enlarged."""
        return 2 * self._recipe().size

    def _recipe(self) -> Recipe:
        raise NotImplementedError

    def _opened(self) -> tuple[OnnxNetwork, Recipe, str]:
        raise NotImplementedError

    def _shaped(self, output: NDArray[np.float32]) -> NDArray[np.float32]:
        return output

    def _check_fitted(self) -> None:
        """Nothing is learnt, so an extractor over a network is always ready."""


def in_threads(
    work: Callable[[list[Pixels]], Iterable[NDArray[np.float32]]],
    pictures: list[Pixels],
    together: int,
    n_jobs: int,
) -> list[NDArray[np.float32]]:
    """Rows of pictures, so many at a time, on all cores that ``n_jobs`` processes leave.

    >>> in_threads(lambda some: [one[0, 0] for one in some], [np.ones((1, 1, 3), np.uint8)], 1, 1)
    [array([1, 1, 1], dtype=uint8)]
    """
    groups = [pictures[first : first + together] for first in range(0, len(pictures), together)]
    threads = min(_cores() // max(1, n_jobs), len(groups))
    if threads <= 1:
        return [row for group in groups for row in work(group)]
    with ThreadPoolExecutor(threads) as pool:
        return [row for rows in pool.map(work, groups) for row in rows]


def _cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())

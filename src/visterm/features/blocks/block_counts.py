"""Pictures as rows of blocks: what each square looks like, for models that look block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.features.blocks.block_descriptor import TEXTURE_BINS, BlockDescriptor
from visterm.features.blocks.colour_codebook import learn_colours
from visterm.features.extractor import Extractor
from visterm.features.parameters import check_whole, is_whole
from visterm.features.picture_batches import Picture, Pixels, check_list
from visterm.progress import Progress, silent


@dataclass(repr=False, eq=False)
class BlockCounts(Extractor):
    """Block histograms with counts c as ``log(1 + c)``, a picture's blocks one after another.

    Row i of a picture's blocks are numbers ``i · block_numbers`` to ``(i + 1) · block_numbers``; a
    picture with fewer blocks than the largest has zeros after its last one.

    D. Grangier and S. Bengio, IDIAP-RR 06-33, 2006.

    Parameters
    ----------
    side : int
        Squares have this side, in pixels, and stand every half side.
    colours : int
        Size of the RGB codebook.
    max_side : int
        Pictures are shrunk to this long side, so that a block sees the same part of any picture.
    n_jobs, random_state : int

    Examples
    --------
    >>> from visterm.datasets.scenes import draw_scene
    >>> pictures = [draw_scene(0, i).pixels for i in range(4)]
    >>> counts = BlockCounts(colours=10, max_side=64).fit(pictures)
    >>> counts.block_numbers, counts.transform(pictures).shape  # 3 × 3 blocks at most
    (69, (4, 621))
    """

    name = "block-counts"
    version = 1
    arrays: ClassVar[tuple[str, ...]] = ("colours_",)

    side: int = 32
    colours: int = 50
    max_side: int = 192
    n_jobs: int = 1
    random_state: int = 0

    @property
    def block_numbers(self) -> int:
        """Texture bins and colours."""
        return TEXTURE_BINS + self.colours

    @property
    def most_blocks(self) -> int:
        """How many blocks the largest picture has, which is a square."""
        across = (self.max_side or self.side) // (self.side // 2) - 1
        return max(1, across) ** 2

    def fit(
        self, pictures: Sequence[Picture], y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn the colours."""
        self._check_parameters()
        check_list(pictures)
        self.colours_ = learn_colours(
            pictures,
            self.colours,
            max_side=self.max_side,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        self._descriptor = BlockDescriptor(self.colours_, [self.side])
        return self

    def rows(self, pictures: list[Pixels]) -> NDArray[np.float32]:
        rows = np.zeros((len(pictures), self.most_blocks, self.block_numbers), dtype=np.float32)
        for row, pixels in zip(rows, pictures, strict=True):
            (counts,) = self._descriptor(pixels)
            row[: len(counts), : counts.shape[1]] = np.log1p(counts, dtype=np.float32)
        return rows.reshape(len(pictures), -1)

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        self._descriptor = BlockDescriptor(self.colours_, [self.side])

    def _check_parameters(self) -> None:
        if not is_whole(self.side, 4) or self.side % 2:
            raise BadInput(f"side is an even number from 4 on, not {self.side!r}")
        if not is_whole(self.colours, 1) or self.colours > 256:
            raise BadInput(f"colours are a whole number from 1 to 256, not {self.colours!r}")
        check_whole(self, max_side=1, n_jobs=1, random_state=0)

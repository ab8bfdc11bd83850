"""Pictures as bags of block visterms: several block sides, edges and colour together or apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.features.bag_of_visterms import Bag, BagChannel, Local
from visterm.features.blocks.block_descriptor import BlockDescriptor
from visterm.features.blocks.channels import DEFAULT_CHANNELS, PARTS, Channel, check_channel
from visterm.features.blocks.colour_codebook import learn_colours
from visterm.features.parameters import is_whole
from visterm.features.picture_batches import Picture, Pixels
from visterm.features.spatial_pyramid import Places


@dataclass(repr=False, eq=False)
class Blocks(Bag):
    """Bags of visterms over block histograms.

    ``p_v ∝ tf_v · idf_v`` per channel, unit length; channels side by side, unit length again.
    A visterm is a k-means cell of block histograms (LBP texture and colours).

    D. Grangier and S. Bengio, IEEE TPAMI 30(8), 2008.

    Parameters
    ----------
    channels : sequence of (side, part, size)
        Part is "joint", "edges" or "colours".
    colours : int
        Size of the RGB codebook.
    root : bool
        Square-root the histograms before clustering, and the visterm counts: differences between
        small counts then matter as much as between large ones. False is the paper's way.
    max_side : int
        Pictures are shrunk to this long side, so that a block sees the same part of any picture.
    weighting, n_jobs, random_state, pyramid, level_weights
        As for `Bag`.

    Examples
    --------
    >>> from visterm.datasets.scenes import draw_scene
    >>> pictures = [draw_scene(0, i).pixels for i in range(8)]
    >>> blocks = Blocks(channels=((32, "joint", 50),), colours=10).fit(pictures)
    >>> blocks.transform(pictures).shape
    (8, 50)
    """

    name = "blocks"
    version = 1
    arrays = ("idf_", "colours_")

    channels: Sequence[Channel] = DEFAULT_CHANNELS
    colours: int = 50

    def histograms(self, pixels: Pixels) -> list[NDArray[np.unsignedinteger]]:
        """Block histograms of one picture, one array (blocks × bins) for each side."""
        return self._descriptor(pixels)

    def _descriptors(self, pixels: Pixels) -> list[Local]:
        h, w = pixels.shape[:2]
        return [
            Local(histograms, _places(max(h, side), max(w, side), side // 2))
            for histograms, side in zip(self.histograms(pixels), self._sides(), strict=True)
        ]

    def _channels(self) -> list[BagChannel]:
        sides = self._sides()
        return [BagChannel(sides.index(s), PARTS[part], size) for s, part, size in self.channels]

    def _points(self, descriptors: NDArray[Any], channel: BagChannel) -> NDArray[np.float32]:
        points = super()._points(descriptors, channel)
        return np.sqrt(points) if self.root else points

    def _sides(self) -> list[int]:
        return sorted({side for side, _, _ in self.channels})

    def _prepare(self, pictures: Sequence[Picture]) -> None:
        self.colours_ = learn_colours(
            pictures,
            self.colours,
            max_side=self.max_side,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        self._descriptor = BlockDescriptor(self.colours_, self._sides())

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        self._descriptor = BlockDescriptor(self.colours_, self._sides())

    def _check_parameters(self) -> None:
        if isinstance(self.channels, str) or not self.channels:
            raise BadInput("blocks need a list of channels, such as [(32, 'joint', 1000)]")
        for channel in self.channels:
            check_channel(channel)
        if not is_whole(self.colours, 1) or self.colours > 256:
            raise BadInput(f"colours are a whole number from 1 to 256, not {self.colours!r}")
        super()._check_parameters()


class VistermCounts(Blocks):
    """How often each visterm of `Blocks` occurs in a picture: what CMRM, CMTT and PLSA learn from.

    >>> VistermCounts().weighting
    'counts'
    """

    name = "visterm-counts"

    def __init__(self, n_jobs: int = 1, random_state: int = 0) -> None:
        super().__init__(weighting="counts", n_jobs=n_jobs, random_state=random_state)


@lru_cache(maxsize=64)
def _places(h: int, w: int, half: int) -> Places:
    """Middles of the blocks of a picture, row by row."""
    rows, columns = np.arange(1, h // half) * half / h, np.arange(1, w // half) * half / w
    x, y = np.meshgrid(columns, rows)
    return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float32)

"""Pictures as bags of block visterms: several block sides, edges and colour together or apart.

A channel says of which blocks, and of what in them, a bag is made; colours are an RGB codebook
fitted to a few pixels of each picture. `BlockCounts` are rows of blocks instead, for models that
look block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.features.bag_of_visterms import Bag, BagChannel, Local
from visterm.features.blocks.block_descriptor import TEXTURE_BINS, BlockDescriptor
from visterm.features.codebook import learn_codebook
from visterm.features.extractor import Extractor, check_whole, is_whole, nothing_read
from visterm.features.picture_batches import Pictures, Pixels, check_list, gather
from visterm.features.spatial_pyramid import Places
from visterm.progress import Progress, silent

Channel = tuple[int, str, int]
"""Block side in pixels, what of the histogram counts, and the size of the codebook."""

PARTS = {
    "joint": slice(None),
    "edges": slice(0, TEXTURE_BINS),
    "colours": slice(TEXTURE_BINS, None),
}

# Chosen on Corel's validation pictures; docs/notes/corel.md shows what each part brings.
DEFAULT_CHANNELS: tuple[Channel, ...] = (
    (16, "joint", 4000),
    (16, "edges", 2000),
    (16, "colours", 2000),
    (32, "joint", 4000),
    (32, "edges", 2000),
    (32, "colours", 2000),
)


def check_channel(channel: Channel) -> None:
    """Say what is wrong with a channel, if anything is.

    >>> check_channel((31, "joint", 1000))
    Traceback (most recent call last):
    visterm.errors.BadInput: the side of a channel is an even number from 4 on, not 31
    """
    try:
        side, part, size = channel
    except (TypeError, ValueError):
        raise BadInput(f"a channel is (side, part, size), not {channel!r}") from None
    if not isinstance(part, str) or part not in PARTS:
        raise BadInput(f"the part of a channel is one of {', '.join(PARTS)}, not {part!r}")
    if not is_whole(side, 4) or side % 2:
        raise BadInput(f"the side of a channel is an even number from 4 on, not {side!r}")
    if not is_whole(size, 1):
        raise BadInput(f"the size of a channel is a whole number from 1 on, not {size!r}")


_SAMPLE = 1000  # pictures that colours are learnt from


def learn_colours(
    pictures: Pictures,
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
    found, _, skipped = gather(
        partial(_some_pixels, seed=random_state), some, max_side=max_side, n_jobs=n_jobs
    )
    if not found:
        raise nothing_read(skipped)
    points = np.concatenate(found).astype(np.float32)
    return learn_codebook(points, colours, random_state=random_state, points_per_centre=2000)


def _some_pixels(pictures: list[Pixels], seed: int, each: int = 200) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    flat = [pixels.reshape(-1, 3) for pixels in pictures]
    return np.concatenate([f[rng.integers(len(f), size=each)] for f in flat])


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

    def _prepare(self, pictures: Pictures) -> None:
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

    def fit(self, pictures: Pictures, y: Any = None, *, progress: Progress = silent) -> Self:
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

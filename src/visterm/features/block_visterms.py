"""Pictures as bags of block visterms: several block sides, edges and colour together or apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from visterm.errors import BadInput
from visterm.features.blocks import BlockDescriptor
from visterm.features.channels import DEFAULT_CHANNELS, PARTS, Channel, check_channel, is_whole
from visterm.features.codebook import learn_codebook, nearest_centres
from visterm.features.extraction import Picture, Pixels, Skipped, check_list, over_pictures
from visterm.features.extractor import Extractor, nothing_read, stack_rows, warn_skipped
from visterm.features.weighting import count_visterms, join_channels, weigh_visterms
from visterm.progress import Progress, silent


class Blocks(Extractor):
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
    weighting : {"tfidf", "counts"}
        Counts are what the generative models want.
    max_side : int
        Pictures are shrunk to this long side, so that a block sees the same part of any picture.
    workers, random_state : int

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
    facts = ("sizes_",)

    def __init__(
        self,
        channels: Sequence[Channel] = DEFAULT_CHANNELS,
        colours: int = 50,
        root: bool = True,
        weighting: str = "tfidf",
        max_side: int = 192,
        workers: int = 1,
        random_state: int = 0,
    ) -> None:
        self.channels = channels
        self.colours = colours
        self.root = root
        self.weighting = weighting
        self.max_side = max_side
        self.workers = workers
        self.random_state = random_state

    def fit(
        self, pictures: Sequence[Picture], y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn colours, codebooks and visterm weights from pictures."""
        self.fit_transform(pictures, progress=progress)
        return self

    def fit_transform(
        self, pictures: Sequence[Picture], y: Any = None, *, progress: Progress = silent
    ) -> csr_array:
        """Fit, and the vectors of the same pictures, for the price of one; unreadable ones are
        left out with a warning."""
        self._check_parameters()
        check_list(pictures)
        self.colours_ = self._learn_colours(pictures)
        self._open(self._learn_codebooks(pictures, progress))
        counts, skipped = self._pooled(_Count(self), pictures, progress, "counting visterms")
        warn_skipped(skipped)
        whole: csr_array = stack_rows(counts)
        self.idf_ = _idf(whole)
        return whole if self.weighting == "counts" else self.weigh(whole)

    def rows(self, pictures: list[Pixels]) -> csr_array:
        counts = self._count(pictures)
        return counts if self.weighting == "counts" else self.weigh(counts)

    def describe(self, pixels: Pixels) -> list[NDArray[np.unsignedinteger]]:
        """Block histograms of one picture, one array (blocks × bins) for each side."""
        return self._descriptor(pixels)

    def _count(self, pictures: list[Pixels]) -> csr_array:
        described = [self.describe(pixels) for pixels in pictures]
        by_channel = []
        for number, (side, part, _) in enumerate(self.channels):
            place = self._sides().index(side)
            blocks = [self._points(d[place], part) for d in described]
            visterms = nearest_centres(np.concatenate(blocks), self._centres[number])
            counts = [
                count_visterms(v.reshape(1, -1), self.sizes_[number])
                for v in np.split(visterms, np.cumsum([len(b) for b in blocks])[:-1])
            ]
            by_channel.append(stack_rows(counts))
        return csr_array(hstack(by_channel, format="csr"))

    def weigh(self, counts: csr_array) -> csr_array:
        """Counts to tf·idf vectors, channel by channel."""
        edges = np.cumsum([0, *self.sizes_])
        channels = [
            weigh_visterms(counts[:, a:b], self.idf_[a:b], root=self.root)
            for a, b in pairwise(edges)
        ]
        return join_channels(channels)

    def _points(self, histograms: NDArray[np.unsignedinteger], part: str) -> NDArray[np.float32]:
        points = histograms[:, PARTS[part]].astype(np.float32)
        return np.sqrt(points) if self.root else points

    def _sides(self) -> list[int]:
        return sorted({side for side, _, _ in self.channels})

    def _learn_colours(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        chosen = self._sample(pictures, 1000)
        pixels, skipped = self._pooled(_Pixels(self.random_state), chosen, silent, "")
        if not pixels:
            raise nothing_read(skipped)
        points = np.concatenate(pixels).astype(np.float32)
        return learn_codebook(points, self.colours, seed=self.random_state, points_per_centre=2000)

    def _learn_codebooks(
        self, pictures: Sequence[Picture], progress: Progress
    ) -> list[NDArray[np.float32]]:
        self._descriptor = BlockDescriptor(self.colours_, self._sides())
        wanted = 40 * max(size for _, _, size in self.channels)
        chosen = self._sample(pictures, 4000)
        take = _Blocks(self._descriptor, -(-wanted // len(chosen)), self.random_state)
        parts, _ = self._pooled(take, chosen, progress, "describing blocks")
        by_side = [np.concatenate(side) for side in zip(*parts, strict=True)]
        centres = []
        for number, (side, part, size) in enumerate(self.channels):
            points = self._points(by_side[self._sides().index(side)], part)
            centres.append(learn_codebook(points, size, seed=self.random_state + number))
            progress("learning codebooks", number + 1, len(self.channels))
        return centres

    def _pooled(
        self, work: Any, pictures: Sequence[Picture], progress: Progress, what: str
    ) -> tuple[list[Any], list[Skipped]]:
        results, skipped = [], []
        for batch in over_pictures(
            work,
            pictures,
            max_side=self.max_side,
            workers=self.workers,
            progress=progress,
            what=what,
        ):
            if batch.result is not None:
                results.append(batch.result)
            skipped += batch.skipped
        return results, skipped

    def _sample(self, pictures: Sequence[Picture], most: int) -> list[Picture]:
        rng = np.random.default_rng(self.random_state)
        chosen = rng.permutation(len(pictures))[:most]
        return [pictures[i] for i in np.sort(chosen)]

    def _open(self, centres: list[NDArray[np.float32]]) -> None:
        self._centres = centres
        self.sizes_ = tuple(len(c) for c in centres)
        self._descriptor = BlockDescriptor(self.colours_, self._sides())

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return super()._arrays() | {f"centres_{i}": c for i, c in enumerate(self._centres)}

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        self._open([arrays[f"centres_{i}"] for i in range(len(self.channels))])

    def _check_parameters(self) -> None:
        if isinstance(self.channels, str) or not self.channels:
            raise BadInput("blocks need a list of channels, such as [(32, 'joint', 1000)]")
        for channel in self.channels:
            check_channel(channel)
        if self.weighting not in ("tfidf", "counts"):
            raise BadInput(f"weighting is 'tfidf' or 'counts', not {self.weighting!r}")
        if not is_whole(self.colours, 1) or self.colours > 256:
            raise BadInput(f"colours are a whole number from 1 to 256, not {self.colours!r}")
        for name, least in (("max_side", 1), ("workers", 1), ("random_state", 0)):
            value = getattr(self, name)
            if not is_whole(value, least):
                raise BadInput(f"{name} is a whole number from {least} on, not {value!r}")


class _Count:
    """Counts of a batch; a class, because a process pool cannot send a lambda."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks

    def __call__(self, pictures: list[Pixels]) -> csr_array:
        return self.blocks._count(pictures)


class _Pixels:
    """A few pixels of each picture, to learn colours from."""

    def __init__(self, seed: int, each: int = 200) -> None:
        self.seed, self.each = seed, each

    def __call__(self, pictures: list[Pixels]) -> NDArray[np.uint8]:
        rng = np.random.default_rng(self.seed)
        flat = [pixels.reshape(-1, 3) for pixels in pictures]
        return np.concatenate([f[rng.integers(len(f), size=self.each)] for f in flat])


class _Blocks:
    """A few block histograms of each picture and side, to learn codebooks from."""

    def __init__(self, descriptor: BlockDescriptor, each: int, seed: int) -> None:
        self.descriptor, self.each, self.seed = descriptor, each, seed

    def __call__(self, pictures: list[Pixels]) -> list[NDArray[np.unsignedinteger]]:
        rng = np.random.default_rng(self.seed)
        described = [self.descriptor(pixels) for pixels in pictures]
        return [
            np.concatenate([rng.permutation(d[side])[: self.each] for d in described])
            for side in range(len(self.descriptor.sides))
        ]


def _idf(counts: csr_array) -> NDArray[np.float32]:
    """``−log r_v``, r_v the fraction of pictures that show visterm v."""
    showing = np.bincount(counts.indices, minlength=counts.shape[1])
    return (0.0 - np.log(np.maximum(showing, 0.5) / counts.shape[0])).astype(np.float32)

"""Pictures as bags of visterms, whatever the local descriptors are.

A kind of bag says which local descriptors a picture has (`Bag._descriptors`); drawing a sample,
learning codebooks, counting, weighing and storing are the same for all.

Counts become picture vectors by tf·idf with unit length, channel by channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from visterm.errors import BadInput
from visterm.features.codebook import learn_codebook, nearest_centres
from visterm.features.extractor import (
    Extractor,
    check_whole,
    nothing_read,
    stack_rows,
    warn_skipped,
)
from visterm.features.picture_batches import Picture, Pictures, Pixels, Skipped, check_list, gather
from visterm.features.spatial_pyramid import Places, cells_at, cells_in, check_levels
from visterm.matrices import count_rows, unit_rows, with_values
from visterm.progress import Progress, silent


def count_visterms(numbers: NDArray[np.int64], size: int) -> csr_array:
    """Pictures × visterms counts from the visterm numbers of each picture (one row a picture).

    >>> count_visterms(np.array([[0, 2, 2]]), 3).toarray()
    array([[1., 0., 2.]], dtype=float32)
    """
    return count_rows(numbers.ravel(), np.full(len(numbers), numbers.shape[1]), size)


def visterm_weights(counts: csr_array) -> NDArray[np.float32]:
    """idf, ``−log r_v``, r_v the fraction of pictures that show visterm v.

    >>> visterm_weights(csr_array(np.array([[2.0, 1.0], [1.0, 0.0]])))
    array([0.       , 0.6931472], dtype=float32)
    """
    showing = np.bincount(counts.indices, minlength=counts.shape[1])
    return (0.0 - np.log(np.maximum(showing, 0.5) / counts.shape[0])).astype(np.float32)


def weigh_visterms(counts: csr_array, idf: NDArray[np.float32], *, root: bool) -> csr_array:
    """``tf · idf`` with unit length; ``root`` takes √tf, which keeps large areas from shouting.

    >>> weigh_visterms(count_visterms(np.array([[0, 1, 1, 1, 1]]), 2), np.ones(2), root=True).data
    array([0.4472136, 0.8944272], dtype=float32)
    """
    return unit_rows(tfidf(counts, idf, root=root))


def tfidf(counts: csr_array, idf: NDArray[np.float32], *, root: bool) -> csr_array:
    """``tf · idf`` as it is, for those who normalise later.

    >>> tfidf(csr_array(np.array([[4.0, 1.0]])), np.array([1.0, 3.0]), root=False).data
    array([4., 3.], dtype=float32)
    """
    frequency = np.sqrt(counts.data) if root else counts.data
    return with_values(counts, (frequency * idf[counts.indices]).astype(np.float32))


def join_channels(channels: Sequence[csr_array]) -> csr_array:
    """Channels side by side, normalised after joining.

    >>> one = csr_array(np.array([[1.0]]))
    >>> join_channels([one, one]).toarray().round(3).tolist()
    [[0.707, 0.707]]
    """
    return unit_rows(csr_array(hstack(channels, format="csr")))


WEIGHTINGS = ("tfidf-raw", "tfidf", "counts")

_SAMPLE = 4000  # pictures that codebooks are learnt from


class Local(NamedTuple):
    """Local descriptors of one picture, one a row, and where they are."""

    descriptors: NDArray[Any]
    places: Places


class BagChannel(NamedTuple):
    """A codebook of so many visterms over some columns of one kind of local descriptor."""

    kind: int
    columns: slice
    size: int


@dataclass(kw_only=True, repr=False, eq=False)
class Bag(Extractor):
    """A picture as counts of its visterms; each visterm is a k-means cell of local descriptors.

    ``p_v ∝ tf_v · idf_v`` per channel and pyramid level, unit length; channels and levels side by
    side, unit length again. A picture without any local descriptor is an empty row.

    Parameters
    ----------
    root : bool
        Square-root the visterm counts, so that large areas do not shout; False is the papers' way.
    weighting : {"tfidf", "tfidf-raw", "counts"}
        Counts are what the generative models want; raw tf·idf is for normalising late.
    max_side : int
        Pictures are shrunk to this long side, so that a descriptor sees the same part of any.
    n_jobs, random_state : int
    pyramid : sequence of {"whole", "thirds", "quarters"}
        Cells that have visterms of their own.
    level_weights : sequence of float, optional
        How much each level of the pyramid counts; equally by default.
    """

    arrays: ClassVar[tuple[str, ...]] = ("idf_",)
    facts: ClassVar[tuple[str, ...]] = ("sizes_",)
    points_per_centre: ClassVar[int] = 40
    nearest = 1
    """Each local descriptor counts for so many of its nearest visterms."""

    root: bool = True
    weighting: str = "tfidf"
    max_side: int | None = 192
    n_jobs: int = 1
    random_state: int = 0
    pyramid: Sequence[str] = ("whole",)
    level_weights: Sequence[float] | None = None

    def fit(self, pictures: Pictures, y: Any = None, *, progress: Progress = silent) -> Self:
        """Learn codebooks and visterm weights from pictures."""
        self.fit_transform(pictures, progress=progress)
        return self

    def fit_transform(
        self, pictures: Pictures, y: Any = None, *, progress: Progress = silent
    ) -> csr_array:
        """Fit, and the vectors of the same pictures, for the price of one; unreadable ones are
        left out with a warning."""
        self._check_parameters()
        check_list(pictures)
        self._prepare(pictures)
        self._open(self._learn_codebooks(pictures, progress))
        counts, skipped = self._pooled(self._count, pictures, progress, "counting visterms")
        warn_skipped(skipped)
        whole: csr_array = stack_rows(counts)
        self.idf_ = visterm_weights(whole)
        return self._weighed(whole)

    def rows(self, pictures: list[Pixels]) -> csr_array:
        return self._weighed(self._count(pictures))

    def weigh(self, counts: csr_array) -> csr_array:
        """Counts to tf·idf vectors of unit length, channel by channel and level by level."""
        given = self.level_weights or [1.0] * len(self.pyramid)
        weights = [w for _ in self.sizes_ for w in given]
        parts = [
            weigh_visterms(counts[:, a:b], self.idf_[a:b], root=self.root) * np.float32(weight)
            for (a, b), weight in zip(pairwise(self._edges()), weights, strict=True)
        ]
        return join_channels(parts)

    def _channels(self) -> list[BagChannel]:
        """The codebooks to learn."""
        raise NotImplementedError

    def _descriptors(self, pixels: Pixels) -> list[Local]:
        """Local descriptors of one picture, for each kind of them."""
        raise NotImplementedError

    def _points(self, descriptors: NDArray[Any], channel: BagChannel) -> NDArray[np.float32]:
        """Local descriptors as a channel clusters them."""
        return descriptors[:, channel.columns].astype(np.float32)

    def _prepare(self, pictures: Pictures) -> None:
        """Learn what must be known before any picture has descriptors."""

    def _fit_scaling(self, sample: list[NDArray[Any]]) -> None:
        """Learn from the sampled descriptors of each kind what `_points` must know."""

    def _weighed(self, counts: csr_array) -> csr_array:
        if self.weighting == "counts":
            return counts
        if self.weighting == "tfidf-raw":
            return tfidf(counts, self.idf_, root=self.root)
        return self.weigh(counts)

    def _count(self, pictures: list[Pixels]) -> csr_array:
        described = [self._descriptors(pixels) for pixels in pictures]
        parts = []
        for number, channel in enumerate(self._channels()):
            local = [found[channel.kind] for found in described]
            points = [self._points(found.descriptors, channel) for found in local]
            visterms = nearest_centres(np.concatenate(points), self._centres[number], self.nearest)
            by_picture = np.split(visterms, np.cumsum([len(p) for p in points])[:-1])
            size = self.sizes_[number]
            for level in self.pyramid:
                counts = [
                    count_visterms(
                        (cells_at(found.places, level)[:, None] * size + v).reshape(1, -1),
                        size * cells_in(level),
                    )
                    for v, found in zip(by_picture, local, strict=True)
                ]
                parts.append(stack_rows(counts))
        return csr_array(hstack(parts, format="csr"))

    def _take(self, pictures: list[Pixels], each: int) -> list[NDArray[Any]]:
        """At most so many descriptors of each picture, kind by kind."""
        rng = np.random.default_rng(self.random_state)
        described = [self._descriptors(pixels) for pixels in pictures]
        return [
            np.concatenate([rng.permutation(found.descriptors)[:each] for found in kind])
            for kind in zip(*described, strict=True)
        ]

    def _learn_codebooks(self, pictures: Pictures, progress: Progress) -> list[NDArray[np.float32]]:
        channels = self._channels()
        wanted = self.points_per_centre * max(channel.size for channel in channels)
        chosen = self._sample(pictures, _SAMPLE)
        take = partial(self._take, each=-(-wanted // max(1, len(chosen))))
        found, skipped = self._pooled(take, chosen, progress, f"extracting {self.name}")
        if not found:
            raise nothing_read(skipped)
        sample = [np.concatenate(kind) for kind in zip(*found, strict=True)]
        if not all(len(kind) for kind in sample):
            raise BadInput(f"none of the pictures shows any {self.name} to learn visterms from")
        self._fit_scaling(sample)
        centres = []
        for number, channel in enumerate(channels):
            points = self._points(sample[channel.kind], channel)
            centres.append(
                learn_codebook(
                    points,
                    channel.size,
                    random_state=self.random_state + number,
                    points_per_centre=self.points_per_centre,
                )
            )
            progress("learning codebooks", number + 1, len(channels))
        return centres

    def _pooled(
        self, work: Any, pictures: Pictures, progress: Progress, what: str
    ) -> tuple[list[Any], list[Skipped]]:
        options = {"progress": progress, "what": what, **self._options()}
        results, _, skipped = gather(work, pictures, **options)
        return results, skipped

    def _sample(self, pictures: Pictures, most: int) -> list[Picture]:
        rng = np.random.default_rng(self.random_state)
        chosen = rng.permutation(len(pictures))[:most]
        return [pictures[i] for i in np.sort(chosen)]

    def _edges(self) -> list[int]:
        """First column of each channel's each level, and the number of all columns."""
        widths = [size * cells_in(level) for size in self.sizes_ for level in self.pyramid]
        return [0, *np.cumsum(widths).tolist()]

    def _open(self, centres: list[NDArray[np.float32]]) -> None:
        self._centres = centres
        self.sizes_ = tuple(len(c) for c in centres)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return super()._arrays() | {f"centres_{i}": c for i, c in enumerate(self._centres)}

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        self._open([arrays[f"centres_{i}"] for i in range(len(self.sizes_))])

    def _check_parameters(self) -> None:
        if self.weighting not in WEIGHTINGS:
            first, *others = map(repr, WEIGHTINGS)
            known = f"{first}, {' or '.join(others)}"
            raise BadInput(f"weighting is {known}, not {self.weighting!r}")
        check_levels(self.pyramid, self.level_weights)
        check_whole(self, max_side=1, n_jobs=1, random_state=0, nearest=1)

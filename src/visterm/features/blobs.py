"""Pictures as bags of blobs: what their regions look like, as visterms.

P. Duygulu et al., ECCV 2002; D. Grangier, F. Monay and S. Bengio, ECML 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.features.bag_of_visterms import Bag, BagChannel, Local
from visterm.features.blob_descriptor import BLOB_NUMBERS, blob_numbers, cut_regions
from visterm.features.extractor import check_whole, opencv, scikit_image
from visterm.features.picture_batches import Pixels
from visterm.matrices import count_rows

_X, _Y = BLOB_NUMBERS.index("x"), BLOB_NUMBERS.index("y")
_SIZE = BLOB_NUMBERS.index("size")


@dataclass(repr=False, eq=False)
class Blobs(Bag):
    """Bags of visterms over regions, each described by 36 numbers of colour, texture and shape.

    The numbers (`BLOB_NUMBERS`) are standardised on the regions the codebook is learnt from.

    Parameters
    ----------
    visterms : int
        Size of the codebook.
    regions : int
        At most so many regions a picture.
    min_area : float
        Regions that cover less of the picture are not used.
    superpixels : int
        About how many pieces the regions are put together from.
    nearest : int
        Each region counts for so many of its nearest visterms; 1 is the paper's way.
    root : bool
        Square-root the visterm counts.
    max_side : int
        Pictures are shrunk to this long side.
    weighting, n_jobs, random_state, pyramid, level_weights
        As for `Bag`.

    Examples
    --------
    >>> from visterm.datasets.scenes import draw_scene
    >>> pictures = [draw_scene(0, i).pixels for i in range(8)]
    >>> Blobs(visterms=20).fit(pictures).transform(pictures).shape
    (8, 20)
    """

    name = "blobs"
    arrays = ("idf_", "centre_", "spread_")
    points_per_centre = 100

    visterms: int = 500
    regions: int = 10
    min_area: float = 0.01
    superpixels: int = 150
    nearest: int = 1
    root: bool = field(default=False, kw_only=True)

    def _channels(self) -> list[BagChannel]:
        return [BagChannel(0, slice(None), self.visterms)]

    def _descriptors(self, pixels: Pixels) -> list[Local]:
        cut = cut_regions(pixels, superpixels=self.superpixels, most=self.regions)
        numbers = blob_numbers(pixels, cut)
        # The largest region stays even where it is small, so that no picture is without one.
        numbers = numbers[: max(1, int((numbers[:, _SIZE] >= self.min_area).sum()))]
        return [Local(numbers, numbers[:, [_X, _Y]])]

    def _fit_scaling(self, sample: list[NDArray[Any]]) -> None:
        self.centre_ = sample[0].mean(axis=0)
        spread = sample[0].std(axis=0)
        self.spread_ = np.where(spread > 1e-6, spread, 1).astype(np.float32)

    def _points(self, descriptors: NDArray[Any], channel: BagChannel) -> NDArray[np.float32]:
        return (descriptors - self.centre_) / self.spread_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        opencv()
        scikit_image()
        check_whole(self, visterms=1, regions=1, superpixels=1)
        if not 0 <= self.min_area < 1:
            raise BadInput(f"min_area lies between 0 and 1, not {self.min_area!r}")


def count_blob_tokens(tokens: Sequence[NDArray[np.int64]], size: int = 500) -> csr_array:
    """Pictures × tokens counts from lists of blob tokens, such as Corel's own.

    Corel's tokens run from 1 to 499; token t is column t.

    >>> count_blob_tokens([np.array([1, 3]), np.array([], dtype=np.int64)], size=4).toarray()
    array([[0., 1., 0., 1.],
           [0., 0., 0., 0.]], dtype=float32)
    """
    flat = np.concatenate([np.empty(0, np.int64), *tokens])
    if len(flat) and not 0 <= flat.min() <= flat.max() < size:
        raise BadInput(f"blob tokens run from 0 to {size - 1}, not {flat.min()} to {flat.max()}")
    return count_rows(flat, np.array([len(row) for row in tokens], dtype=np.int64), size)

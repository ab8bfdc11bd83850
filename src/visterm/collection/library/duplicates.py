"""Groups of near-duplicates, each with the one to keep proposed; nothing is ever deleted.

Pictures whose vectors are close are candidates; two views of one scene are close, too. So the
pictures themselves are laid over each other: the one is shrunk to every size at which it could be a
part of the other, perhaps cropped, re-encoded or of other colours, and moved over it; the
normalised cross-correlation of their details (greys without their local mean) says how well they
fit. Exact copies are one picture to begin with: its files are all named.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.collection.ingest.extractors import current_key
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import described
from visterm.errors import UnreadablePicture
from visterm.files import write_whole
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.collection.media.records import PictureRecord
    from visterm.collection.media.thumbnails import Thumbnails

CANDIDATE = 0.6
"""The cosine from which two pictures may be one."""
NEIGHBOURS = 10
"""Candidates of a picture, the closest ones."""
ONE_PICTURE = 0.82
"""Where two pictures are one: the mean of the cosine of their vectors and of how well they fit.
Smooth pictures of one kind, two sunsets, fit each other by chance; then their vectors differ."""
SIDE = 40
"""Pixels of the longer side at which pictures are compared."""
SMALLEST = 0.7
"""The smallest part of a side that a crop may have left."""
FILE = "duplicates.json"
_THUMBNAIL = 160
_STEP = 0.025

Greys = NDArray[np.float32]


@dataclass(frozen=True)
class DuplicateGroup:
    """Pictures that are one picture: the ``best``, and the ``others``, best first."""

    best: int
    others: tuple[int, ...]


def near_duplicates(
    catalogue: Catalogue,
    records: dict[int, PictureRecord],
    thumbnails: Thumbnails,
    progress: Progress = silent,
) -> list[DuplicateGroup]:
    """All groups of a collection, the largest first.

    The best of a group has the most pixels, of equal ones the most bytes, and then came first.
    """
    extractor = current_key(catalogue)
    if extractor is None:
        return []
    pairs = _candidates(catalogue, extractor, progress)
    small: dict[int, SmallPicture | None] = {}
    group_of: dict[int, set[int]] = {}
    for done, (pair, cosine) in enumerate(pairs):
        if done % 100 == 0:
            progress("comparing pictures", done, len(pairs))
        first, second = (group_of.setdefault(picture, {picture}) for picture in pair)
        if first is second:
            continue
        for picture in pair:
            if picture not in small:
                small[picture] = _small(records.get(picture), thumbnails)
        one, other = small[pair[0]], small[pair[1]]
        if one and other and (fit(one, other) + cosine) / 2 >= ONE_PICTURE:
            first |= second
            group_of |= dict.fromkeys(second, first)
    groups = {id(group): group for group in group_of.values() if len(group) > 1}.values()
    return sorted(
        (_ranked(group, records) for group in groups),
        key=lambda group: (-len(group.others), group.best),
    )


def kept_groups(catalogue: Catalogue) -> tuple[list[DuplicateGroup], bool] | None:
    """The groups that were found last, and whether files have changed since; None for none."""
    try:
        stored = json.loads((catalogue.store / FILE).read_bytes())
        groups = [DuplicateGroup(g["best"], tuple(g["others"])) for g in stored["groups"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return groups, stored["place_changes"] == catalogue.get("place_changes")


def keep_groups(catalogue: Catalogue, groups: Iterable[DuplicateGroup]) -> None:
    """Remember groups beside the catalogue; they can be found again."""
    stored = {
        "place_changes": catalogue.get("place_changes"),
        "groups": [asdict(group) for group in groups],
    }
    write_whole(catalogue.store / FILE, json.dumps(stored).encode())


def _candidates(
    catalogue: Catalogue, extractor: str, progress: Progress
) -> list[tuple[tuple[int, int], float]]:
    """Pairs of pictures whose vectors are close, with their cosines, the closest first."""
    pictures = described(catalogue, extractor)
    if pictures is None:
        return []
    still = catalogue.db.execute("SELECT id FROM pictures WHERE present > 0 AND video IS NULL")
    ids = np.intersect1d(np.array(still.fetchall(), np.int64).ravel(), pictures.findable)
    k = min(NEIGHBOURS, len(ids) - 1)
    if k < 1:
        return []
    from sklearn.neighbors import NearestNeighbors

    progress("comparing vectors", 0, len(ids))
    vectors = pictures.file.dense(pictures.located(ids)[0])
    distances, near = NearestNeighbors(n_neighbors=k, metric="cosine").fit(vectors).kneighbors()
    pairs: dict[tuple[int, int], float] = {}
    for row, place in zip(*np.nonzero(distances <= 1 - CANDIDATE), strict=True):
        low, high = sorted((int(ids[row]), int(ids[near[row, place]])))
        pairs[low, high] = 1 - float(distances[row, place])
    return sorted(pairs.items(), key=lambda pair: -pair[1])


def _small(record: PictureRecord | None, thumbnails: Thumbnails) -> SmallPicture | None:
    import io

    from PIL import Image

    if record is None:
        return None
    try:
        jpeg = thumbnails.of(record, _THUMBNAIL).jpeg
    except UnreadablePicture:
        return None
    return SmallPicture.of(np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB")))


def _ranked(group: Iterable[int], records: dict[int, PictureRecord]) -> DuplicateGroup:
    def worth(picture: int) -> tuple[int, int, int]:
        if picture not in records:
            return 0, 0, picture
        width, height = records[picture].pixels or (0, 0)
        largest = max((file.size for file in records[picture].files), default=0)
        return -width * height, -largest, picture

    best, *others = sorted(group, key=worth)
    return DuplicateGroup(best, tuple(others))


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
    sizes = dict[tuple[int, int], None]()
    for share in np.arange(1.0, SMALLEST - _STEP, -_STEP):
        scale = share / max(height, width)
        size = round(part[0] * scale), round(part[1] * scale)
        if min(size[0] / whole[0], size[1] / whole[1]) >= SMALLEST - 0.05:
            sizes[size] = None
    return list(sizes)


def _shrunk(fine: Greys, height: int, width: int) -> Greys:
    from PIL import Image

    image = Image.fromarray(fine).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(image, np.float32)


def _details(greys: Greys) -> Greys:
    """Greys without their mean over 7 × 7 pixels: what is left when the light changes."""
    from scipy.ndimage import uniform_filter

    return np.asarray(greys - uniform_filter(greys, 7, mode="nearest"), np.float32)


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

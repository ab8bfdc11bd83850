"""Groups of near-duplicates, each with the one to keep proposed; nothing is ever deleted.

Pictures whose vectors are close are candidates, and `registration` says which of them are one
picture. Exact copies are one picture to begin with: its files are all named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.collection.duplicates.registration import SmallPicture, fit
from visterm.collection.ingest.extractors import current_key
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import described
from visterm.errors import UnreadablePicture
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.collection.media.records import PictureRecord
    from visterm.collection.media.thumbnails import Thumbnails

CANDIDATE = 0.6
"""The cosine from which two pictures may be one."""
NEIGHBOURS = 10
"""Candidates of a picture, the closest ones."""
ALIKE = {"cnn-1": 0.82}
"""Where two pictures are one: the mean of the cosine of their vectors and of their correlation when
they are laid over each other, for vectors of which that was measured. Smooth pictures of one kind,
two sunsets, fit each other by chance, and then their vectors differ."""
FITS = 0.84
"""The correlation alone, for other vectors."""
_BLOCK = 1024
_SIDE = 160
FILE = "duplicates.json"


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
    is_one = _rule(extractor)
    small: dict[int, SmallPicture | None] = {}
    joined = _Union()
    for done, ((one, other), cosine) in enumerate(pairs):
        if done % 100 == 0:
            progress("comparing pictures", done, len(pairs))
        if joined.root(one) == joined.root(other):
            continue
        for picture in (one, other):
            if picture not in small:
                small[picture] = _small(records.get(picture), thumbnails)
        first, second = small[one], small[other]
        if first is not None and second is not None and is_one(fit(first, second), cosine):
            joined.join(one, other)
    groups = joined.groups()
    return sorted(
        (_ranked(group, records) for group in groups),
        key=lambda found: (-len(found.others), found.best),
    )


def kept_groups(catalogue: Catalogue) -> tuple[list[DuplicateGroup], bool] | None:
    """The groups that were found last, and whether files have changed since; None for none."""
    try:
        stored = json.loads((catalogue.store / FILE).read_bytes())
        groups = [DuplicateGroup(one["best"], tuple(one["others"])) for one in stored["groups"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return groups, stored["place_changes"] == catalogue.get("place_changes")


def keep_groups(catalogue: Catalogue, groups: Iterable[DuplicateGroup]) -> None:
    """Remember groups beside the catalogue; they can be found again."""
    from visterm.files import write_whole

    said = {
        "place_changes": catalogue.get("place_changes"),
        "groups": [asdict(one) for one in groups],
    }
    write_whole(catalogue.store / FILE, json.dumps(said).encode())


def _rule(extractor: str) -> Callable[[float, float], bool]:
    """Whether two pictures are one, by how they fit and by the cosine of their vectors."""
    if extractor in ALIKE:
        return lambda fits, cosine: (fits + cosine) / 2 >= ALIKE[extractor]
    return lambda fits, cosine: fits >= FITS


def _candidates(
    catalogue: Catalogue, extractor: str, progress: Progress
) -> list[tuple[tuple[int, int], float]]:
    """Pairs of pictures whose vectors are close, with their cosines, the closest first."""
    ids, vectors = _directions(catalogue, extractor)
    found: dict[tuple[int, int], float] = {}
    for first in range(0, len(ids), _BLOCK):
        progress("comparing vectors", first, len(ids))
        near = vectors[first : first + _BLOCK] @ vectors.T
        near[np.arange(len(near)), np.arange(first, first + len(near))] = -1
        k = min(NEIGHBOURS, near.shape[1] - 1)
        if k < 1:
            break
        closest = np.argpartition(-near, k - 1, axis=1)[:, :k]
        for row, places in enumerate(closest.tolist()):
            for place in places:
                if near[row, place] >= CANDIDATE:
                    pair = sorted((int(ids[first + row]), int(ids[place])))
                    found[pair[0], pair[1]] = float(near[row, place])
    return sorted(found.items(), key=lambda pair: -pair[1])


def _directions(
    catalogue: Catalogue, extractor: str
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    pictures = described(catalogue, extractor)
    if pictures is None:
        return np.empty(0, np.int64), np.empty((0, 1), np.float32)
    still = catalogue.db.execute("SELECT id FROM pictures WHERE present > 0 AND video IS NULL")
    ids = np.intersect1d(np.array(still.fetchall(), np.int64).ravel(), pictures.findable)
    vectors = pictures.file.dense(pictures.located(ids)[0])
    return ids, vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _small(record: PictureRecord | None, thumbnails: Thumbnails) -> SmallPicture | None:
    import io

    from PIL import Image

    if record is None:
        return None
    try:
        jpeg = thumbnails.of(record, _SIDE).jpeg
    except UnreadablePicture:
        return None
    return SmallPicture.of(np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB")))


def _ranked(group: list[int], records: dict[int, PictureRecord]) -> DuplicateGroup:
    def worth(one: int) -> tuple[int, int, int]:
        if one not in records:
            return 0, 0, one
        width, height = records[one].pixels or (0, 0)
        return -width * height, -max((file.size for file in records[one].files), default=0), one

    best, *others = sorted(group, key=worth)
    return DuplicateGroup(best, tuple(others))


class _Union:
    """Sets that are joined."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def root(self, one: int) -> int:
        while (above := self._above.get(one, one)) != one:
            one = above
        return one

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self.root(one), self.root(other)))
        self._above[high] = low
        self._above.setdefault(low, low)

    def groups(self) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for one in sorted(self._above):
            found.setdefault(self.root(one), []).append(one)
        return [group for group in found.values() if len(group) > 1]

"""The captioned pictures most alike: what people said about them says something about a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.collection.media.captions import effective_captions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.snapshot import Snapshot
from visterm.index.scan import best
from visterm.text import Vocabulary

NEIGHBOURS = 12
"""Captioned pictures whose phrases and words count."""
SHARPNESS = 20.0
"""How much more the nearest of them count: phrases weigh ``exp(SHARPNESS · cosine)``.

On held-out IAPR TC-12 training pictures these two gave the most right phrases among the first five.
"""
_NEAR, _FALL = 0.75, 10.0
"""What a neighbour's caption says of words weighs ``exp(_FALL · (nearness − _NEAR))``, one at most,
and the model's opinion one; nearness is 0 for a usual picture and 1 for the same. Of some values
these gave the most right labels among the first five on held-out IAPR TC-12 training pictures, and
the best likelihood, with 300 captions as with 16,000."""


_AT_ONCE = 4096
"""Pictures that are compared together."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The captioned pictures with the highest cosines, nearest first, and the usual cosine."""

    pictures: NDArray[np.int64]
    cosines: NDArray[np.float32]
    usual: float

    def weights(self) -> NDArray[np.float64]:
        """How much what each of them says of words counts, beside the model's one."""
        nearness = (self.cosines.astype(np.float64) - self.usual) / max(1 - self.usual, 1e-6)
        return np.exp(np.minimum(_FALL * (nearness - _NEAR), 0.0))


def neighbours_of(
    now: Snapshot, extractor: str, vectors: NDArray[np.float32], own: list[int | None]
) -> list[Neighbours]:
    """For each vector the captioned pictures most alike, itself left out."""
    pictures = now.pictures(extractor)
    if not own or pictures is None:
        return [Neighbours(np.empty(0, np.int64), np.empty(0, np.float32), 0.0) for _ in own]
    captioned = now.catalogue.db.execute("SELECT DISTINCT picture FROM captions ORDER BY picture")
    ids = np.fromiter((picture for (picture,) in captioned), np.int64)
    positions, known = pictures.located(ids)
    ids = ids[known]
    lengths = now.remembered("lengths of vectors", pictures.file.lengths)[positions]
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    near = np.empty((len(own), ids.size), np.float32)
    for first in range(0, ids.size, _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        rows = pictures.file.vectors(positions[part])
        near[:, part] = np.asarray(rows @ units.T).T / np.maximum(lengths[part], 1e-30)
    found = []
    for number, cosines in zip(own, near, strict=True):
        others = ids != number
        nearest = best(ids[others], cosines[others], NEIGHBOURS)
        found.append(Neighbours(*nearest, float(cosines.mean()) if cosines.size else 0.0))
    return found


def with_neighbours(
    catalogue: Catalogue,
    vocabulary: Vocabulary,
    probabilities: NDArray[np.float64],
    neighbours: list[Neighbours],
) -> NDArray[np.float64]:
    """Probabilities of words (pictures × words), after what is said of the pictures most alike.

    ``(Σ_j w_j y_jt + P_t) / (Σ_j w_j + 1)`` with y_jt whether neighbour j's caption holds word t:
    what a model sees is the prior, worth one picture that looks the same.
    """
    everyone = sorted({int(number) for one in neighbours for number in one.pictures})
    texts = effective_captions(catalogue, everyone)
    held = vocabulary.counts([texts.get(number, "") for number in everyone]).astype(bool)
    found = np.array(probabilities, np.float64)
    for row, one in enumerate(neighbours):
        if one.pictures.size:
            weights = one.weights()
            said = held[np.searchsorted(everyone, one.pictures)]
            found[row] = (weights @ said + found[row]) / (weights.sum() + 1)
    return found

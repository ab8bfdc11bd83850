"""What words look like before any caption or click, if pictures are described by a dual encoder.

The encoder's text side gives any word a row in the space of the pictures' vectors; how far products
with it usually spread says what one is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.calibration import Link
from visterm.collection.store.feature_rows import DescribedPictures
from visterm.quick_dataclass import dataclass

SEPARATION = 1.5
"""How many deviations pictures that show a word lie above others, where nobody measured it."""


def word_directions(
    extractor: str, pictures: DescribedPictures, words: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each word a direction whose products part pictures as usual, and their usual value."""
    from visterm.encoders import open_encoder
    from visterm.features.encoder_vectors import encoder_of
    from visterm.starter.encoder_starter import LEAST_SPREAD, usual_values

    named = encoder_of(extractor)
    assert named is not None
    rows = open_encoder(named[0], digest=named[1]).word_rows(words)
    means, deviations = usual_values(pictures.file.products(rows).T)
    slopes = SEPARATION / np.maximum(deviations, LEAST_SPREAD)
    return slopes[:, None] * rows, slopes * means


@dataclass
class EncoderWords:
    """Directions of words; it remembers those it was asked for."""

    extractor: str
    pictures: DescribedPictures
    _known: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def directions(self, words: dict[int, str], link: Link) -> dict[int, NDArray[np.float64]]:
        """For words by their number, directions whose log odds part pictures as usual."""
        if new := [word for word in words.values() if word not in self._known]:
            made, _ = word_directions(self.extractor, self.pictures, new)
            self._known |= dict(zip(new, made.astype(np.float64), strict=True))
        return {number: self._known[word] / link.slopes[number] for number, word in words.items()}

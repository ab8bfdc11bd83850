"""Where words that clicks begin start from, if pictures are described by a dual encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.calibration import Link
from visterm.collection.store.feature_rows import DescribedPictures
from visterm.collection.store.versions import is_encoded

if TYPE_CHECKING:
    from visterm.encoders import Encoder

_SEPARATION = 1.5
"""How many deviations pictures that show a word lie above others, where nobody measured it."""


@dataclass
class EncoderWords:
    """The encoder's rows of words as directions; it remembers those it was asked for."""

    pictures: DescribedPictures
    encoder: Encoder
    _rows: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def directions(self, words: dict[int, str], link: Link) -> dict[int, NDArray[np.float64]]:
        """For words by their number, directions whose log odds part pictures as usual."""
        from visterm.starter.encoder_starter import LEAST_SPREAD, usual_values

        if new := [word for word in words.values() if word not in self._rows]:
            rows = self.encoder.word_rows(new)
            _, spread = usual_values(self.pictures.file.products(rows).T)
            scaled = _SEPARATION * rows / np.maximum(spread, LEAST_SPREAD)[:, None]
            self._rows |= dict(zip(new, scaled.astype(np.float64), strict=True))
        return {number: self._rows[word] / link.slopes[number] for number, word in words.items()}


def encoder_words(extractor: str, pictures: DescribedPictures | None) -> EncoderWords | None:
    """The encoder of the pictures' vectors; None where another extractor made them."""
    if pictures is None or not is_encoded(extractor):
        return None
    from visterm.encoders import open_encoder
    from visterm.features.encoder_vectors import encoder_of

    named = encoder_of(extractor)
    assert named is not None
    return EncoderWords(pictures, open_encoder(named[0], digest=named[1]))

"""An extractor for tests, which a grey picture ends; workers import it from here."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from thumbnails import Thumbnails

from visterm.features.picture_batches import Pixels

DEADLY = 66
"""The grey of which a picture ends its process."""


class Fragile(Thumbnails):
    """Thumbnails, but of one picture."""

    name = "fragile"

    def rows(self, pictures: list[Pixels]) -> NDArray[np.float32]:
        if any((pixels == DEADLY).all() for pixels in pictures):
            os._exit(1)
        return super().rows(pictures)

"""What answers sentences: a text space, CCA's maps, and the pictures' rows in its space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.versions import MODEL, SPACE, Version
from visterm.collection.store.word_model import values_name
from visterm.errors import BadInput
from visterm.index.feature_file import FeatureFile
from visterm.index.mapped_rows import mapped_blocks

if TYPE_CHECKING:
    from visterm.models import Cca
    from visterm.text.spaces import TextSpace

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SpaceModel:
    """A version in a text space of sentences, opened."""

    version: Version
    space: TextSpace
    model: Cca

    def text_row(self, sentence: str) -> Floats:
        """A sentence in the space of the pictures' rows."""
        vector = np.asarray(self.space.queries([sentence]))
        if not vector.any():
            raise BadInput(f"no caption has any word of {sentence!r}; try --space sentences")
        return np.asarray(self.model.text_rows(vector)[0], np.float32)

    def scores(self, rows: FeatureFile, sentence: str) -> Floats:
        """How near a sentence every row is."""
        row = self.text_row(sentence)
        scores = np.empty(len(rows), np.float32)
        name = values_name(self.version)
        for here, mapped in mapped_blocks(rows, name, self.model.picture_rows):
            scores[here] = mapped @ row
        return scores


def open_space_model(version: Version) -> SpaceModel:
    """A version's text space and model."""
    from visterm.models import Cca
    from visterm.text.spaces import load_space

    return SpaceModel(version, load_space(version.folder / SPACE), Cca.load(version.folder / MODEL))

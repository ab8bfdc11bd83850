"""From vectors to rows of an index: the model's map into its text space, and the link after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.versions import WORDS, Version

if TYPE_CHECKING:
    from visterm.features.extractor import Rows as Vectors
    from visterm.models import Model

ToRows: TypeAlias = "Callable[[Vectors], NDArray[np.float32]]"
"""Brings picture vectors into a text space."""


def index_rows(version: Version, model: Model) -> ToRows:
    """How a version's model brings vectors to rows of its index."""
    if version.space == WORDS:
        link = version.link()
        return model.transform if link is None else lambda some: link.rows(model.transform(some))
    from visterm.models import Cca

    assert isinstance(model, Cca)
    return model.picture_rows

"""From vectors to rows of an index: the model's map into its text space, and the link after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.link import log_logistic
from visterm.collection.store.linear_values import linear_weights
from visterm.collection.store.versions import WORDS, Version
from visterm.index.recomputed import Recomputed

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


@dataclass(frozen=True, eq=False)
class LinearRows:
    """The rows of a linear model as its index takes them: products, and what they are worth."""

    version: Version
    model: Model

    def __call__(self, vectors: Vectors) -> NDArray[np.float32]:
        return self.model.transform(vectors)

    @cached_property
    def _lengths(self) -> NDArray[np.float64]:
        weights = linear_weights(self.version)
        assert weights is not None
        return np.sqrt(np.einsum("ij,ij->i", weights, weights, dtype=np.float64))

    def recomputed(self, longest: float) -> Recomputed:
        """By how much products with vectors of some length may be off, however they were added up.

        ``d`` products are off by at most ``d · 2^-24`` times the sum of their absolute values,
        which is at most the product of both lengths; a little more covers the last roundings.
        """
        errors = (self.model.n_features_in_ + 16) * 2.0**-24 * 1.001 * longest * self._lengths
        return Recomputed(errors, self._link)

    def _link(self, words: slice, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        link = self.version.link()
        assert link is not None
        odds = link.intercepts[words, None] + link.slopes[words, None] * numbers
        return np.asarray(log_logistic(odds), np.float64)

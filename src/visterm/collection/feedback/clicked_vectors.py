"""The vectors of clicked pictures around the mean of all, and what a fit needs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from visterm.models.feedback import Metric

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CentredVectors:
    """Vectors x − m, compared in a metric.

    The mean is taken off products, not off vectors: of the blocks in a picture's vector most are
    nought, and what is nought is not multiplied.
    """

    rows: Floats | csr_array
    mean: Floats
    metric: Metric | None

    def __matmul__(self, direction: Floats) -> Floats:
        """Their products with a direction."""
        found: Floats = self.rows @ direction - self.mean @ direction
        return found

    def products(self) -> Floats:
        """Those of each two, in the metric."""
        with_mean = self.rows @ self.mean
        raw = self.rows @ self.rows.T
        dense = raw if isinstance(raw, np.ndarray) else raw.toarray()
        found: Floats = dense - with_mean[:, None] - with_mean + self.mean @ self.mean
        if self.metric is not None:
            whitened = self.rows @ self.metric.rows.T - self.metric.rows @ self.mean
            found -= whitened @ whitened.T
        return found

    def combined(self, coefficients: Floats) -> Floats:
        """Sums of them in the metric, one for each column of coefficients."""
        found: Floats = (self.rows.T @ coefficients).T
        found = found - np.outer(coefficients.sum(axis=0), self.mean)
        return found if self.metric is None else self.metric.applied(found)


def centred(
    vectors: Sequence[NDArray[np.float32]], mean: Floats, metric: Metric | None
) -> CentredVectors:
    """Some vectors as they are stored; they are taken to be sparse where there is no metric, since
    training learns one from all others."""
    rows: Floats | csr_array
    if metric is not None:
        rows = np.array(vectors, np.float64)
    else:
        from scipy.sparse import csr_array

        places = [np.flatnonzero(vector != 0) for vector in vectors]
        pairs = zip(vectors, places, strict=True)
        values = np.concatenate([vector[some] for vector, some in pairs]).astype(np.float64)
        ends = np.cumsum([0, *map(len, places)])
        rows = csr_array((values, np.concatenate(places), ends), shape=(len(vectors), len(mean)))
    return CentredVectors(rows, mean, metric)

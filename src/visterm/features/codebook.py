"""Codebooks: k-means centres, and which of them a vector is nearest to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput


def learn_codebook(
    points: NDArray[np.float32],
    size: int,
    *,
    seed: int = 0,
    rounds: int = 10,
    points_per_centre: int = 40,
) -> NDArray[np.float32]:
    """k-means centres of the points: ``size`` of them, or fewer where there are few points.

    At most ``points_per_centre`` points a centre are looked at, drawn by the seed.

    >>> learn_codebook(np.array([[0.0], [0.1], [5.0], [5.1]], dtype=np.float32), 2).shape
    (2, 1)
    """
    import faiss

    points = np.ascontiguousarray(points, dtype=np.float32)
    if points.ndim != 2 or len(points) == 0:
        raise BadInput(f"a codebook needs points, one a row; the shape is {points.shape}")
    if not np.isfinite(points).all():
        raise BadInput("points of a codebook must be finite numbers")
    distinct = _distinct(points, enough=size)
    if distinct <= size:
        # Every different point is a centre of its own: k-means would split equal ones.
        return np.unique(points, axis=0)
    clustering = faiss.Kmeans(
        points.shape[1],
        size,
        niter=rounds,
        seed=seed + 1,  # faiss takes seed 0 for "none"
        max_points_per_centroid=points_per_centre,
        min_points_per_centroid=1,
    )
    clustering.train(points)
    return np.asarray(clustering.centroids, dtype=np.float32)


def nearest_centres(
    points: NDArray[np.float32], centres: NDArray[np.float32], count: int = 1
) -> NDArray[np.int64]:
    """Numbers of the ``count`` nearest centres of each point, nearest first.

    >>> centres = np.array([[0.0], [5.0]], dtype=np.float32)
    >>> nearest_centres(np.array([[4.0]], dtype=np.float32), centres, 2).tolist()
    [[1, 0]]
    """
    import faiss

    points = np.ascontiguousarray(points, dtype=np.float32)
    _, numbers = faiss.knn(points, centres, min(count, len(centres)))
    return np.asarray(numbers, dtype=np.int64)


def _distinct(points: NDArray[np.float32], *, enough: int) -> int:
    """How many different points there are; counting stops when there are clearly enough."""
    sample = points[: 4 * enough + 64]
    found = len(np.unique(sample, axis=0))
    return found if found > enough or len(sample) == len(points) else len(np.unique(points, axis=0))

"""Codebooks: k-means centres, and which of them a vector is nearest to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput


def learn_codebook(
    points: NDArray[np.float32],
    size: int,
    *,
    random_state: int = 0,
    max_iter: int = 10,
    points_per_centre: int = 40,
) -> NDArray[np.float32]:
    """k-means centres of the points: ``size`` of them, or fewer where there are few points.

    At most ``points_per_centre`` points a centre are looked at, drawn by the random state.

    >>> learn_codebook(np.array([[0.0], [0.1], [5.0], [5.1]], dtype=np.float32), 2).shape
    (2, 1)
    """
    import faiss

    points = np.ascontiguousarray(points, dtype=np.float32)
    if size < 1:
        raise BadInput(f"a codebook has at least one centre, not {size}")
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
        niter=max_iter,
        seed=random_state % (2**31 - 1) + 1,  # faiss takes a C int, and 0 for "none"
        max_points_per_centroid=points_per_centre,
        min_points_per_centroid=1,
    )
    clustering.train(points)
    return np.asarray(clustering.centroids, dtype=np.float32)


def nearest_centres(
    points: NDArray[np.float32], centres: NDArray[np.float32], count: int = 1
) -> NDArray[np.int64]:
    """Numbers of the ``count`` nearest centres of each point, nearest first.

    Of equally near centres the first is taken. The answer for a point does not depend on the other
    points: rounding in the fast product does, so points too near to a border are measured exactly.

    >>> centres = np.array([[0.0], [5.0]], dtype=np.float32)
    >>> nearest_centres(np.array([[4.0]], dtype=np.float32), centres, 2).tolist()
    [[1, 0]]
    """
    import faiss

    points = np.ascontiguousarray(points, dtype=np.float32)
    if points.ndim != 2 or points.shape[1] != centres.shape[1]:
        raise BadInput(f"points {points.shape} do not fit centres {centres.shape}")
    if not np.isfinite(points).all():
        raise BadInput("points must be finite numbers")
    count = min(count, len(centres))
    distances, numbers = faiss.knn(points, centres, min(count + 1, len(centres)))
    unsure = _may_be_rounding(points, distances)
    if unsure.any():
        numbers[unsure, :count] = _nearest_exactly(points[unsure], centres, count)
    return np.asarray(numbers[:, :count], dtype=np.int64)


def _may_be_rounding(
    points: NDArray[np.float32], distances: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Which points have two neighbouring distances closer than the error of their computation.

    ``‖x‖² − 2 x·y + ‖y‖²`` in single precision is off by at most about (d + 3) ε/2 (‖x‖ + ‖y‖)².
    """
    length = np.linalg.norm(points, axis=1)
    farthest = 2 * length + np.sqrt(np.maximum(distances[:, -1], 0))  # ≥ ‖x‖ + ‖y‖
    error = (points.shape[1] + 3) * np.finfo(np.float32).eps / 2 * farthest**2
    return (np.diff(distances, axis=1) <= 2 * error[:, None]).any(axis=1)


def _nearest_exactly(
    points: NDArray[np.float32], centres: NDArray[np.float32], count: int
) -> NDArray[np.int64]:
    """Nearest centres by the definition, in double precision."""
    from scipy.spatial.distance import cdist

    # Border cases are rare, except where flat blocks repeat one point very often.
    distinct, place = np.unique(points, axis=0, return_inverse=True)
    exact = centres.astype(np.float64)
    numbers = [
        np.argsort(cdist(some, exact, "sqeuclidean"), axis=1, kind="stable")[:, :count]
        for some in np.split(distinct.astype(np.float64), range(256, len(distinct), 256))
    ]
    return np.concatenate(numbers)[place.ravel()]


def _distinct(points: NDArray[np.float32], *, enough: int) -> int:
    """How many different points there are; counting stops when there are clearly enough."""
    sample = points[: 4 * enough + 64]
    found = len(np.unique(sample, axis=0))
    return found if found > enough or len(sample) == len(points) else len(np.unique(points, axis=0))

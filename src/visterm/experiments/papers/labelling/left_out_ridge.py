"""Kernel ridge regression of labels, with what each training picture gets from all the others.

``ŷ(p) = Yᵀ (K + λI)⁻¹ k(p)``; without its own labels, training picture i would be estimated at
``y_i − α_i / (K + λI)⁻¹_ii`` with ``α = (K + λI)⁻¹ Y``, so that nothing is learnt twice.

G. Cawley and N. Talbot, Neural Networks 2004.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import spotri

from visterm.kernels import RBF

Rows = NDArray[np.float32]
_EXACT, _LANDMARKS = 24_000, 4096
"""So many pictures are compared with each other; more of them with so many landmarks."""


class Estimates(NamedTuple):
    """Pictures × labels: of pictures that are asked about, and of training pictures by the rest."""

    asked: Rows
    left_out: Rows


def ridge_estimates(
    pictures: Rows, labels: Rows, asked: Rows, *, gamma: float, ridge: float, seed: int = 0
) -> Estimates:
    """Estimates by an RBF kernel.

    >>> pictures, labels = np.float32([[0], [0.1], [5]]), np.float32([[1], [1], [0]])
    >>> found = ridge_estimates(pictures, labels, pictures[:1], gamma=1.0, ridge=0.1)
    >>> bool(found.asked[0, 0] > found.left_out[0, 0] > 0.8)
    True
    """
    kernel = RBF(gamma).fit(pictures)
    if len(pictures) <= _EXACT:
        weights, left_out = _exact(kernel(pictures), labels, ridge)
        return Estimates(kernel(asked, pictures) @ weights, left_out)
    order = np.random.default_rng(seed).permutation(len(pictures))
    landmarks = pictures[np.sort(order[:_LANDMARKS])]
    weights, left_out = _on_landmarks(
        kernel(pictures, landmarks), ridge * kernel(landmarks), labels
    )
    return Estimates(kernel(asked, landmarks) @ weights, left_out)


def _exact(table: Rows, labels: Rows, ridge: float) -> tuple[Rows, Rows]:
    """Weights of the pictures, and left-out estimates; the table is spent."""
    table[np.diag_indices_from(table)] += np.float32(ridge)
    # A symmetric table is its own transpose, which is how LAPACK wants it: nothing is copied.
    factor, lower = cho_factor(table.T, lower=True, overwrite_a=True, check_finite=False)
    weights = np.asarray(cho_solve((factor, lower), labels, check_finite=False), np.float32)
    inverse, _ = spotri(factor, lower=1, overwrite_c=1)
    return weights, np.asarray(labels - weights / np.diag(inverse)[:, None], np.float32)


def _on_landmarks(known: Rows, penalty: Rows, labels: Rows) -> tuple[Rows, Rows]:
    system = known.T @ known + penalty
    system[np.diag_indices_from(system)] += 1e-5 * np.trace(system) / len(system)
    factor = cho_factor(system, check_finite=False)
    weights = np.asarray(cho_solve(factor, known.T @ labels), np.float32)
    own = np.einsum("ij,ji->i", known, cho_solve(factor, known.T))
    left_out = labels - (labels - known @ weights) / (1 - own)[:, None]
    return weights, np.asarray(left_out, np.float32)

"""PAMIR's update, stated once: the kernels compile it, single triplets and clicks call it.

A triplet (q, p⁺, p⁻) asks ``q·W p⁺ ≥ q·W p⁻ + ε``. Its loss is ``l = max(0, ε − q·W(p⁺ − p⁻))``,
and W moves by the smallest step that mends it, but no further than the aggressiveness C allows:
``τ = min(C, l / ‖v‖²)`` and ``W += τ v`` with ``v = q ⊗ (p⁺ − p⁻)``, ``‖v‖² = ‖q‖² ‖p⁺ − p⁻‖²``.

K. Crammer et al., Online passive-aggressive algorithms, JMLR 7, 2006; D. Grangier and S. Bengio,
IEEE TPAMI 30(8), 2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def step_size(loss: Any, square: Any, C: Any) -> Any:
    """τ; 0 where nothing is violated, or where both pictures look the same.

    >>> step_size(1.0, 4.0, C=0.1), step_size(1.0, 20.0, C=0.1), float(step_size(-1.0, 4.0, C=0.1))
    (0.1, 0.05, 0.0)
    """
    if loss <= 0 or square <= 0:
        return np.float32(0)
    return min(C, loss / square)


def update(
    weights: NDArray[np.float32],
    query: NDArray[np.float32],
    difference: NDArray[np.float32],
    margin: float,
    C: float,
) -> float:
    """Move the weights, in place, for one triplet; returns its loss before the step.

    >>> weights = np.zeros((1, 2), np.float32)
    >>> update(weights, np.float32([1]), np.float32([1, -1]), margin=1.0, C=0.1)
    1.0
    >>> weights.round(2).tolist()
    [[0.10000000149011612, -0.10000000149011612]]
    """
    loss = max(0.0, margin - float(query @ (weights @ difference)))
    tau = step_size(loss, float(query @ query) * float(difference @ difference), C)
    weights += tau * np.outer(query, difference)
    return loss

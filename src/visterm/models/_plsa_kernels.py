"""The compiled loop of PLSA: one half of an EM step.

Both halves have one form. With counts c between rows i and columns j, and their factors a_i and b_j
over the aspects, the posterior of aspect k for a pair is ``a_ik b_jk / (a_i·b_j)``, so the new
factors, before they are normalised, are ``a_ik · Σ_j c_ij / (a_i·b_j) · b_jk``. Rows do not touch
each other: however they are shared out among threads, the result is the same.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def half_step(starts, columns, values, rows, others, first, last, new, likelihood):  # type: ignore[no-untyped-def]
    """Fill the rows from first to last of ``new`` and of ``likelihood``, ``Σ_j c_ij log a_i·b_j``.

    A pair that no aspect explains is passed over: no step could ever explain it.
    """
    aspects = rows.shape[1]
    share = np.empty(aspects)
    for i in range(first, last):
        mine = rows[i]
        share[:] = 0.0
        known = 0.0
        for at in range(starts[i], starts[i + 1]):
            other = others[columns[at]]
            probability = 0.0
            for k in range(aspects):
                probability += mine[k] * other[k]
            if probability <= 0.0:
                continue
            known += values[at] * np.log(probability)
            weight = values[at] / probability
            for k in range(aspects):
                share[k] += weight * other[k]
        likelihood[i] = known
        for k in range(aspects):
            # What has all but vanished becomes zero, before it is a slow subnormal number.
            product = mine[k] * share[k]
            new[i, k] = product if product > 1e-100 else 0.0

"""Vectors of several extractors as one: side by side, normalised, weighted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from visterm.errors import BadInput
from visterm.features.extractor import Rows
from visterm.matrices import unit_rows

NORMALISATIONS = ("each", "late")
MOST_DENSE = 4096
"""Beside compressed rows, a dense part may have so many columns: there each costs 8 bytes."""


def join_rows(
    parts: Sequence[Rows], weights: Sequence[float] | None = None, *, normalise: str = "each"
) -> Rows:
    """Rows of several extractors side by side, of unit length.

    Parameters
    ----------
    parts : sequence of rows
        The same pictures in each. Only if all are dense is the result; otherwise it is compressed
        rows, in which every number of a dense part takes 8 bytes instead of 4.
    weights : sequence of float, optional
        What each part is multiplied with; equal by default.
    normalise : {"each", "late"}
        Each part to unit length before they are joined, so that none drowns the others, or only
        once afterwards, as the ECML paper joins blobs and SIFT.

    Examples
    --------
    >>> one, other = np.array([[3.0, 4.0]]), np.array([[5.0]])
    >>> join_rows([one, other], normalise="late").round(3).tolist()
    [[0.424, 0.566, 0.707]]
    >>> join_rows([one, csr_array(other)], [1, 0]).toarray().round(3).tolist()
    [[0.6, 0.8, 0.0]]
    """
    _check_parts(parts)
    given = check_weights(weights, len(parts))
    if normalise not in NORMALISATIONS:
        raise BadInput(f"parts are normalised {' or '.join(NORMALISATIONS)}, not {normalise!r}")
    scaled = [
        (unit_rows(part) if normalise == "each" else part) * np.float32(weight)
        for part, weight in zip(parts, given, strict=True)
    ]
    if any(issparse(part) for part in parts):
        return unit_rows(csr_array(hstack([csr_array(part) for part in scaled], format="csr")))
    return unit_rows(np.concatenate(scaled, axis=1))


def check_weights(weights: Sequence[float] | None, parts: int) -> list[float]:
    """The weights as given, or equal ones; refuse those that do not fit."""
    given = [1.0] * parts if weights is None else [float(weight) for weight in weights]
    if len(given) != parts:
        raise BadInput(f"{parts} parts need so many weights, not {len(given)}")
    if not np.isfinite(given).all() or min(given) < 0 or max(given) == 0:
        raise BadInput(f"weights are 0 or more, and one is above 0; these are {given}")
    return given


def _check_parts(parts: Sequence[Rows]) -> None:
    if not parts:
        raise BadInput("there is nothing to join")
    for part in parts:
        if part.ndim != 2:
            raise BadInput(f"rows of shape {part.shape} cannot be joined; one vector a picture can")
    if len({part.shape[0] for part in parts}) > 1:
        rows = ", ".join(str(part.shape[0]) for part in parts)
        raise BadInput(f"parts speak of different numbers of pictures: {rows}")
    if any(issparse(part) for part in parts):
        widest = max((p.shape[1] for p in parts if not issparse(p)), default=0)
        if widest > MOST_DENSE:
            raise BadInput(
                f"a dense part of {widest} columns is too wide to join to sparse ones; at most "
                f"{MOST_DENSE} are sensible"
            )

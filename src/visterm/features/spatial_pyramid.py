"""Where in a picture something is: the cells of a spatial pyramid.

A level cuts a picture into cells: ``whole`` is one, ``thirds`` are three bands from top to bottom
(sky, middle, ground), ``quarters`` are two by two.

S. Lazebnik, C. Schmid and J. Ponce, CVPR 2006.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput

Places = NDArray[np.float32]
"""Middles of local descriptors, (x, y) each from 0 to 1 across the picture."""

LEVELS: dict[str, tuple[int, int]] = {"whole": (1, 1), "thirds": (3, 1), "quarters": (2, 2)}
"""Rows and columns of each level."""


def cells_in(level: str) -> int:
    """How many cells a level has.

    >>> [cells_in(level) for level in LEVELS]
    [1, 3, 4]
    """
    rows, columns = LEVELS[level]
    return rows * columns


def cells_at(places: Places, level: str) -> NDArray[np.int64]:
    """The number of the cell each place lies in, row by row from the top left.

    >>> cells_at(np.array([[0.1, 0.1], [0.9, 0.1], [0.9, 0.9]]), "quarters").tolist()
    [0, 1, 3]
    """
    rows, columns = LEVELS[level]
    column = np.clip((places[:, 0] * columns).astype(np.int64), 0, columns - 1)
    row = np.clip((places[:, 1] * rows).astype(np.int64), 0, rows - 1)
    return row * columns + column


def pool_grid(grid: NDArray[np.float32], level: str) -> NDArray[np.float32]:
    """Means of a grid's vectors over each cell of a level: (n, h, w, d) to (n, cells, d).

    A row or column of the grid that a border cuts through counts in both cells by its share.

    >>> pool_grid(np.array([0.0, 3.0, 6.0]).reshape(1, 1, 3, 1), "quarters").ravel().tolist()
    [1.0, 5.0, 1.0, 5.0]
    """
    rows, columns = LEVELS[level]
    n, h, w, d = grid.shape
    down, across = _shares(h, rows), _shares(w, columns)
    pooled = np.einsum("ah,bw,nhwd->nabd", down, across, grid, optimize=True)
    return pooled.reshape(n, rows * columns, d).astype(np.float32)


def check_levels(levels: Sequence[str], weights: Sequence[float] | None) -> None:
    """Refuse levels that do not exist, and weights that do not fit them."""
    unknown = [level for level in levels if level not in LEVELS]
    if not levels or unknown or len(set(levels)) < len(levels) or isinstance(levels, str):
        raise BadInput(
            f"a pyramid is one or more of {', '.join(LEVELS)}, each once, not {levels!r}"
        )
    if weights is not None and (len(weights) != len(levels) or min(weights) <= 0):
        raise BadInput(f"{len(levels)} levels need so many weights above 0, not {weights!r}")


def _shares(length: int, cells: int) -> NDArray[np.float64]:
    """Cells × length: how much of a cell each step of the grid covers; rows sum to one."""
    edges = np.arange(length + 1) * cells / length
    cell = np.arange(cells)[:, None]
    return np.clip(np.minimum(edges[1:], cell + 1) - np.maximum(edges[:-1], cell), 0, None)

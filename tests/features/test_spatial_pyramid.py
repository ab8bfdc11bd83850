"""Cells of a spatial pyramid."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import BadInput
from visterm.features.spatial_pyramid import LEVELS, cells_at, cells_in, check_levels, pool_grid


@pytest.mark.parametrize("level", LEVELS)
def test_every_place_lies_in_one_cell_and_cells_are_equally_large(level: str) -> None:
    x, y = np.meshgrid((np.arange(60) + 0.5) / 60, (np.arange(60) + 0.5) / 60)
    cells = cells_at(np.stack([x.ravel(), y.ravel()], axis=1), level)
    assert np.bincount(cells).tolist() == [3600 // cells_in(level)] * cells_in(level)


def test_thirds_run_from_top_to_bottom_and_quarters_row_by_row() -> None:
    places = np.array([[0.9, 0.0], [0.1, 0.5], [0.5, 1.0]], dtype=np.float32)
    assert cells_at(places, "thirds").tolist() == [0, 1, 2]
    assert cells_at(places, "quarters").tolist() == [1, 2, 3]
    assert cells_at(places[:0], "quarters").shape == (0,)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("side", [1, 2, 7])
def test_a_pooled_cell_is_the_mean_over_its_part_of_the_grid(level: str, side: int) -> None:
    grid = np.random.default_rng(0).random((2, side, side, 3)).astype(np.float32)
    rows, columns = LEVELS[level]
    fine = grid.repeat(rows * columns * 6, axis=1).repeat(rows * columns * 6, axis=2)
    h, w = fine.shape[1] // rows, fine.shape[2] // columns
    slowly = [
        fine[:, r * h : (r + 1) * h, c * w : (c + 1) * w].mean(axis=(1, 2), dtype=float)
        for r in range(rows)
        for c in range(columns)
    ]
    assert np.allclose(pool_grid(grid, level), np.stack(slowly, axis=1), atol=1e-6)


@pytest.mark.parametrize("levels", [(), "whole", ("whole", "whole"), ("eighths",)])
def test_levels_that_do_not_exist_are_refused(levels: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="one or more of whole, thirds, quarters"):
        check_levels(levels, None)


def test_weights_must_fit_the_levels() -> None:
    check_levels(("whole", "thirds"), (1.0, 0.5))
    with pytest.raises(BadInput, match="2 levels need so many weights above 0"):
        check_levels(("whole", "thirds"), (1.0,))
    with pytest.raises(BadInput, match="above 0"):
        check_levels(("whole", "thirds"), (1.0, 0.0))

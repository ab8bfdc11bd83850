"""The CNN's grid over a spatial pyramid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from visterm.errors import BadInput
from visterm.features import CNN, CNNPyramid

DEPTH = 1280


def test_the_whole_alone_is_the_pooled_vector(scenes: list[np.ndarray]) -> None:
    whole = CNNPyramid(pyramid=("whole",)).transform(scenes[:2])
    assert np.allclose(whole, CNN().transform(scenes[:2]), atol=1e-4)


def test_each_cell_has_unit_length_before_levels_are_weighted(scenes: list[np.ndarray]) -> None:
    pyramid = CNNPyramid(pyramid=("whole", "thirds"), level_weights=(1.0, 3.0))
    rows = pyramid.fit().transform(scenes[:2])
    lengths = np.linalg.norm(rows.reshape(2, 4, DEPTH), axis=2)
    expected = np.array([1, *[3 / 3**0.5] * 3]) / 10**0.5
    assert np.allclose(lengths, expected, atol=1e-5)


def test_thirds_tell_top_from_bottom() -> None:
    rng = np.random.default_rng(0)
    grids = np.zeros((2, 49, DEPTH), dtype=np.float32)
    grids[0, :14], grids[1, -14:] = (rng.random((14, DEPTH)) for _ in range(2))
    top, bottom = CNNPyramid(pyramid=("thirds",)).pool(grids).reshape(2, 3, DEPTH)
    assert np.linalg.norm(top, axis=1)[[0, 2]].tolist() == pytest.approx([1, 0])
    assert np.linalg.norm(bottom, axis=1)[[0, 2]].tolist() == pytest.approx([0, 1])


def test_it_can_be_kept_and_says_what_is_wrong(tmp_path: Path) -> None:
    CNNPyramid(pyramid=("quarters",)).save(tmp_path / "pyramid")
    assert CNNPyramid.load(tmp_path / "pyramid").pyramid == ("quarters",)
    with pytest.raises(BadInput, match="one or more of"):
        CNNPyramid(pyramid=("halves",)).fit()

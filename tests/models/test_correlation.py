from __future__ import annotations

import numpy as np
import pytest

from visterm.models.cca import Moments, canonical, moments


@pytest.mark.parametrize("ridge", [0.1, 1.0])
@pytest.mark.parametrize(("rows", "width"), [(200, 50), (40, 300)])
def test_fewer_rows_than_dimensions_give_what_the_whole_covariance_gives(
    rows: int, width: int, ridge: float
) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, width))
    y = x[:, :20] @ random.standard_normal((20, 15)) + random.standard_normal((rows, 15))
    found = canonical(moments(x, y), x_ridge=ridge, y_ridge=ridge, dimensions=10)
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    whole = Moments(x.mean(axis=0), y.mean(axis=0), a.T @ a / rows, b.T @ b / rows, a.T @ b / rows)
    expected = canonical(whole, x_ridge=ridge, y_ridge=ridge, dimensions=10)
    np.testing.assert_allclose(found.correlations, expected.correlations, rtol=1e-9)
    np.testing.assert_allclose(a @ found.x_map, a @ expected.x_map, atol=1e-9)
    np.testing.assert_allclose(b @ found.y_map, b @ expected.y_map, atol=1e-9)


def test_wide_rows_are_never_squared() -> None:
    """A covariance of 60,000 dimensions would take 29 GB."""
    random = np.random.default_rng(1)
    x = random.standard_normal((20, 60_000)).astype(np.float32)
    found = canonical(moments(x, x[:, :5]), x_ridge=0.1, y_ridge=0.1, dimensions=5)
    assert found.x_map.shape == (60_000, 5)


def test_parts_sum_up_to_the_moments_of_all_rows():
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((9000, 6)) + np.linspace(0, 3, 9000)[:, None]).astype(np.float32)
    y = (x[:, :4] + rng.standard_normal((9000, 4))).astype(np.float32)
    found, x, y = moments(x, y), x.astype(np.float64), y.astype(np.float64)
    np.testing.assert_allclose(found.x_mean, x.mean(axis=0), atol=1e-6)
    joint = np.cov(x.T, y.T, bias=True)
    for ours, theirs in (
        (found.xx, joint[:6, :6]),
        (found.yy, joint[6:, 6:]),
        (found.xy, joint[:6, 6:]),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)

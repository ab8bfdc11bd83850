from __future__ import annotations

import numpy as np
import pytest

from visterm.collection.feedback.regression import centred
from visterm.models.feedback import Metric


@pytest.mark.parametrize("is_sparse", [True, False])
def test_products_and_sums_are_those_of_vectors_less_their_mean(is_sparse: bool) -> None:
    rng = np.random.default_rng(5)
    everything = rng.normal(3, 2, (80, 40)).astype(np.float32)
    everything[rng.random(everything.shape) < 0.8 * is_sparse] = 0
    everything[7] = 0
    metric = None if is_sparse else Metric.of(everything, rank=9)
    mean = everything.mean(axis=0, dtype=np.float64)
    some = [everything[n] for n in (7, 3, 60, 3, 11)]
    found = centred(some, mean, metric)

    less = np.array(some, np.float64) - mean
    compared = np.eye(40)
    if metric is not None:
        compared -= metric.rows.T.astype(np.float64) @ metric.rows
    direction, coefficients = rng.normal(size=40), rng.normal(size=(5, 2))
    np.testing.assert_allclose(found @ direction, less @ direction, rtol=1e-6)
    np.testing.assert_allclose(found.products(), less @ compared @ less.T, rtol=1e-5, atol=1e-4)
    expected = coefficients.T @ less @ compared
    np.testing.assert_allclose(found.combined(coefficients), expected, rtol=1e-5, atol=1e-5)

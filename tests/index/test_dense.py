"""The promise holds for dense text spaces too."""

from __future__ import annotations

import tempfile

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visterm.index import DenseIndex
from visterm.index.score import best, scores


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pictures=st.one_of(st.integers(1, 40), st.integers(17_000, 18_000)),
    words=st.sampled_from([1, 3, 40]),
    scale=st.sampled_from([1e-44, 1.0, 1e17, 3e38]),
    skew=st.sampled_from(["normal", "rounded", "near"]),
    share=st.sampled_from([None, 0.01, 0.7]),
    k=st.sampled_from([0, 1, 20, 6000]),
    seed=st.integers(0, 2**32),
)
def test_search_equals_the_full_sort(quick, pictures, words, scale, skew, share, k, seed) -> None:
    rng = np.random.default_rng(seed)
    rows = np.clip(rng.standard_normal((pictures, words)), -1, 1)
    vector = rng.standard_normal(words) * rng.integers(0, 2, words)
    if skew == "rounded":
        rows, vector = np.round(rows), np.round(vector)
    elif skew == "near":  # All scores within the error of a product in single precision.
        rows, vector = 1 - np.abs(rows) * 2e-7, np.ones(words)
    rows = (rows * scale).astype(np.float32)
    vector = (vector * min(scale, 1e20)).astype(np.float32)
    gone = rng.choice(pictures, pictures // 10, replace=False)
    allow = None if share is None else np.flatnonzero(rng.random(pictures) < share)
    kept = np.setdiff1d(np.arange(pictures) if allow is None else allow, gone)
    expected = best(kept, scores(vector, rows[kept].T, kept.size), k)
    with tempfile.TemporaryDirectory(dir=quick) as folder:
        index = DenseIndex.create(folder, words=words)
        for ids in (np.arange(pictures // 2, pictures), np.arange(pictures // 2)):
            index.append(rows[ids], ids)
        index.remove(gone)
        found = index.search(vector, k, allow=allow)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])

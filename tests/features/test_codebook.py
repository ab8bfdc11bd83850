"""Codebooks: what k-means gives at its edges, and nearest centres against brute force."""

from __future__ import annotations

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import BadInput
from visterm.features.codebook import learn_codebook, nearest_centres


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def nearest_slowly(points: np.ndarray, centres: np.ndarray, count: int) -> np.ndarray:
    away = ((points[:, None].astype(np.float64) - centres.astype(np.float64)) ** 2).sum(axis=2)
    return np.argsort(away, axis=1, kind="stable")[:, :count]


def test_centres_sit_where_the_points_are() -> None:
    corners = np.array([[0, 0], [0, 9], [9, 0], [9, 9]], dtype=np.float32)
    near = np.repeat(corners, 50, axis=0) + 0.1 * points(200, 2)
    centres = learn_codebook(near, 4, max_iter=20, random_state=2)
    assert sorted(nearest_centres(corners, centres).ravel()) == [0, 1, 2, 3]


def test_centres_are_the_means_of_their_points() -> None:
    given_points = points(500, 3)
    centres = learn_codebook(given_points, 5, max_iter=200, points_per_centre=500)
    owner = nearest_centres(given_points, centres).ravel()
    means = np.array([given_points[owner == c].mean(axis=0) for c in range(5)])
    assert np.allclose(centres, means, atol=1e-4)


def test_with_fewer_points_than_centres_every_point_is_a_centre() -> None:
    given_points = points(7, 3)
    centres = learn_codebook(given_points, 20)
    assert centres.shape == (7, 3)
    assert {tuple(c) for c in centres} == {tuple(p) for p in given_points}


def test_equal_points_make_one_centre() -> None:
    few = np.repeat(points(6, 4), 100, axis=0)
    assert learn_codebook(few, 6).shape == (6, 4)
    assert learn_codebook(few, 50).shape == (6, 4)
    assert learn_codebook(np.zeros((1000, 2), np.float32), 10).tolist() == [[0.0, 0.0]]


def test_as_many_different_points_as_centres_are_the_centres() -> None:
    corners = np.repeat(points(5, 2), [1, 1, 1, 1, 500], axis=0)
    assert np.array_equal(learn_codebook(corners, 5), np.unique(corners, axis=0))


def test_equal_points_after_many_different_ones_are_noticed() -> None:
    late = np.concatenate([np.zeros((5000, 1)), np.arange(30)[:, None]]).astype(np.float32)
    assert len(learn_codebook(late, 40)) == 30


def test_more_different_points_than_centres_give_as_many_as_asked() -> None:
    crowded = np.concatenate([np.zeros((500, 2), np.float32), points(40, 2)])
    centres = learn_codebook(crowded, 20)
    assert centres.shape == (20, 2)
    assert np.isfinite(centres).all()


def test_the_seed_decides_the_centres() -> None:
    given_points = points(3000, 8)
    again = learn_codebook(given_points, 30, random_state=4)
    assert np.array_equal(learn_codebook(given_points, 30, random_state=4), again)
    assert not np.array_equal(learn_codebook(given_points, 30, random_state=5), again)
    assert np.isfinite(learn_codebook(given_points, 30, random_state=2**40)).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_points_that_are_no_numbers_are_refused(wrong: float) -> None:
    spoilt = points(50, 3)
    spoilt[17, 1] = wrong
    with pytest.raises(BadInput, match="finite"):
        learn_codebook(spoilt, 4)
    with pytest.raises(BadInput, match="finite"):
        nearest_centres(spoilt, points(4, 3))


@pytest.mark.parametrize("shape", [(0, 3), (5,), (2, 2, 2)])
def test_a_codebook_without_points_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="needs points"):
        learn_codebook(np.zeros(shape, np.float32), 4)


def test_a_codebook_without_centres_is_refused() -> None:
    with pytest.raises(BadInput, match="at least one centre"):
        learn_codebook(points(9, 2), 0)


def test_points_that_do_not_fit_the_centres_are_refused() -> None:
    with pytest.raises(BadInput, match="do not fit"):
        nearest_centres(points(5, 3), points(5, 4))


@pytest.mark.parametrize("n", [1, 19, 20, 300])
@pytest.mark.parametrize("count", [1, 3, 60])
def test_nearest_centres_equal_brute_force(n: int, count: int) -> None:
    some, centres = points(n, 9), points(50, 9, seed=1)
    found = nearest_centres(some, centres, count)
    assert found.dtype == np.int64
    assert np.array_equal(found, nearest_slowly(some, centres, count))


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_of_equally_near_centres_the_first_is_taken(seed: int, n: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    some = rng.integers(0, 3, (n, 3)).astype(np.float32)
    centres = rng.integers(0, 3, (12, 3)).astype(np.float32)
    found = nearest_centres(some, centres, count)
    assert np.array_equal(found, nearest_slowly(some, centres, count))


@pytest.mark.parametrize("product_from", [1, 10**9])
def test_nearest_centres_do_not_depend_on_the_other_points(product_from: int) -> None:
    """Faiss multiplies matrices from so many points on, and measures differences below that."""
    some, centres = 300 + points(500, 20), 300 + points(40, 20, seed=1)
    expected = nearest_slowly(some, centres, 1)
    usual = faiss.cvar.distance_compute_blas_threshold
    try:
        faiss.cvar.distance_compute_blas_threshold = product_from
        if product_from == 1:  # so far from the origin, the product loses most of the digits
            assert not np.array_equal(faiss.knn(some, centres, 1)[1], expected)
        for threads in (1, 2, 3):
            faiss.omp_set_num_threads(threads)
            assert np.array_equal(nearest_centres(some, centres), expected)
        for number in range(0, len(some), 7):
            alone = nearest_centres(some[number : number + 1], centres)
            assert np.array_equal(alone, expected[[number]])
    finally:
        faiss.cvar.distance_compute_blas_threshold = usual
        faiss.omp_set_num_threads(1)

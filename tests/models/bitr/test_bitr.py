"""BITR against a general convex solver, and its most violated outputs against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from visterm.errors import BadInput
from visterm.models import Bitr
from visterm.models.bitr._kernels import small_dual
from visterm.models.bitr.losses import outputs_of


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def pairs(n=9, p=3, q=2, seed=0):
    rng = np.random.default_rng(seed)
    return unit(rng.standard_normal((n, p))), unit(rng.standard_normal((n, q)))


def on_circle(count=20_000):
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.column_stack([np.cos(angle), np.sin(angle)])


DELTA = {
    "correlation": lambda y, other: 1 - other @ y,
    "euclidean": lambda y, other: np.square(other - y).sum(axis=1),
    "manhattan": lambda y, other: np.abs(other - y).sum(axis=1),
}


@pytest.mark.parametrize("loss", DELTA)
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 5))
def test_no_output_on_the_circle_violates_more_than_the_one_found(loss, seed, length):
    rng = np.random.default_rng(seed)
    y = unit(rng.standard_normal((1, 2)))
    s = (unit(rng.standard_normal((1, 2))) * length).astype(np.float32)
    found = outputs_of(loss, y, simplex=False).worst(s)
    everywhere = on_circle()
    slack = DELTA[loss](y[0], everywhere) + everywhere @ s[0] - y[0] @ s[0]
    if loss == "manhattan":  # which has no closed form there: how often it is reached, see below
        assert found.slack <= slack.max() + 1e-3
    else:
        assert found.slack == pytest.approx(slack.max(), abs=1e-3)
    worst = y - found.differences
    assert np.linalg.norm(worst) == pytest.approx(1, abs=1e-5)
    assert found.loss == pytest.approx(DELTA[loss](y[0], worst)[0], abs=1e-5)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 5))
def test_no_corner_of_the_simplex_violates_more_than_the_one_found(seed, length):
    rng = np.random.default_rng(seed)
    y = rng.dirichlet(np.ones(4), 1).astype(np.float32)
    s = (rng.standard_normal((1, 4)) * length).astype(np.float32)
    inside = np.vstack([np.eye(4), rng.dirichlet(np.ones(4), 500)])
    slack = DELTA["manhattan"](y[0], inside) + inside @ s[0] - y[0] @ s[0]
    assert outputs_of("manhattan", y, simplex=True).worst(s).slack == pytest.approx(
        slack.max(), abs=1e-4
    )


@pytest.mark.parametrize("numbers", [2, 6])
def test_turns_on_the_sphere_nearly_always_find_the_best_of_all_signs(numbers):
    rng = np.random.default_rng(3)
    reached = []
    signs = np.array(list(product((-1.0, 1.0), repeat=numbers)))
    for _ in range(400):
        y = unit(rng.standard_normal((1, numbers)))
        s = (rng.standard_normal((1, numbers)) * rng.exponential(1.0)).astype(np.float32)
        best = (signs @ y[0] + np.linalg.norm(s - signs, axis=1)).max() - s[0] @ y[0]
        found = outputs_of("manhattan", y, simplex=False).worst(s).slack
        assert found <= best + 1e-4
        reached.append(found >= best - 1e-4)
    assert np.mean(reached) > 0.97


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize(("loss", "pull"), [("correlation", 1.0), ("euclidean", 2.0)])
def test_reaches_the_objective_of_a_general_solver_on_the_sphere(loss, pull, C):
    X, Y = (side.astype(np.float64) for side in pairs())

    def objective(flat):
        W = flat.reshape(3, 2)
        S = X @ W
        far = np.linalg.norm(S - pull * Y, axis=1)
        return 0.5 * (W * W).sum() + C * np.mean(pull + far - (S * Y).sum(axis=1))

    best = minimize(objective, np.full(6, 0.1), method="BFGS", options={"gtol": 1e-9})
    model = Bitr(loss=loss, C=C, tol=1e-5).fit(X, Y)
    assert model.objective_ == pytest.approx(best.fun, rel=2e-5)
    assert objective(model.weights_.ravel().astype(float)) == pytest.approx(best.fun, rel=1e-4)
    assert model.gap_ <= 1e-5


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_reaches_the_objective_of_a_general_solver_on_the_simplex(C):
    rng = np.random.default_rng(1)
    X, Y = rng.dirichlet(np.ones(3), 8), rng.dirichlet(np.ones(3), 8)
    n, p, q = 8, 3, 3
    rows, bounds = [], []
    for i, j in product(range(n), range(q)):  # ξ_i + x_i W (y_i − e_j) ≥ 2 − 2 y_ij
        slack = np.zeros(n)
        slack[i] = 1
        rows.append(np.concatenate([np.outer(X[i], Y[i] - np.eye(q)[j]).ravel(), slack]))
        bounds.append(2 - 2 * Y[i, j])
    best = minimize(
        lambda v: 0.5 * v[: p * q] @ v[: p * q] + C * v[p * q :].mean(),
        np.concatenate([np.zeros(p * q), np.full(n, 2.0)]),
        jac=lambda v: np.concatenate([v[: p * q], np.full(n, C / n)]),
        method="SLSQP",
        constraints=LinearConstraint(np.array(rows), lb=np.array(bounds)),
        options={"maxiter": 500, "ftol": 1e-12},
    )
    model = Bitr(loss="manhattan", C=C, tol=1e-5).fit(X, Y)
    assert model.sums_ == (True, True)
    assert model.objective_ == pytest.approx(best.fun, rel=1e-4)


def test_the_small_dual_is_solved_to_its_tolerance():
    rng = np.random.default_rng(2)
    normals = np.vstack([np.zeros(4), rng.standard_normal((7, 4))])
    gram, losses = normals @ normals.T, np.concatenate([[0.0], rng.random(7)])
    weights = np.zeros(8)
    weights[0] = 3.0
    left = small_dual(gram, losses, 3.0, weights, 1e-9, 100_000)
    assert left <= 1e-9
    best = minimize(
        lambda a: 0.5 * a @ gram @ a - losses @ a,
        np.full(8, 3 / 8),
        jac=lambda a: gram @ a - losses,
        bounds=[(0, None)] * 8,
        constraints=LinearConstraint(np.ones(8), 3.0, 3.0),
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    assert losses @ weights - 0.5 * weights @ gram @ weights == pytest.approx(-best.fun, abs=1e-7)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(3.0)


def test_the_gap_bounds_what_more_rounds_would_gain():
    X, Y = pairs(200, 8, 6)
    few = Bitr(C=1000.0, max_iter=4, tol=1e-6).fit(X, Y)
    many = Bitr(C=1000.0, tol=1e-6).fit(X, Y)
    assert few.gap_ > 1e-6 >= many.gap_
    assert many.objective_ <= few.objective_ <= many.objective_ / (1 - few.gap_) + 1e-6


def test_the_euclidean_model_is_the_correlation_model_at_half_the_cost():
    X, Y = pairs(60, 5, 4)
    far = Bitr(loss="euclidean", C=20.0, tol=1e-6).fit(X, Y)
    near = Bitr(loss="correlation", C=10.0, tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(far.weights_, 2 * near.weights_, atol=5e-3)


def test_ranking_pictures_is_ranking_texts_with_the_sides_swapped():
    X, Y = pairs(60, 5, 4)
    there = Bitr(ranks="pictures", C=10.0).fit(X, Y)
    back = Bitr(ranks="texts", C=10.0).fit(Y, X)
    np.testing.assert_array_equal(there.weights_, back.weights_.T)


def test_pairs_with_an_empty_side_teach_nothing():
    X, Y = pairs(30, 4, 3)
    more = np.vstack([X, np.ones((2, 4))]), np.vstack([Y, np.zeros((2, 3))])
    with_empty, without = Bitr(C=10.0).fit(*more), Bitr(C=10.0).fit(X, Y)
    np.testing.assert_array_equal(with_empty.weights_, without.weights_)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"loss": "hinge"}, "'correlation' or 'euclidean' or 'manhattan'"),
        ({"ranks": "both"}, "texts"),
        ({"C": 0}, "positive"),
        ({"tol": 0}, "between 0 and 1"),
        ({"max_iter": 0}, "1 or more"),
        ({"judged_by": "ear"}, "pairs"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(changes, why):
    with pytest.raises(BadInput, match=why):
        Bitr(**changes).fit(*pairs())

"""The expected likelihood kernel against its closed form, and the mixtures it compares."""

from __future__ import annotations

import numpy as np
import pytest
import slow_kernels as slow
from scipy.integrate import dblquad
from scipy.stats import multivariate_normal

from visterm.errors import BadInput
from visterm.kernels import ExpectedLikelihood
from visterm.kernels import expected_likelihood as likelihood_file
from visterm.kernels.expected_likelihood import fit_mixture

RNG = np.random.default_rng(5)
X = [RNG.normal(RNG.normal(size=3), 1 + RNG.random(3), size=(size, 3)) for size in (8, 1, 20, 12)]
Z = [RNG.normal(size=(size, 3)) for size in (6, 9)]
FLOOR = np.maximum(0.01 * np.concatenate(X).var(axis=0), 0)


def mixture(bag, components=1, seed=0):
    logs, means, variances = fit_mixture(
        np.asarray(bag, np.float32), components, FLOOR, max_iter=20, seed=seed
    )
    return list(zip(np.exp(logs), means, variances, strict=True))


def test_the_slow_formula_is_the_integral():
    p = [(0.3, np.array([0.0, 1.0]), np.array([0.5, 0.2])), (0.7, np.ones(2), np.ones(2))]
    other = [(1.0, np.array([0.5, -0.5]), np.array([0.3, 0.9]))]

    def at(v, w):
        return np.prod(
            [
                sum(a * multivariate_normal.pdf([v, w], m, np.diag(s)) for a, m, s in side)
                for side in (p, other)
            ]
        )

    integral, _ = dblquad(at, -6, 6, -6, 6, epsabs=1e-6)
    assert slow.overlap(p, other) == pytest.approx(integral, rel=1e-4)


@pytest.mark.parametrize("block", [1, 64])
@pytest.mark.parametrize("components", [1, 2, 3])
def test_every_pair_is_as_the_formula_says(components, block, monkeypatch):
    monkeypatch.setattr(likelihood_file, "_BLOCK", block)
    kernel = ExpectedLikelihood(components).fit(X)
    expected = [
        [
            slow.expected_likelihood(mixture(p, components), mixture(other, components))
            for other in Z
        ]
        for p in X
    ]
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-3, atol=1e-6)
    own = kernel(X)
    np.testing.assert_allclose(np.diagonal(own), 1, atol=1e-5)
    np.testing.assert_allclose(kernel.diagonal(X), 1)
    np.testing.assert_allclose(own, own.T, rtol=1e-5)
    assert np.linalg.eigvalsh(own.astype(float)).min() > -1e-5
    np.testing.assert_allclose(
        ExpectedLikelihood(components, power=0.2).fit(X)(X, Z), np.power(expected, 0.2), rtol=1e-3
    )


def test_one_gaussian_is_the_mean_and_the_variance_and_the_floor_holds():
    ((weight, mean, variances),) = mixture(X[0])
    assert weight == 1
    np.testing.assert_allclose(mean, X[0].mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(variances, X[0].var(axis=0), rtol=1e-5)
    ((_, _, alone),) = mixture(X[1])
    np.testing.assert_allclose(alone, FLOOR)


def test_em_finds_two_clouds_and_never_lowers_the_likelihood():
    bag = np.concatenate([RNG.normal(-5, 1, (30, 3)), RNG.normal(5, 2, (10, 3))])
    found = sorted(mixture(bag, 2), key=lambda part: part[1][0])
    assert [round(float(w), 2) for w, _, _ in found] == [0.75, 0.25]
    np.testing.assert_allclose(found[0][1], bag[:30].mean(axis=0), atol=0.05)
    np.testing.assert_allclose(found[1][2], bag[30:].var(axis=0), rtol=0.05)
    mixed = RNG.normal(size=(40, 3))
    reached = []
    for rounds in (1, 2, 5, 20):
        logs, means, variances = fit_mixture(mixed.astype(np.float32), 3, FLOOR, rounds, seed=1)
        parts = list(zip(np.exp(logs), means, variances, strict=True))
        reached.append(
            sum(np.log(sum(w * slow.density(v, m, s) for w, m, s in parts)) for v in mixed)
        )
    assert reached == sorted(reached)


def test_a_picture_is_described_alike_alone_and_in_company():
    kernel = ExpectedLikelihood(3).fit(X)
    np.testing.assert_allclose(kernel(X[2:3], Z), kernel(X, Z)[2:3], rtol=1e-6)


def test_few_equal_or_constant_descriptors_are_survived():
    flat = [np.zeros((4, 3)), np.ones((1, 3)), np.repeat(X[0][:1], 5, axis=0)]
    for components in (1, 3):
        found = ExpectedLikelihood(components).fit(flat)(flat)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(np.diagonal(found), 1, atol=1e-5)
    assert np.isfinite(ExpectedLikelihood().fit(flat[:1])(flat[:1])).all()


def test_far_pictures_in_many_dimensions_do_not_underflow_their_logarithms():
    near, far = np.zeros((9, 300)) + RNG.normal(size=(9, 300)), RNG.normal(9, 1, size=(9, 300))
    found = ExpectedLikelihood(power=1e-3).fit([near, far])([near, far])
    assert 0 < found[0, 1] < 0.2


@pytest.mark.parametrize(
    ("use", "why"),
    [
        (lambda: ExpectedLikelihood()(X), "call fit"),
        (lambda: ExpectedLikelihood(0).fit(X), "n_components must be"),
        (lambda: ExpectedLikelihood(floor=0).fit(X), "floor must be positive"),
        (lambda: ExpectedLikelihood(power=0).fit(X), "power must be positive"),
        (lambda: ExpectedLikelihood().fit(X)([np.zeros((2, 4))]), "3 numbers, these have 4"),
    ],
)
def test_what_makes_no_sense_is_refused(use, why):
    with pytest.raises(BadInput, match=why):
        use()


def test_a_power_other_than_one_promises_less():
    assert ExpectedLikelihood().positive
    assert not ExpectedLikelihood(power=0.5).positive

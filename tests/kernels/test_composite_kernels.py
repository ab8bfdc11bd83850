"""Weighted sums and cosines of kernels, and kernels as JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.kernels import (
    KERNELS,
    RBF,
    ChiSquare,
    Cosine,
    ExpectedLikelihood,
    Intersection,
    Linear,
    Match,
    Sum,
    kernel_from_json,
)

RNG = np.random.default_rng(3)
X, Z = RNG.random((7, 12)), RNG.random((4, 12))


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_a_sum_weighs_its_kernels_and_each_sees_its_columns(form):
    both = Sum((RBF(2.0), Linear()), weights=(1.0, 0.5), columns=((0, 5), (5, 12)))
    found = both.fit(form(X))(form(X), form(Z))
    expected = RBF(2.0).fit(X[:, :5])(X[:, :5], Z[:, :5]) + 0.5 * (X[:, 5:] @ Z[:, 5:].T)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(both.diagonal(form(X)), np.diagonal(both(form(X))), rtol=1e-5)


def test_a_sum_without_weights_or_columns_adds_kernels_of_everything():
    plain = Sum((Linear(), Intersection())).fit(X)(X)
    np.testing.assert_allclose(plain, Linear()(X) + Intersection()(X), rtol=1e-6)


def test_a_cosine_is_one_for_a_picture_with_itself_and_zero_for_nothing():
    pictures = np.vstack([X, np.zeros(12)])
    found = Cosine(Linear())(pictures, Z)
    unit = [row / (np.linalg.norm(row) or 1) for row in pictures]
    expected = np.array(unit) @ (Z / np.linalg.norm(Z, axis=1, keepdims=True)).T
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    own = Cosine(Intersection())(pictures)
    np.testing.assert_allclose(np.diagonal(own), [1] * 7 + [0], atol=1e-6)
    np.testing.assert_allclose(
        Cosine(Intersection()).diagonal(pictures), np.diagonal(own), atol=1e-6
    )


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (Sum(()), "one at least"),
        (Sum((Linear(),), weights=(1.0, 2.0)), "as many weights, not 2"),
        (Sum((Linear(),), weights=(-1.0,)), "weights must be positive"),
        (Sum((Linear(),), columns=((0, 1), (1, 2))), "as many columns, not 2"),
        (Sum((Linear(),), columns=((3, 2),)), "first < last"),
        (Sum((Linear(),), columns=((0, 13),)), "columns 0 to 13"),
    ],
)
def test_sums_that_make_no_sense_are_refused(kernel, why):
    with pytest.raises(BadInput, match=why):
        kernel.fit(X)
    with pytest.raises(BadInput, match=why):
        kernel(X)


ALL = [
    Linear(),
    RBF(0.5),
    ChiSquare(0.5, relative=False),
    Intersection(),
    Match("polynomial", gamma=0.5, degree=3, width=4),
    ExpectedLikelihood(n_components=2, width=4),
    Sum((RBF(3.0), Cosine(Intersection())), weights=(1, 0.5), columns=((0, 4), (4, 12))),
    Cosine(Match(width=3)),
]


def test_every_kernel_is_tried_here():
    assert {type(kernel) for kernel in ALL} == set(KERNELS.values())


@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: kernel.name)
def test_a_kernel_survives_json_with_what_it_learnt(kernel):
    before = kernel_from_json(json.loads(json.dumps(kernel.to_json())))
    assert before == kernel, "parameters"
    kernel.fit(X)
    again = kernel_from_json(json.loads(json.dumps(kernel.to_json())))
    assert again == kernel
    assert again.to_json() == kernel.to_json()
    assert again(X, Z).tobytes() == kernel(X, Z).tobytes()


def test_json_of_unknown_kernels_and_parameters_is_refused():
    with pytest.raises(BadInput, match=r"no kernel called 'magic'; there are linear, rbf"):
        kernel_from_json({"name": "magic"})
    with pytest.raises(BadInput, match="another version"):
        kernel_from_json({"name": "rbf", "sharpness": 1})

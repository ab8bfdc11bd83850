"""Cosines of kernels, and kernels as JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from visterm.errors import BadInput
from visterm.kernels import (
    KERNELS,
    RBF,
    Cosine,
    ExpectedLikelihood,
    Linear,
    Match,
    kernel_from_json,
)

RNG = np.random.default_rng(3)
X, Z = RNG.random((7, 12)), RNG.random((4, 12))


def test_a_cosine_is_one_for_a_picture_with_itself_and_zero_for_nothing():
    pictures = np.vstack([X, np.zeros(12)])
    found = Cosine(Linear())(pictures, Z)
    unit = [row / (np.linalg.norm(row) or 1) for row in pictures]
    expected = np.array(unit) @ (Z / np.linalg.norm(Z, axis=1, keepdims=True)).T
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    own = Cosine(Linear())(pictures)
    np.testing.assert_allclose(np.diagonal(own), [1] * 7 + [0], atol=1e-6)
    np.testing.assert_allclose(Cosine(Linear()).diagonal(pictures), np.diagonal(own), atol=1e-6)


ALL = [
    Linear(),
    RBF(0.5),
    Match("rbf", gamma=0.5, width=4),
    ExpectedLikelihood(n_components=2, width=4),
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

"""Kernels between vectors against their formulas, plain and compressed, and the laws they obey."""

from __future__ import annotations

import numpy as np
import pytest
import slow_kernels as slow
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_array, csr_array

from visterm.errors import BadInput
from visterm.kernels import RBF, Linear
from visterm.kernels import vector_kernels as kernels_file
from visterm.kernels.vector_kernels import mean_square_distance

RNG = np.random.default_rng(7)
X = np.where(RNG.random((9, 40)) < 0.2, RNG.random((9, 40)), 0)
Z = np.where(RNG.random((6, 40)) < 0.2, RNG.random((6, 40)), 0)
X[3] = 0  # a picture of nothing

KERNELS = {
    "linear": (Linear(), slow.linear),
    "rbf": (
        RBF(0.7),
        lambda x, z: np.exp(
            -0.7 * slow.square_distance(x, z) / slow.mean_over_pairs(slow.square_distance, X)
        ),
    ),
    "rbf as given": (
        RBF(0.3, relative=False),
        lambda x, z: np.exp(-0.3 * slow.square_distance(x, z)),
    ),
}
FORMS = {"dense": np.asarray, "compressed": csr_array, "by column": csc_array}
every_kernel = pytest.mark.parametrize("name", KERNELS)


@every_kernel
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", FORMS)
def test_every_pair_is_as_the_formula_says(name, form, other):
    kernel, formula = KERNELS[name]
    found = kernel.fit(FORMS[form](X))(FORMS[form](X), FORMS[other](Z))
    assert found.dtype == np.float32
    assert found.shape == (9, 6)
    np.testing.assert_allclose(found, slow.table(formula, X, Z), rtol=1e-4, atol=1e-6)


@every_kernel
@pytest.mark.parametrize("form", FORMS)
def test_pictures_with_themselves_make_a_symmetric_table_and_its_diagonal(name, form):
    kernel, formula = KERNELS[name]
    pictures = FORMS[form](X)
    kernel.fit(pictures)
    found = kernel(pictures)
    np.testing.assert_allclose(found, slow.table(formula, X, X), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found, found.T, atol=1e-6)
    np.testing.assert_allclose(kernel.diagonal(pictures), np.diagonal(found), atol=1e-5)
    assert np.linalg.eigvalsh(found.astype(float)).min() > -1e-5
    assert kernel.positive


@every_kernel
def test_many_blocks_on_several_cores_give_what_one_block_gives(name, monkeypatch):
    kernel, _ = KERNELS[name]
    for pictures, others in ((X, Z), (csr_array(X), csr_array(Z))):
        whole = kernel.fit(pictures)(pictures, others)
        monkeypatch.setattr(kernels_file, "_ROWS", 2)
        np.testing.assert_allclose(kernel(pictures, others), whole, rtol=1e-6)
        monkeypatch.undo()


@every_kernel
def test_inputs_may_be_read_only_and_stay_as_they_were(name):
    kernel, _ = KERNELS[name]
    frozen, compressed = X.astype(np.float32), csr_array(X.astype(np.float32))
    frozen.setflags(write=False)
    for array in (compressed.data, compressed.indices, compressed.indptr):
        array.setflags(write=False)
    found = kernel.fit(frozen)(frozen, frozen[:2])
    np.testing.assert_allclose(kernel(compressed, compressed[:2]), found, atol=1e-5)


@given(arrays(np.float64, (5, 3), elements=st.floats(-50, 50)))
@settings(deadline=None, max_examples=50)
def test_the_mean_square_distance_is_that_over_all_pairs(vectors):
    expected = slow.mean_over_pairs(slow.square_distance, vectors)
    size = (vectors**2).sum(axis=1).mean()
    if expected > 1e-4 * size:
        assert mean_square_distance(vectors) == pytest.approx(expected, rel=1e-5)
        assert mean_square_distance(csr_array(vectors)) == pytest.approx(expected, rel=1e-5)
    else:
        assert mean_square_distance(vectors) > 0, "a scale to divide by"


def test_a_relative_scale_makes_gamma_mean_the_same_for_any_unit():
    small, large = (RBF(2.0).fit(s * X)(s * X, s * Z) for s in (1.0, 1000.0))
    np.testing.assert_allclose(small, large, rtol=1e-4)


def test_pictures_that_are_all_the_same_are_as_like_as_can_be():
    same = np.ones((3, 4))
    np.testing.assert_allclose(RBF().fit(same)(same), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("use", "why"),
    [
        (lambda: RBF()(X), "call fit"),
        (lambda: RBF(0).fit(X), "gamma must be positive, not 0"),
        (lambda: RBF(np.nan).fit(X), "gamma must be positive"),
        (lambda: Linear()(X, Z[:, :-1]), "40 and of 39 numbers"),
        (lambda: Linear()(X[0]), "one row a picture"),
        (lambda: Linear()(X[:0]), "one row a picture"),
        (lambda: Linear()([["a"]]), "vectors of numbers"),
        (lambda: Linear()(X * np.inf), "NaN or infinite"),
    ],
)
def test_what_cannot_be_compared_is_refused(use, why):
    with np.errstate(invalid="ignore"), pytest.raises(BadInput, match=why):
        use()


@every_kernel
def test_compressed_pictures_with_themselves_are_as_with_a_copy_to_the_last_bit(name, monkeypatch):
    monkeypatch.setattr(
        kernels_file, "_ROWS", 4
    )  # several blocks, so that the diagonal crosses them
    dense = np.where(RNG.random((150, 60)) < 0.1, RNG.random((150, 60)), 0)
    dense[7] = dense[120]
    pictures, copy = csr_array(dense), csr_array(dense)
    kernel = KERNELS[name][0].fit(pictures)
    found = kernel(pictures)
    np.testing.assert_array_equal(found, kernel(pictures, copy))
    np.testing.assert_array_equal(found[7], found[120])

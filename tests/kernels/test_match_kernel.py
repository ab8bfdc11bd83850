"""The match kernel against its formula, for bags of any size and form."""

from __future__ import annotations

import numpy as np
import pytest
import slow_kernels as slow
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import BadInput
from visterm.kernels import Bags, Match
from visterm.kernels import match_kernel as match_file

RNG = np.random.default_rng(11)
SIZES = (1, 5, 3, 40, 2, 7, 17)
X = [RNG.normal(size=(size, 6)) for size in SIZES]
Z = [RNG.normal(size=(size, 6)) for size in (4, 1, 9)]
ALL = np.concatenate(X)
MEAN_DISTANCE = slow.mean_over_pairs(slow.square_distance, ALL)

MINORS = {
    "linear": (Match("linear"), slow.linear),
    "rbf": (
        Match("rbf", gamma=2.0),
        lambda d, e: np.exp(-2 * slow.square_distance(d, e) / MEAN_DISTANCE),
    ),
    "rbf as given": (
        Match("rbf", gamma=0.1, relative=False),
        lambda d, e: np.exp(-0.1 * slow.square_distance(d, e)),
    ),
}
every_minor = pytest.mark.parametrize("name", MINORS)


@every_minor
@pytest.mark.parametrize("block", [1, 8, 1280])
def test_every_pair_is_as_the_formula_says(name, block, monkeypatch):
    monkeypatch.setattr(match_file, "_BLOCK", block)
    kernel, minor = MINORS[name]
    found = kernel.fit(X)(X, Z)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, slow.table(slow.match(minor), X, Z), rtol=1e-4, atol=1e-5)
    with_itself = kernel(X)
    np.testing.assert_allclose(
        with_itself, slow.table(slow.match(minor), X, X), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(with_itself, with_itself.T, rtol=1e-6)
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(with_itself), rtol=1e-4)


@every_minor
def test_histograms_are_compared_as_the_formula_says(name):
    kernel, _ = MINORS[name]
    bags = RNG.integers(0, 50, size=(5, 7, 4)).astype(np.uint16)
    found = kernel.fit(bags)(bags)
    scale = kernel.scale_
    minors = {
        "linear": slow.linear,
        "rbf": lambda d, e: np.exp(-kernel.gamma * slow.square_distance(d, e) / scale),
    }
    np.testing.assert_allclose(
        found, slow.table(slow.match(minors[kernel.minor]), bags, bags), rtol=1e-3, atol=1e-5
    )


def test_all_forms_of_bags_are_the_same_bags():
    bags = RNG.normal(size=(5, 4, 6))
    expected = Match().fit(bags)(bags)
    for form in (list(bags), Bags.of(bags)):
        assert Match().fit(form)(form).tobytes() == expected.tobytes()
    laid_out = bags.reshape(5, 24)
    assert Match(width=6).fit(laid_out)(laid_out).tobytes() == expected.tobytes()


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 20))
@settings(deadline=None)
def test_blocks_of_pictures_cover_all_of_them_in_order(sizes, most):
    starts = np.cumsum([0, *sizes])
    before = match_file._BLOCK
    match_file._BLOCK = most
    try:
        blocks = list(match_file._blocks(starts))
    finally:
        match_file._BLOCK = before
    assert [p for block in blocks for p in range(block.start, block.stop)] == list(
        range(len(sizes))
    )
    for block in blocks:
        held = starts[block.stop] - starts[block.start]
        assert held <= most or block.stop == block.start + 1


@given(st.integers(0, 1000))
@settings(deadline=None, max_examples=20)
def test_the_order_of_descriptors_and_repeated_bags_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    bag, other = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    kernel = Match().fit([bag, other])
    same = kernel([bag, rng.permutation(bag), np.vstack([bag, bag])], [other])
    np.testing.assert_allclose(same, same[0, 0], rtol=1e-5)


def test_its_table_may_have_negative_eigenvalues_and_says_so():
    tables = (
        Match("linear").fit(bags)(bags)
        for bags in (np.random.default_rng(seed).normal(size=(12, 3, 2)) for seed in range(20))
    )
    assert min(np.linalg.eigvalsh(table.astype(float)).min() for table in tables) < -1e-3
    assert not Match().positive


@pytest.mark.parametrize(
    ("use", "why"),
    [
        (lambda: Match()(X), "call fit"),
        (lambda: Match("cosine").fit(X), "'rbf' or 'linear', not 'cosine'"),
        (lambda: Match(gamma=0).fit(X), "gamma must be positive"),
        (lambda: Match().fit([]), "no pictures"),
        (lambda: Match().fit([np.zeros((0, 3))]), "picture 0: a bag is"),
        (lambda: Match().fit([np.zeros((1, 3)), np.zeros(3)]), "picture 1: a bag is"),
        (lambda: Match().fit([np.zeros((1, 3)), np.zeros((1, 4))]), "same number of numbers"),
        (lambda: Match().fit([np.full((1, 3), np.nan)]), "picture 0: .* NaN"),
        (lambda: Match().fit([["tree"]]), "picture 0: .* numbers"),
        (lambda: Match(width=5).fit(np.zeros((2, 24))), "descriptors of 5 numbers"),
        (lambda: Match().fit(X)(X, [np.zeros((2, 4))]), "of 6 and of 4 numbers"),
    ],
)
def test_what_cannot_be_matched_is_refused(use, why):
    with pytest.raises(BadInput, match=why):
        use()

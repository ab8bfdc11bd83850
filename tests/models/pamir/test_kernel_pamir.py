"""Kernel PAMIR against linear PAMIR in the kernel's own space, and what it keeps of pictures."""

from __future__ import annotations

import numpy as np
import pytest
from problems import problem
from scipy.sparse import csr_array
from slow_pamir import SlowPamir

from visterm.errors import BadInput
from visterm.evaluation import mean_average_precision
from visterm.kernels import RBF, Bags, Cosine, Match
from visterm.models import KernelPamir, Pamir, load_model
from visterm.models.pamir import kernel_pamir
from visterm.models.pamir import kernel_pamir as kernel_pamir_file
from visterm.text import relevance_from_captions

DENSE, SPARSE = problem("dense"), problem("sparse")
OTHER = (DENSE.other_X, DENSE.other_Y)
QUICK = {"max_iter": 2000, "max_words": 3, "random_state": 5}


def relevance():
    return relevance_from_captions(DENSE.Y, DENSE.idf, max_words=3)


def test_alpha_is_that_of_the_slow_formula():
    """Any factor of the kernel's table makes kernel PAMIR the linear one on its rows."""
    table = RBF(1.0).fit(DENSE.X)(DENSE.X).astype(np.float64)
    values, vectors = np.linalg.eigh(table)
    rows = vectors * np.sqrt(np.maximum(values, 0))
    slow = SlowPamir(relevance(), rows, seed=5).run(2000)
    model = KernelPamir(kernel=RBF(1.0), **QUICK).fit(DENSE.X, relevance())
    np.testing.assert_allclose(model.alpha_ @ rows, slow.W, atol=2e-4)
    np.testing.assert_allclose(model.transform(DENSE.X), (slow.W @ rows.T).T, atol=1e-3)


def test_f_is_alpha_times_the_kernel_row():
    model = KernelPamir(kernel="rbf", **QUICK).fit(DENSE.X, DENSE.Y)
    kernel = RBF().fit(DENSE.X)
    assert model.alpha_.shape == (10, 160)
    expected = kernel(DENSE.held_X, DENSE.X) @ model.alpha_.T
    np.testing.assert_allclose(model.transform(DENSE.held_X), expected, atol=1e-5)


@pytest.mark.parametrize("data", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_over_the_linear_kernel_it_is_pamir(data):
    kernel = KernelPamir(kernel="linear", **QUICK).fit(data.X, data.Y)
    linear = Pamir(**QUICK).fit(data.X, data.Y)
    np.testing.assert_allclose(
        kernel.transform(data.held_X), linear.transform(data.held_X), atol=1e-4
    )


@pytest.mark.parametrize(
    "objective", [{"negatives": 5}, {"negatives": 5, "warp": True}, {"averaged": True}]
)
def test_objectives_are_those_of_pamir(objective):
    kernel = KernelPamir(kernel="linear", **QUICK, **objective).fit(DENSE.X, DENSE.Y)
    linear = Pamir(**QUICK, **objective).fit(DENSE.X, DENSE.Y)
    np.testing.assert_allclose(
        kernel.transform(DENSE.held_X), linear.transform(DENSE.held_X), atol=1e-4
    )


# A kernel that somebody else computed


@pytest.mark.parametrize("n_components", [None, 50])
def test_a_precomputed_kernel_teaches_what_the_kernel_teaches(n_components, tmp_path):
    kernel = RBF(2.0).fit(DENSE.X)
    own, other, held = (kernel(X, DENSE.X) for X in (DENSE.X, DENSE.other_X, DENSE.held_X))
    np.fill_diagonal(own, 1.0)  # as the kernel says, which knows it without rounding
    given = KernelPamir(kernel="precomputed", n_components=n_components, C=(0.01, 0.1), **QUICK)
    given.fit(own, DENSE.Y, validation=(other, DENSE.other_Y))
    computed = KernelPamir(kernel=RBF(2.0), n_components=n_components, C=(0.01, 0.1), **QUICK)
    computed.fit(DENSE.X, DENSE.Y, validation=OTHER)
    assert given.validation_ == pytest.approx(computed.validation_, abs=1e-3)
    np.testing.assert_allclose(given.alpha_, computed.alpha_, atol=1e-3)
    np.testing.assert_allclose(given.transform(held), computed.transform(DENSE.held_X), atol=1e-3)
    given.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.transform(held).tobytes() == given.transform(held).tobytes()
    sparse = again.transform(csr_array(held))
    np.testing.assert_allclose(sparse, given.transform(held), atol=1e-5)


def test_a_precomputed_kernel_is_square_and_symmetric_and_cannot_be_retrained():
    own = RBF().fit(DENSE.X)(DENSE.X)
    model = KernelPamir(kernel="precomputed", **QUICK)
    with pytest.raises(BadInput, match="not 100 × 160"):
        model.fit(own[:100], DENSE.Y[:100])
    with pytest.raises(BadInput, match="not symmetric"):
        model.fit(own[::-1], DENSE.Y[::-1])
    with pytest.raises(BadInput, match="160 numbers, these have 159"):
        model.fit(own, DENSE.Y).transform(own[:, 1:])
    with pytest.raises(BadInput, match="retrain needs the kernel of the validation pictures"):
        model.set_params(retrain=True).fit(own, DENSE.Y, validation=(own[:9], DENSE.Y[:9]))


def test_a_table_given_to_it_is_not_changed():
    own = Match("linear", width=10).fit(DENSE.X)(DENSE.X)
    before = own.tobytes()
    KernelPamir(kernel="precomputed", clip=True, **QUICK).fit(own, DENSE.Y)
    assert own.tobytes() == before


# Kernels that are not positive


def clipped(table):
    values, vectors = np.linalg.eigh(table.astype(np.float64))
    return (vectors * np.maximum(values, 0)) @ vectors.T


def test_negative_directions_of_the_match_kernel_are_left_out():
    match = Match("linear", width=10).fit(DENSE.X)
    table = match(DENSE.X)
    assert np.linalg.eigvalsh(table.astype(float)).min() < -0.1
    model = KernelPamir(kernel=match, **QUICK).fit(DENSE.X, DENSE.Y)
    positive = KernelPamir(kernel="precomputed", **QUICK).fit(clipped(table), DENSE.Y)
    np.testing.assert_allclose(
        model.transform(DENSE.X), positive.transform(clipped(table)), atol=2e-3
    )
    raw = KernelPamir(kernel=match, clip=False, **QUICK).fit(DENSE.X, DENSE.Y)
    assert np.abs(raw.transform(DENSE.X) - model.transform(DENSE.X)).max() > 0.02


def test_new_pictures_are_compared_within_the_clipped_kernel():
    """A training picture that comes again as a new one is mapped as when it was learnt from."""
    match = Match("linear", width=10).fit(DENSE.X)
    held = np.vstack([DENSE.X[:40], DENSE.other_X])
    seen = KernelPamir(kernel=match, C=(0.1,), **QUICK)
    Y = csr_array(np.vstack([DENSE.Y.toarray()[:40], DENSE.other_Y.toarray()]))
    seen.fit(DENSE.X, DENSE.Y, validation=(held, Y))
    again = seen.transform(held)
    told = relevance_from_captions(Y, seen.idf_, max_words=3)
    assert mean_average_precision(told.queries @ again.T, told.pictures) == pytest.approx(
        seen.validation_, abs=1e-4
    )
    np.testing.assert_allclose(again[:40], seen.transform(DENSE.X)[:40], atol=1e-4)


def test_bags_come_as_vectors_and_rank_well():
    model = KernelPamir(kernel=Match(width=10), max_iter=20_000).fit(DENSE.X, DENSE.Y)
    assert model.kernel_["name"] == "match"
    assert DENSE.quality(model.transform(DENSE.held_X)) > DENSE.chance + 0.1
    assert Bags.of(DENSE.X, 10).sizes.tolist() == [3] * 160


# Low rank


def test_a_full_rank_is_exact():
    exact = KernelPamir(kernel=RBF(2.0), **QUICK).fit(DENSE.X, DENSE.Y)
    full = KernelPamir(kernel=RBF(2.0), n_components=10_000, **QUICK).fit(DENSE.X, DENSE.Y)
    assert len(full.support_) == 160
    np.testing.assert_allclose(
        full.transform(DENSE.held_X), exact.transform(DENSE.held_X), atol=5e-3
    )


def test_a_low_rank_keeps_only_its_landmarks_and_ranks_nearly_as_well():
    exact = KernelPamir(kernel=RBF(1.0), max_iter=20_000).fit(DENSE.X, DENSE.Y)
    low = KernelPamir(kernel=RBF(1.0), n_components=60, max_iter=20_000).fit(DENSE.X, DENSE.Y)
    assert low.vectors_.shape == (60, 30)
    np.testing.assert_array_equal(low.vectors_, DENSE.X[low.support_].astype(np.float32))
    assert low.alpha_.shape == (10, 160)
    assert set(np.flatnonzero(low.alpha_.any(axis=0))) <= set(low.support_)
    expected = RBF(1.0).fit(DENSE.X)(DENSE.held_X, DENSE.X) @ low.alpha_.T
    np.testing.assert_allclose(low.transform(DENSE.held_X), expected, rtol=1e-3, atol=1e-3)
    reached = [DENSE.quality(model.transform(DENSE.held_X)) for model in (exact, low)]
    assert reached[1] > reached[0] - 0.05


def test_a_low_rank_of_a_kernel_that_is_not_positive_is_survived():
    model = KernelPamir(kernel=Match("linear", width=10), n_components=40, **QUICK).fit(
        DENSE.X, DENSE.Y
    )
    assert np.isfinite(model.transform(DENSE.held_X)).all()


# Choosing, retraining, files


@pytest.mark.parametrize("n_components", [None, 80])
def test_retraining_learns_from_both_sets(n_components):
    again = KernelPamir(kernel=RBF(1.0), n_components=n_components, retrain=True, **QUICK)
    again.fit(DENSE.X, DENSE.Y, validation=OTHER)
    both = (
        np.vstack([DENSE.X, DENSE.other_X]),
        np.vstack([DENSE.Y.toarray(), DENSE.other_Y.toarray()]),
    )
    whole = KernelPamir(kernel=RBF(1.0), n_components=n_components, **QUICK | again.decided()).fit(
        *both
    )
    assert again.pictures_ == 220
    np.testing.assert_allclose(again.alpha_, whole.alpha_, atol=1e-5)
    assert again.kernel_ == whole.kernel_, "the scale is that of all pictures"


@pytest.mark.parametrize("kernel", [Cosine(RBF(2.0)), "linear"])
def test_kernels_and_sparse_vectors_survive_a_file(kernel, tmp_path):
    model = KernelPamir(kernel=kernel, **QUICK).fit(SPARSE.X, SPARSE.Y)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert again.kernel_ == model.kernel_
    assert again.transform(SPARSE.held_X).tobytes() == model.transform(SPARSE.held_X).tobytes()
    assert again.alpha_.tobytes() == model.alpha_.tobytes()


def test_a_kernel_given_to_it_is_not_fitted():
    kernel = RBF(2.0)
    KernelPamir(kernel=kernel, **QUICK).fit(DENSE.X, DENSE.Y)
    assert not hasattr(kernel, "scale_")


def test_many_pictures_are_mapped_in_parts(monkeypatch):
    model = KernelPamir(**QUICK).fit(DENSE.X, DENSE.Y)
    whole = model.transform(DENSE.held_X)
    monkeypatch.setattr(kernel_pamir_file, "_ROWS", 7)
    np.testing.assert_allclose(model.transform(DENSE.held_X), whole, atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"kernel": "magic"}, "no kernel called 'magic'; there are linear, rbf.*precomputed"),
        ({"kernel": "cosine"}, "'cosine' is made of others"),
        ({"kernel": RBF(-1.0)}, "gamma must be positive"),
        ({"n_components": 0}, "n_components must be"),
        ({"n_components": 2.5}, "n_components must be"),
        ({"C": 0}, "C must be positive"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, why):
    with pytest.raises(BadInput, match=why):
        KernelPamir(**parameters).fit(DENSE.X, DENSE.Y)


def test_a_table_too_large_for_memory_is_not_made(monkeypatch):
    monkeypatch.setattr(kernel_pamir, "_TABLE_BYTES", 4 * 160 * 160)
    KernelPamir(**QUICK).fit(DENSE.X, DENSE.Y)
    with pytest.raises(BadInput, match="n_components=1000"):
        KernelPamir(**QUICK).fit(DENSE.X, DENSE.Y, validation=OTHER)
    KernelPamir(n_components=20, **QUICK).fit(DENSE.X, DENSE.Y, validation=OTHER)

"""PAMIR's compiled loops against the slow formula, and the laws every single step obeys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import problem
from scipy.sparse import csr_array
from scipy.stats import chisquare
from slow_pamir import SlowPamir, SplitMix64

from visterm.errors import BadInput
from visterm.models import Pamir
from visterm.models.pamir._solvers import GramSolver, WeightSolver, _gram, _state, choose_solver
from visterm.models.pamir._triplets import Objective, triplets_of
from visterm.text import Relevance, relevance_from_captions
from visterm.text.caption_queries import caption_queries
from visterm.text.query_source import QuerySource, listed_source
from visterm.text.weighting import weigh_queries

SPARSE = problem("sparse")
RELEVANCE = relevance_from_captions(SPARSE.Y, SPARSE.idf, max_words=3)
VECTORS = csr_array(SPARSE.X, dtype=np.float32)
CAPTIONS = weigh_queries(SPARSE.Y, SPARSE.idf)

# The three loops, each with the form of picture vectors that leads to it.
LOOPS = {
    "gram": (GramSolver, csr_array),
    "sparse": (WeightSolver, csr_array),
    "dense": (WeightSolver, lambda vectors: np.ascontiguousarray(csr_array(vectors).toarray())),
}
loops = pytest.mark.parametrize("loop", LOOPS)


def solver_of(loop, vectors, words, *, start=None, seed=0, held=None):
    solver, form = LOOPS[loop]
    start = np.zeros((words, vectors.shape[1]), np.float32) if start is None else start
    return solver(form(vectors), None if held is None else form(held), start, seed)


def draws(triplets, count, seed=0):
    """Triplets, each with the words of its query."""
    block = triplets.draw(_state(seed), count, Objective())
    return [
        (tuple(sorted(words[:size].tolist())), better, worse)
        for words, size, better, worse in zip(
            block.words,
            block.sizes,
            block.better.tolist(),
            block.worse[:, 0].tolist(),
            strict=True,
        )
    ]


def unlisted(queries):
    return QuerySource(None, queries, queries.pictures, queries.largest)


def listed_triplets(relevance, captions=None, least=1.0):
    return triplets_of(listed_source(relevance), captions, least)


# Against the slow formula


def test_the_random_numbers_are_those_of_the_published_generator():
    generator = SplitMix64(1234567)
    assert [generator() for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_the_triplets_are_those_of_the_slow_formula():
    slow = SlowPamir(RELEVANCE, SPARSE.X.toarray(), seed=3)
    drawn = draws(listed_triplets(RELEVANCE, None, 1.0), 500, seed=3)
    expected = [slow.draw() for _ in range(500)]
    assert drawn == [
        (tuple(np.flatnonzero(slow.queries[query]).tolist()), better, worse)
        for query, better, worse in expected
    ]


@loops
@pytest.mark.parametrize("margin", ["constant", "caption"])
@pytest.mark.parametrize("C", [0.1, 5.0])
def test_two_thousand_steps_are_those_of_the_slow_formula(loop, margin, C):
    captions, least = (None, 1.0) if margin == "constant" else (CAPTIONS, 0.1)
    slow = SlowPamir(
        RELEVANCE,
        VECTORS.toarray().astype(np.float64),
        seed=5,
        C=C,
        least_margin=least,
        captions=None if captions is None else captions.toarray(),
    ).run(2000)
    solver = solver_of(loop, VECTORS, RELEVANCE.queries.shape[1], seed=5)
    moved = solver.run(listed_triplets(RELEVANCE, captions, least), C, 2000)
    np.testing.assert_allclose(solver.weights(solver.learnt()), slow.W, atol=1e-4)
    assert moved == slow.moved
    assert 200 < moved < 1900, "a fair trial has both steps and looks without one"


def test_all_loops_rank_alike_on_the_same_seed():
    rankings = []
    for loop in LOOPS:
        solver = solver_of(loop, VECTORS, RELEVANCE.queries.shape[1], seed=1)
        solver.run(listed_triplets(RELEVANCE, None, 1.0), 0.1, 20_000)
        rows = SPARSE.held_X @ solver.weights(solver.learnt()).T
        rankings.append(np.argsort(-(RELEVANCE.queries @ rows.T), axis=1, kind="stable"))
    assert (rankings[0] == rankings[1]).all()
    assert (rankings[0] == rankings[2]).all()


@loops
def test_scores_of_validation_pictures_are_kept_current(loop):
    words = RELEVANCE.queries.shape[1]
    start = np.linspace(-1, 1, words * VECTORS.shape[1], dtype=np.float32).reshape(words, -1)
    held = csr_array(SPARSE.held_X, dtype=np.float32)
    solver = solver_of(loop, VECTORS, words, start=start, held=held)
    for steps in (0, 1000, 1000):
        solver.run(listed_triplets(RELEVANCE, None, 1.0), 0.1, steps)
        expected = held @ solver.weights(solver.learnt()).T
        np.testing.assert_allclose(solver.validation_rows(), expected, atol=1e-4)


@loops
def test_starting_again_forgets_and_repeats(loop):
    solver = solver_of(loop, VECTORS, RELEVANCE.queries.shape[1], seed=2)
    triplets = listed_triplets(RELEVANCE, None, 1.0)
    solver.run(triplets, 0.1, 3000)
    first = solver.weights(solver.learnt())
    solver.restart(2)
    solver.run(triplets, 0.1, 1500)
    halfway = solver.learnt()
    solver.run(triplets, 0.1, 1500)
    assert solver.weights(solver.learnt()).tobytes() == first.tobytes()
    assert solver.weights(halfway).tobytes() != first.tobytes()


@given(
    arrays(np.float32, (5, 7), elements=st.sampled_from([0, 0, 1, -2, 0.5])),
    arrays(np.float32, (3, 7), elements=st.sampled_from([0, 0, 1, 3])),
)
@settings(deadline=None)
def test_the_gram_matrix_is_the_product_of_all_pairs(first, second):
    expected = first @ np.vstack([first, second]).T
    everything = csr_array(np.vstack([first, second]))
    assert _gram(csr_array(first), everything).tolist() == expected.tolist()
    np.testing.assert_allclose(_gram(first, everything.toarray()), expected, atol=1e-6)


# Laws of one step. Two pictures and one query make one triplet, so that every draw is that one.

NUMBERS = st.floats(-8, 8, width=32).map(lambda number: number + 0.0)  # never −0, for its bits
QUERIES = arrays(np.float32, 3, elements=st.floats(0, 4, width=32)).filter(np.any)
PAIRS = arrays(np.float32, (2, 6), elements=NUMBERS)
STARTS = arrays(np.float32, (3, 6), elements=NUMBERS)
CS = st.sampled_from([0.001, 0.1, 1.0, 1e6])


def one_step(loop, query, pair, start, c, margin=1.0):
    """Weights after the step, whether it moved, and τ and the loss by the formula."""
    relevance = Relevance(csr_array(query[None]), csr_array(np.array([[1.0, 0.0]])))
    if loop == "update":
        model = Pamir(C=c).partial_fit(pair, np.eye(2, 3), steps=0)
        model.weights_ = start.copy()
        model.update(query, pair[0], pair[1], margin)
        after = model.weights_
    else:
        solver = solver_of(loop, csr_array(pair), 3, start=start)
        solver.run(listed_triplets(relevance, None, margin), c, 1)
        after = solver.weights(solver.learnt())
    v = np.outer(query, pair[0] - pair[1]).astype(np.float64)
    loss = max(0.0, margin - float(np.sum(start * v)))
    square = float(np.sum(v * v))
    return after, v, loss, square


every_step = pytest.mark.parametrize("loop", [*LOOPS, "update"])
laws = settings(max_examples=60, deadline=None)


def clear(pair, loss, square):
    """Far enough from the two edges of the rule for float32 to see which side it is on."""
    size = float(np.sum(pair.astype(np.float64) ** 2))
    return square > 1e-3 * (1 + size) and abs(loss) > 1e-2


@every_step
@given(query=QUERIES, pair=PAIRS, start=STARTS, c=CS)
@laws
def test_a_step_moves_the_weights_by_tau_along_the_triplet_and_tau_is_at_most_c(
    loop, query, pair, start, c
):
    after, v, loss, square = one_step(loop, query, pair, start, c)
    assume(clear(pair, loss, square))
    tau = min(c, loss / square)
    np.testing.assert_allclose(after - start, tau * v, rtol=1e-2, atol=1e-3)
    along = float(np.sum((after - start) * v)) / square
    assert along <= c * (1 + 1e-3) + 1e-4


@every_step
@given(query=QUERIES, pair=PAIRS, start=STARTS, c=CS)
@laws
def test_a_step_never_increases_the_loss_of_its_own_triplet(loop, query, pair, start, c):
    after, v, loss, square = one_step(loop, query, pair, start, c)
    now = max(0.0, 1.0 - float(np.sum(after * v)))
    rounding = 1e-5 * (1 + np.abs(start).max()) * np.abs(v).sum()
    assert now <= loss + rounding
    if clear(pair, loss, square) and loss / square < c:
        assert now <= rounding + 1e-3 * loss, "a step that C does not stop mends the triplet"


@every_step
@given(query=QUERIES, pair=PAIRS, start=STARTS, c=CS)
@laws
def test_a_triplet_without_loss_leaves_the_weights_bit_for_bit(loop, query, pair, start, c):
    v = np.outer(query, pair[0] - pair[1]).astype(np.float64)
    score = float(np.sum(start * v))
    assume(score > 1e-2 * (1 + np.abs(v).sum()))
    after, *_ = one_step(loop, query, pair, start, c, margin=score * 0.5)
    assert after.tobytes() == start.tobytes()


@every_step
@given(query=QUERIES, picture=arrays(np.float32, 6, elements=NUMBERS), start=STARTS, c=CS)
@laws
def test_pictures_that_look_the_same_are_skipped(loop, query, picture, start, c):
    after, *_ = one_step(loop, query, np.stack([picture, picture]), start, c)
    assert after.tobytes() == start.tobytes()


@pytest.mark.parametrize("pictures", [3, 40, 200])
def test_look_alikes_are_skipped_in_a_gram_matrix_of_rounded_products_too(pictures):
    vectors = np.repeat(SPARSE.X.toarray()[:1].astype(np.float32) / 3, pictures, axis=0)
    relevance = Relevance(csr_array([[1.0]]), csr_array(np.eye(1, pictures)))
    solver = GramSolver(vectors, None, np.zeros((1, vectors.shape[1]), np.float32), 0)
    assert solver.run(listed_triplets(relevance, None, 1.0), 0.1, 500) == 0


# Laws of many steps: powers of two scale float32 without rounding, so these hold bit for bit.


def weights_after(loop, vectors, c, margin, steps=3000):
    solver = solver_of(loop, vectors, RELEVANCE.queries.shape[1], seed=4)
    solver.run(listed_triplets(RELEVANCE, None, margin), c, steps)
    return solver.weights(solver.learnt())


@loops
@pytest.mark.parametrize("scale", [0.25, 2.0, 1024.0])
def test_scaling_margin_and_c_scales_the_weights(loop, scale):
    scaled = weights_after(loop, VECTORS, 0.125 * scale, scale)
    assert (scaled == scale * weights_after(loop, VECTORS, 0.125, 1.0)).all()


@loops
@pytest.mark.parametrize("scale", [2.0**-20, 4.0, 2.0**20])
def test_scaling_the_pictures_changes_no_score(loop, scale):
    scaled = weights_after(loop, VECTORS * np.float32(scale), 0.125 / scale**2, 1.0)
    assert (scaled * scale == weights_after(loop, VECTORS, 0.125, 1.0)).all()


# Drawing


def test_draws_are_uniform_over_queries_and_pictures_and_worse_ones_are_never_relevant():
    gains = np.array([[1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]])
    relevance = Relevance(csr_array(np.eye(3)), csr_array(gains.astype(float)))
    triplets = listed_triplets(relevance, None, 1.0)
    drawn = np.array([(words[0], *pair) for words, *pair in draws(triplets, 12_000)])
    assert chisquare(np.bincount(drawn[:, 0], minlength=3)).pvalue > 1e-3
    for query, row in enumerate(gains):
        of_query = drawn[drawn[:, 0] == query]
        for column, pictures in ((1, np.flatnonzero(row)), (2, np.flatnonzero(row == 0))):
            seen = np.bincount(of_query[:, column], minlength=8)
            assert seen.sum() == seen[pictures].sum()
            if len(pictures) > 1:
                assert chisquare(seen[pictures]).pvalue > 1e-3


def test_the_single_picture_that_does_not_answer_is_found():
    gains = np.ones((1, 30))
    gains[0, 17] = 0
    triplets = listed_triplets(Relevance(csr_array([[1.0]]), csr_array(gains)), None, 1.0)
    assert {worse for *_, worse in draws(triplets, 50)} == {17}


def test_queries_that_all_pictures_or_none_answer_are_dropped():
    gains = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    triplets = listed_triplets(Relevance(csr_array(np.eye(3)), csr_array(gains)), None, 1.0)
    assert set(draws(triplets, 20)) == {((2,), 1, 0)}
    with pytest.raises(BadInput, match=r"no query tells pictures apart.*captions that differ"):
        listed_triplets(Relevance(csr_array(np.eye(2)), csr_array(gains[:2])), None, 1.0)


def test_triplets_of_captions_are_a_query_a_picture_that_holds_it_and_one_that_lacks_a_word():
    held = SPARSE.Y.toarray() > 0
    queries = caption_queries(SPARSE.Y, SPARSE.idf, exponent=0.5, max_words=3)
    drawn = draws(triplets_of(unlisted(queries), None, 1.0), 3000)
    for words, better, worse in drawn:
        assert held[better, list(words)].all()
        assert not held[worse, list(words)].all()
    lacking = [worse for words, _, worse in drawn if words == (0,)]
    assert len(set(lacking)) > 20, "any of those that lack it"


@loops
def test_captions_and_the_queries_that_they_make_teach_nearly_the_same(loop):
    """Over queries that are drawn alike, by listing all of them or none."""
    queries = caption_queries(SPARSE.Y, SPARSE.idf, exponent=0, max_words=3)
    quality = []
    for triplets in (
        triplets_of(unlisted(queries), None, 1.0),
        listed_triplets(RELEVANCE, None, 1.0),
    ):
        solver = solver_of(loop, VECTORS, RELEVANCE.queries.shape[1], seed=1)
        solver.run(triplets, 0.1, 20_000)
        quality.append(SPARSE.quality(SPARSE.held_X @ solver.weights(solver.learnt()).T))
    assert quality[0] == pytest.approx(quality[1], abs=0.02)
    assert quality[0] > SPARSE.chance + 0.2


# Choosing where the state lives


def test_few_long_vectors_take_the_gram_matrix_and_many_short_ones_the_weights():
    assert choose_solver(np.zeros((4000, 77), np.float32), None) is GramSolver
    assert choose_solver(np.zeros((4000, 2), np.float32), None) is WeightSolver
    sparse = csr_array(([1.0] * 8, ([0] * 8, range(8))), shape=(1000, 50_000))
    assert choose_solver(sparse, None) is WeightSolver


def test_a_gram_matrix_too_large_for_memory_is_not_made():
    wide = np.broadcast_to(np.float32(0), (14_000, 4000))
    assert choose_solver(wide, None) is GramSolver
    assert choose_solver(wide, wide) is WeightSolver

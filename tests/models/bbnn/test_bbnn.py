"""BBNN's network, gradient and drawing against their formulas, and learning where it can."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from problems import problem
from scipy.sparse import csr_array

from visterm.errors import BadInput, MissingExtra
from visterm.models import Bbnn
from visterm.models._bbnn_batches import Batch, Pairs
from visterm.models._bbnn_network import Descent
from visterm.text import relevance_from_captions
from visterm.text.caption_queries import caption_queries
from visterm.text.query_source import QuerySource, caption_source, listed_source

pytest.importorskip("torch", reason="BBNN learns with torch")

CAPTIONS = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 1]], dtype=float)


def tiny(**changes: Any) -> Bbnn:
    small = {"block_width": 2, "block_units": 5, "picture_units": 4, "max_iter": 2, "batch_size": 8}
    return Bbnn(**{**small, "epoch_pairs": 40, **changes})


def network(dtype: type = np.float64, rate: float = 0.01) -> Descent:
    rng = np.random.default_rng(0)
    shapes = ((5, 4), (6, 5), (6,), (4, 6), (4,))
    return Descent([rng.normal(0, 0.7, shape).astype(dtype) for shape in shapes], rate, 0.0)


def some_blocks(pictures: int = 7, blocks: int = 4, numbers: int = 3) -> NDArray[np.float64]:
    """Blocks with the 1 that comes with each; every other picture lacks its last one."""
    shown = np.random.default_rng(1).normal(size=(pictures, blocks, numbers + 1))
    shown[:, :, -1] = 1
    shown[::2, -1] = 0
    return shown


def batch_of(pairs: int = 5, words: int = 4, pictures: int = 7) -> Batch:
    rng = np.random.default_rng(2)
    margins = rng.uniform(0.1, 2, (pairs, pairs)).astype(np.float32)
    margins[rng.random((pairs, pairs)) < 0.3] = -np.inf
    queries = rng.random((pairs, words)).astype(np.float32)
    better, worse = rng.integers(pictures, size=(2, pairs))
    return Batch(queries, np.arange(pictures), better, worse, margins)


def loss_slowly(rows: NDArray[Any], batch: Batch) -> float:
    """The hinge of each pair, averaged over the pictures it does not beat, then over pairs."""
    total = 0.0
    for i, query in enumerate(batch.queries):
        own = query @ rows[batch.better[i]]
        hinges = [
            batch.margins[i, j] - own + query @ rows[batch.worse[j]]
            for j in range(len(batch.worse))
        ]
        unbeaten = [hinge for hinge in hinges if hinge > 0]
        total += sum(unbeaten) / max(1, len(unbeaten))
    return total / len(batch.queries)


@pytest.fixture
def pictures() -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    return rng.random((12, 6)).astype(np.float32), (rng.random((12, 3)) < 0.5).astype(float)


# The network


def test_maps_a_picture_as_the_formula_says(pictures) -> None:
    X, Y = pictures
    model = tiny().fit(X, Y)
    expected = []
    for row in X:
        seen = [np.tanh(model.W1_ @ block + model.B1_) for block in row.reshape(3, 2)]
        hidden = np.tanh(model.W2_ @ np.mean(seen, axis=0) + model.B2_)
        expected.append(model.W3_ @ hidden + model.B3_)
    np.testing.assert_allclose(model.transform(X), expected, rtol=1e-4, atol=1e-5)


def test_the_order_of_blocks_does_not_matter(pictures) -> None:
    X, Y = pictures
    model = tiny().fit(X, Y)
    turned = X.reshape(-1, 3, 2)[:, ::-1].reshape(-1, 6)
    np.testing.assert_allclose(model.transform(X), model.transform(turned), rtol=1e-4, atol=1e-5)


def test_a_block_of_zeros_is_no_block(pictures) -> None:
    X, Y = pictures
    room = np.hstack([X, np.zeros((len(X), 4), dtype=np.float32)])
    assert tiny().fit(room, Y).transform(room).tobytes() == tiny().fit(X, Y).transform(X).tobytes()
    fewer = room.copy()
    fewer[:, 4:6] = 0
    first_two = tiny().fit(room, Y).transform(fewer)
    moved = np.roll(fewer, 4, axis=1)  # a gap before the blocks changes nothing either
    np.testing.assert_allclose(tiny().fit(room, Y).transform(moved), first_two, rtol=1e-5)


def test_without_a_size_of_blocks_the_vector_is_one_block(pictures) -> None:
    X, Y = pictures
    whole = tiny(block_width=None).fit(X, Y)
    assert whole.W1_.shape == (5, 6)
    size = np.sqrt(np.mean(X**2))
    same = tiny(block_width=6).fit(X / size, Y)
    np.testing.assert_allclose(whole.transform(X), same.transform(X / size), rtol=1e-3, atol=1e-5)


def test_how_large_the_numbers_of_whole_vectors_are_does_not_matter(pictures) -> None:
    X, Y = pictures
    mapped = tiny(block_width=None).fit(X, Y).transform(X)
    larger = tiny(block_width=None).fit(1000 * X, Y).transform(1000 * X)
    np.testing.assert_allclose(larger, mapped, rtol=1e-3, atol=1e-5)


def batch_in_doubles() -> Batch:
    batch = batch_of()
    return batch._replace(queries=batch.queries.astype(float), margins=batch.margins.astype(float))


@pytest.mark.parametrize("looked_at", [None, np.array([[0, 2]] * 7)])
def test_the_loss_is_the_mean_hinge_over_violating_pictures(looked_at) -> None:
    net, blocks, batch = network(), some_blocks(), batch_in_doubles()
    seen = blocks if looked_at is None else blocks[np.arange(7)[:, None], looked_at]
    rows = net.rows(net.put(seen), net.layers).detach().numpy()
    loss = net.loss(net.put(blocks), batch, looked_at)
    assert float(loss.detach()) == pytest.approx(loss_slowly(rows, batch), rel=1e-9)


def test_the_average_is_of_the_last_tenth_of_the_steps() -> None:
    descent = Descent([np.zeros(1)], rate=1.0, momentum=0.0)
    for _ in range(1000):
        descent.step(-descent.layers[0].sum())  # the weight counts its steps
    assert float(descent.layers[0].detach()[0]) == 1000
    assert float(descent.average[0][0]) == pytest.approx(900, abs=5)


def test_without_averages_the_last_weights_are_kept(pictures) -> None:
    X, Y = pictures
    how = {"epoch_pairs": 8, "batch_size": 8, "max_iter": 1, "momentum": 0.0}
    first, last = (tiny(averaged=kind, **how).fit(X, Y) for kind in (True, False))
    # Of one step the average has nine tenths.
    before = tiny(**how)._first_layers(2, Y.shape[1])[-2]
    step = last.W3_ - before
    assert np.abs(step).max() > 0
    np.testing.assert_allclose(first.W3_ - before, 0.9 * step, rtol=1e-3, atol=1e-7)


# The drawing


def unlisted(exponent: float) -> QuerySource:
    queries = caption_queries(csr_array(CAPTIONS), np.ones(3), exponent=exponent)
    return QuerySource(None, queries, queries.pictures, queries.largest)


sources = pytest.mark.parametrize(
    "source",
    [
        listed_source(relevance_from_captions(csr_array(CAPTIONS), np.ones(3))),
        unlisted(0),
        unlisted(1),
    ],
    ids=["listed", "all alike", "uniform triplets"],
)


def pairs_from(source: Any, in_batch_negatives: bool, captions: bool = True) -> Pairs:
    units = csr_array(CAPTIONS / np.linalg.norm(CAPTIONS, axis=1, keepdims=True))
    return Pairs(source, 3, units if captions else None, 0.1, in_batch_negatives=in_batch_negatives)


@sources
@pytest.mark.parametrize("in_batch_negatives", [True, False])
def test_pairs_are_asked_to_beat_only_pictures_that_do_not_answer(
    source: Any, in_batch_negatives: bool
) -> None:
    held, units = CAPTIONS > 0, CAPTIONS / np.linalg.norm(CAPTIONS, axis=1, keepdims=True)
    pairs = pairs_from(source, in_batch_negatives)
    for _ in range(20):
        batch = pairs.draw(30)
        asked = batch.queries > 0
        better, worse = batch.shown[batch.better], batch.shown[batch.worse]
        assert (held[better] | ~asked).all()
        answers = (held[worse][None] | ~asked[:, None]).all(axis=2)
        compared = np.isfinite(batch.margins)
        assert not (answers & compared).any()
        assert (compared == (~answers if in_batch_negatives else np.eye(30, dtype=bool))).all()
        apart = (batch.queries * units[better]).sum(axis=1)[:, None] - batch.queries @ units[
            worse
        ].T
        expected = np.maximum(0.1, apart)
        np.testing.assert_allclose(batch.margins[compared], expected[compared], rtol=1e-5)


@sources
def test_a_triplet_is_drawn_as_often_from_shared_negatives_as_from_its_own(source: Any) -> None:
    """p⁺ uniform among a query's answers, p⁻ uniform among the rest, in any batch."""
    seen = {}
    for in_batch_negatives in (True, False):
        pairs, count = pairs_from(source, in_batch_negatives, captions=False), np.zeros((5, 5))
        for _ in range(300):
            batch = pairs.draw(40)
            better, worse = batch.shown[batch.better], batch.shown[batch.worse]
            compared = np.isfinite(batch.margins)
            weight = compared / np.maximum(1, compared.sum(axis=1, keepdims=True))
            for i, j in zip(*np.nonzero(compared), strict=True):
                count[better[i], worse[j]] += weight[i, j]
        seen[in_batch_negatives] = count / count.sum()
    np.testing.assert_allclose(seen[True], seen[False], atol=0.015)


@pytest.mark.parametrize("exponent", [0, 0.5, 1])
def test_queries_are_drawn_by_the_exponent_and_1_draws_every_query_and_answer_alike(
    exponent: float,
) -> None:
    """The paper's way (3.3) is 1, but for how many pictures do not answer."""
    source = caption_source(csr_array(CAPTIONS), np.ones(3), exponent=exponent)
    pairs = pairs_from(source, in_batch_negatives=False)
    queries = np.concatenate([pairs.draw(100).queries for _ in range(200)])
    every = relevance_from_captions(csr_array(CAPTIONS), np.ones(3))
    expected = every.relevant_per_query**exponent
    asked = (queries > 0)[:, None] == (every.queries.toarray() > 0)
    seen = asked.all(axis=2).mean(axis=0)
    np.testing.assert_allclose(seen, expected / expected.sum(), atol=0.02)


def test_queries_that_every_picture_answers_teach_nothing() -> None:
    with pytest.raises(BadInput, match="captions that differ"):
        listed_source(relevance_from_captions(csr_array(np.ones((3, 1))), np.ones(1)))


# Learning


def test_a_step_down_the_gradient_makes_the_loss_smaller() -> None:
    net, blocks, batch = network(np.float32), some_blocks().astype(np.float32), batch_of()
    before = net.loss(net.put(blocks), batch)
    net.step(before)
    assert float(net.loss(net.put(blocks), batch).detach()) < float(before.detach())


@pytest.mark.parametrize("in_batch_negatives", [True, False])
def test_learns_what_blocks_of_a_word_look_like(in_batch_negatives: bool) -> None:
    given = problem("blocks")
    model = Bbnn(
        block_width=6,
        block_units=20,
        picture_units=20,
        in_batch_negatives=in_batch_negatives,
        epoch_pairs=2000,
        query_exponent=0.0,
    )
    model.set_params(batch_size=50, max_iter=8)
    model.fit(given.X, given.Y, validation=(given.other_X, given.other_Y))
    assert 1 <= model.n_iter_ <= 8
    assert model.validation_ > given.chance + 0.3
    assert given.quality(model.transform(given.held_X)) > given.chance + 0.3


def test_the_best_round_on_validation_pictures_is_kept() -> None:
    given = problem("blocks")
    settings = {
        "block_width": 6,
        "block_units": 8,
        "picture_units": 8,
        "batch_size": 20,
        "random_state": 3,
    }
    model = Bbnn(**settings, max_iter=6, epoch_pairs=200)
    model.fit(given.X, given.Y, validation=(given.other_X, given.other_Y))
    alone = Bbnn(**settings, max_iter=model.n_iter_, epoch_pairs=200).fit(given.X, given.Y)
    assert model.transform(given.held_X).tobytes() == alone.transform(given.held_X).tobytes()
    assert np.isnan(alone.validation_)


def test_retraining_learns_from_validation_pictures_too() -> None:
    given = problem("blocks")
    settings = {"block_width": 6, "block_units": 8, "picture_units": 8, "batch_size": 20}
    model = Bbnn(**settings, max_iter=3, epoch_pairs=200, retrain=True)
    model.fit(given.X, given.Y, validation=(given.other_X, given.other_Y))
    X = np.vstack([given.X, given.other_X])
    Y = np.vstack([given.Y.toarray(), given.other_Y.toarray()])
    alone = Bbnn(**settings, max_iter=model.n_iter_, epoch_pairs=200).fit(X, Y)
    assert model.transform(given.held_X).tobytes() == alone.transform(given.held_X).tobytes()


def test_learns_from_relevance_with_a_constant_margin(pictures) -> None:
    X, Y = pictures
    relevance = relevance_from_captions(csr_array(Y), np.ones(3))
    assert np.isfinite(tiny(margin="constant").fit(X, relevance).transform(X)).all()
    with pytest.raises(BadInput, match="caption margin needs captions"):
        tiny().fit(X, relevance)
    with pytest.raises(BadInput, match="retrain needs captions"):
        tiny(margin="constant", retrain=True).fit(X, relevance, validation=(X, relevance))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"block_width": 4}, "no row of blocks of 4"),
        ({"block_width": 0}, "block_width must be a whole number, 1 or more"),
        ({"block_share": 0.0}, "block_share must be above 0"),
        ({"learning_rate": -1.0}, "learning_rate must be positive"),
        ({"momentum": 1.0}, "momentum from 0 to below 1"),
        ({"margin": "wide"}, "'caption' or 'constant', not 'wide'"),
        ({"least_margin": 0.0}, "least_margin must be positive"),
        ({"max_iter": 0}, "max_iter must be a whole number, 1"),
        ({"device": "tpu"}, "'cpu' or 'cuda', not 'tpu'"),
    ],
)
def test_wrong_parameters_are_named(pictures, wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        tiny(**wrong).fit(*pictures)


def test_learning_needs_torch_and_mapping_does_not(pictures, monkeypatch) -> None:
    model = tiny().fit(*pictures)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert model.transform(pictures[0]).shape == (12, 3)
    with pytest.raises(MissingExtra, match=r"visterm\[neural\]"):
        tiny().fit(*pictures)


def test_a_missing_cuda_device_is_told(pictures) -> None:
    torch = pytest.importorskip("torch", reason="torch knows the devices")
    if torch.cuda.is_available():
        assert np.isfinite(tiny(device="cuda").fit(*pictures).transform(pictures[0])).all()
        return
    with pytest.raises(BadInput, match="no 'cuda' here"):
        tiny(device="cuda").fit(*pictures)

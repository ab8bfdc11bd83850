"""BBNN's network, gradient and drawing against their formulas, and learning where it can."""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from problems import problem
from scipy.sparse import csr_array

from visterm.errors import BadInput, MissingExtra
from visterm.models import Bbnn
from visterm.models.bbnn._batches import Batch, Pairs
from visterm.models.bbnn.network import Descent, Network, backend_of, learn_from, row_gradients
from visterm.text import relevance_from_captions
from visterm.text.caption_queries import caption_queries

CAPTIONS = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 1]], dtype=float)


def tiny(**changes: Any) -> Bbnn:
    small = {"block_width": 2, "block_units": 5, "picture_units": 4, "max_iter": 2, "batch_size": 8}
    return Bbnn(**{**small, "epoch_pairs": 40, **changes})


def network(seed: int = 0, numbers: int = 3, words: int = 4, dtype: type = np.float64) -> Network:
    rng = np.random.default_rng(seed)
    shapes = ((5, numbers + 1), (6, 5), (6,), (words, 6), (words,))
    return Network([rng.normal(0, 0.7, shape).astype(dtype) for shape in shapes], backend_of("cpu"))


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


def test_the_gradient_is_that_of_the_loss() -> None:
    net, blocks, batch = network(), some_blocks(), batch_of()
    seen, rows = net.look(blocks, np.arange(len(blocks)))
    gradients = net.gradients(seen, row_gradients(rows, batch, net.backend))
    step = 1e-6
    for layer, gradient in zip(net.layers, gradients, strict=True):
        for at in list(product(*map(range, layer.shape)))[::3]:
            kept = layer[at]
            ends = []
            for shift in (step, -step):
                layer[at] = kept + shift
                ends.append(loss_slowly(net.rows(blocks), batch))
            layer[at] = kept
            assert gradient[at] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-5)


def test_torch_derives_the_same_gradient() -> None:
    torch = pytest.importorskip("torch", reason="the reference is torch's autograd")
    net, blocks, batch = network(), some_blocks(), batch_of()
    seen, rows = net.look(blocks, np.arange(len(blocks)))
    ours = net.gradients(seen, row_gradients(rows, batch, net.backend))
    layers = [torch.tensor(layer, requires_grad=True) for layer in net.layers]
    w1, w2, b2, w3, b3 = layers
    given = torch.tensor(blocks)
    pooled = torch.tanh(given @ w1.T).sum(1) / given[:, :, -1].sum(1)[:, None]
    mapped = torch.tanh(pooled @ w2.T + b2) @ w3.T + b3
    queries, margins = (torch.tensor(a, dtype=mapped.dtype) for a in (batch.queries, batch.margins))
    own = (queries * mapped[batch.better]).sum(1)
    hinge = (margins - own[:, None] + queries @ mapped[batch.worse].T).clamp(min=0)
    (hinge.sum(1) / (hinge > 0).sum(1).clamp(min=1)).mean().backward()
    for layer, gradient in zip(layers, ours, strict=True):
        np.testing.assert_allclose(gradient, layer.grad.numpy(), atol=1e-7)


def test_tensors_take_the_same_steps_as_arrays() -> None:
    """What a CUDA device runs, run here: the same code over torch's tensors."""
    torch = pytest.importorskip("torch", reason="tensors are torch's")
    here = backend_of("cpu")
    there = here._replace(
        xp=torch,
        put=torch.as_tensor,
        get=lambda tensor: tensor.numpy(),
        single=lambda tensor: tensor.float(),
    )
    blocks, batch = some_blocks().astype(np.float32), batch_of()
    looked_at = np.array([[0, 2]] * len(blocks))
    learnt = []
    for place in (here, there):
        net = network(dtype=np.float32)
        net = Network([place.put(layer.copy()) for layer in net.layers], place)
        descent = Descent(net, 0.1, 0.9)
        for _ in range(3):
            learn_from(descent, place.put(blocks), batch, looked_at)
            learn_from(descent, place.put(blocks), batch)
        learnt.append([place.get(layer) for layer in descent.average.layers])
    for ours, theirs in zip(*learnt, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_the_average_is_of_the_last_tenth_of_the_steps() -> None:
    place = backend_of("cpu")
    descent = Descent(Network([np.zeros(1)], place), rate=1.0, momentum=0.0)
    for _ in range(1000):
        descent.step([np.array([-1.0])])  # the weight counts its steps
    assert descent.network.layers[0][0] == 1000
    assert descent.average.layers[0][0] == pytest.approx(900, abs=5)


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


sources = pytest.mark.parametrize(
    "source",
    [
        relevance_from_captions(csr_array(CAPTIONS), np.ones(3)),
        caption_queries(csr_array(CAPTIONS), np.ones(3), exponent=0),
        caption_queries(csr_array(CAPTIONS), np.ones(3), exponent=1),
    ],
    ids=["listed", "all alike", "uniform triplets"],
)


def pairs_from(source: Any, in_batch_negatives: bool, captions: bool = True) -> Pairs:
    units = csr_array(CAPTIONS / np.linalg.norm(CAPTIONS, axis=1, keepdims=True))
    return Pairs(source, units if captions else None, 0.1, in_batch_negatives=in_batch_negatives)


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
    source = caption_queries(csr_array(CAPTIONS), np.ones(3), exponent=exponent)
    pairs = pairs_from(source, in_batch_negatives=False)
    queries = np.concatenate([pairs.draw(100).queries for _ in range(200)])
    every = relevance_from_captions(csr_array(CAPTIONS), np.ones(3))
    expected = every.relevant_per_query**exponent
    asked = (queries > 0)[:, None] == (every.queries.toarray() > 0)
    seen = asked.all(axis=2).mean(axis=0)
    np.testing.assert_allclose(seen, expected / expected.sum(), atol=0.02)


def test_queries_that_every_picture_answers_teach_nothing() -> None:
    with pytest.raises(BadInput, match="captions that differ"):
        Pairs(relevance_from_captions(csr_array(np.ones((3, 1))), np.ones(1)), None, 1.0)


# Learning


def test_a_step_down_the_slope_makes_the_loss_smaller() -> None:
    net, blocks, batch = network(dtype=np.float32), some_blocks().astype(np.float32), batch_of()
    before = loss_slowly(net.rows(blocks), batch)
    learn_from(Descent(net, rate=0.01, momentum=0.0), blocks, batch)
    assert loss_slowly(net.rows(blocks), batch) < before


def test_the_number_of_cores_does_not_matter(monkeypatch) -> None:
    given = problem("blocks")
    settings = {
        "block_width": 6,
        "block_units": 8,
        "picture_units": 8,
        "max_iter": 1,
        "batch_size": 100,
    }
    rows = []
    for cores in (1, 2, 3):
        monkeypatch.setattr("joblib.cpu_count", lambda cores=cores: cores)
        model = Bbnn(**settings, epoch_pairs=1000).fit(given.X, given.Y)
        rows.append(model.transform(given.held_X).tobytes())
    assert rows[0] == rows[1] == rows[2]


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


def test_only_a_cuda_device_needs_torch(pictures, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    tiny().fit(*pictures)
    with pytest.raises(MissingExtra, match=r"visterm\[neural\]"):
        tiny(device="cuda").fit(*pictures)


def test_a_missing_cuda_device_is_told(pictures) -> None:
    torch = pytest.importorskip("torch", reason="torch knows the devices")
    if torch.cuda.is_available():
        assert np.isfinite(tiny(device="cuda").fit(*pictures).transform(pictures[0])).all()
        return
    with pytest.raises(BadInput, match="no 'cuda' here"):
        tiny(device="cuda").fit(*pictures)

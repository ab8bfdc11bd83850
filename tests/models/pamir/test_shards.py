"""PAMIR over shards: as good as serial, repeatable, and kind to words that few shards have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.compute import LocalReplicas
from visterm.models import Pamir
from visterm.models.pamir import shards as shards_module
from visterm.models.pamir.shards import Moves, mix
from visterm.models.selection import quality
from visterm.text import Relevance, relevance_from_captions
from visterm.text.weighting import inverse_frequency


@pytest.fixture(scope="module")
def problem():
    """Pictures of eight words with noise: to learn from, and to rank."""
    rng = np.random.default_rng(0)
    Y = csr_array((rng.random((400, 8)) < 0.25).astype(np.float32))
    X = Y @ rng.standard_normal((8, 12)) + 0.4 * rng.standard_normal((400, 12))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    return (X[:300], Y[:300]), (X[300:], Y[300:])


def avgp(model, training, held):
    asked = relevance_from_captions(held[1], inverse_frequency(training[1]), max_words=2)
    return quality(model.transform(held[0]), asked)


@pytest.mark.parametrize("averaged", [False, True])
def test_mixed_shards_rank_about_as_well_as_a_serial_run(problem, averaged):
    training, held = problem
    settings = {"max_iter": 20_000, "max_words": 2, "averaged": averaged, "C": 0.1}
    serial = Pamir(**settings).fit(*training, validation=held)
    mixed = Pamir(**settings, n_shards=4).fit(*training, validation=held)
    assert avgp(mixed, training, held) >= avgp(serial, training, held) - 0.02
    assert mixed.validation_ == pytest.approx(avgp(mixed, training, held))
    assert 0 < mixed.n_iter_ <= 20_000


def test_seeds_repeat_a_mixed_fit_and_validation_still_chooses(problem):
    training, held = problem
    fits = [
        Pamir(C=(0.001, 0.1), max_iter=4000, max_words=2, n_shards=3, random_state=seed)
        .fit(*training, validation=held)
        for seed in (1, 1, 2)
    ]  # fmt: skip
    assert np.array_equal(fits[0].weights_, fits[1].weights_)
    assert not np.array_equal(fits[0].weights_, fits[2].weights_)
    assert fits[0].C_ in (0.001, 0.1)


def test_a_shard_that_misses_rounds_is_left_out_of_them(problem, monkeypatch):
    training, held = problem

    class SomeMissing(LocalReplicas):
        rounds = 0

        def call(self, method, *arguments):
            found = super().call(method, *arguments)
            self.rounds += 1
            return [None if self.rounds % 3 == 0 else found[0], *found[1:]]

    plain = Pamir(max_iter=20_000, max_words=2, n_shards=3).fit(*training)
    monkeypatch.setattr(shards_module, "spread", SomeMissing)
    model = Pamir(max_iter=20_000, max_words=2, n_shards=3).fit(*training)
    assert not np.array_equal(model.weights_, plain.weights_)
    assert avgp(model, training, held) >= avgp(plain, training, held) - 0.02


def test_a_rare_word_is_moved_as_far_as_the_only_shard_that_knows_it_moved_it():
    table = np.zeros((3, 2), dtype=np.float32)
    every = Moves.between(table, np.full((3, 2), 3.0, np.float32), np.array([2, 0, 1]))
    other = Moves.between(table, np.full((3, 2), 9.0, np.float32), np.array([1, 0, 0]))
    mix(table, [every, other, None])
    assert table.tolist() == [[5.0, 5.0], [0.0, 0.0], [3.0, 3.0]]


def test_shards_learn_from_relevance_and_start_from_a_model(problem):
    (X, Y), _ = problem
    asked = relevance_from_captions(Y, inverse_frequency(Y), max_words=1)
    given = Relevance(asked.queries, asked.pictures)
    first = Pamir(max_iter=2000, n_shards=2).fit(X, given)
    further = Pamir(max_iter=2000, n_shards=2, max_words=1).fit(X, Y, initial=first)
    assert first.weights_.any()
    assert not np.array_equal(first.weights_, further.weights_)


def test_more_shards_than_pictures_tell_apart_do_no_harm():
    model = Pamir(max_iter=400, n_shards=5).fit(np.eye(3), np.eye(3))
    assert model.transform(np.eye(3)).shape == (3, 3)

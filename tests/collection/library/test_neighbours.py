"""What captions of the pictures most alike say about words, against the formula written slowly."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.collection.library.descriptions import Neighbours, neighbours_of, with_neighbours
from visterm.collection.media.captions import effective_captions
from visterm.collection.store.feature_rows import vectors_of
from visterm.collection.store.snapshot import snapshot


def test_a_neighbour_counts_one_at_most_and_a_usual_picture_next_to_nothing():
    near = Neighbours(np.arange(3), np.array([1.0, 0.8, 0.5], np.float32), usual=0.5)
    same, alike, usual = near.weights()
    assert same == 1
    assert alike == pytest.approx(np.exp(10 * (0.6 - 0.75)), rel=1e-5)
    assert usual < 0.001


def test_words_of_the_nearest_captions_move_probabilities(learnt):
    catalogue, vocabulary = learnt.catalogue, snapshot(learnt.catalogue).words.vocabulary
    vectors = vectors_of(catalogue, "thumbnails-1", [3])
    (near,) = neighbours_of(snapshot(catalogue), "thumbnails-1", vectors, [3])
    assert 3 not in near.pictures
    assert near.cosines.tolist() == sorted(near.cosines, reverse=True)
    before = np.full((1, len(vocabulary)), 0.25)
    (after,) = with_neighbours(catalogue, vocabulary, before, [near])
    texts = effective_captions(learnt.catalogue, near.pictures.tolist())
    weights = dict(zip(near.pictures.tolist(), near.weights(), strict=True))
    for word, probability in zip(vocabulary.words, after, strict=True):
        held = sum(weights[one] for one, text in texts.items() if word in text.split())
        expected = (held + 0.25) / (sum(weights.values()) + 1)
        assert probability == pytest.approx(expected)


def test_without_captions_the_model_speaks_alone(learnt):
    nobody = Neighbours(np.empty(0, np.int64), np.empty(0, np.float32), 0.0)
    vocabulary = snapshot(learnt.catalogue).words.vocabulary
    before = np.random.default_rng(0).random((1, len(vocabulary)))
    after = with_neighbours(learnt.catalogue, vocabulary, before, [nobody])
    assert np.array_equal(before, after)

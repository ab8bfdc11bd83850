"""Which words pictures can show, from captions over vectors whose causes are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.collection.training.visible_words import (
    FEW_WORDS,
    MOST,
    visibility,
    visible_words,
)

PICTURES, WIDTH = 600, 24


def vectors() -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal((PICTURES, WIDTH)).astype(np.float32)


def where(chosen: NDArray[np.bool_] | NDArray[np.integer]) -> NDArray[np.bool_]:
    holds = np.zeros(PICTURES, bool)
    holds[chosen] = True
    return holds


def captions(*words: NDArray[np.bool_]) -> csr_array:
    return csr_array(np.stack(words, axis=1).astype(np.int32))


def predicted(held: csr_array, words: list[str], known: list[str] | None = None) -> list[str]:
    starter = np.array([word in (known or []) for word in words])
    found = visible_words(vectors(), held, words, starter)
    return [word for word, yes in zip(words, found, strict=True) if yes]


SEEN = where(vectors()[:, 0] > 1)
BLIND = where(np.random.default_rng(1).choice(PICTURES, 200, replace=False))


def test_a_word_that_depends_on_what_is_seen_stands_above_chance_and_another_does_not():
    found = visibility(vectors(), captions(SEEN, BLIND))
    assert found.least[0] > 0.8
    assert found.least[1] < 0.5 < found.most[1] < 0.65
    assert found.examples.tolist() == [SEEN.sum(), BLIND.sum()]


def test_two_pictures_that_look_alike_show_nothing_yet():
    rows = vectors()
    rows[1] = rows[0]
    found = visibility(rows, captions(where(np.array([0, 1])), SEEN))
    assert found.least[0] < 0.5
    assert found.most[0] == pytest.approx(1, abs=0.01)


def test_wide_and_sparse_vectors_are_judged_alike():
    wide = np.zeros((PICTURES, 3000), np.float32)
    wide[:, :WIDTH] = np.maximum(vectors(), 0)
    for rows in (wide, csr_array(wide)):
        found = visibility(rows, captions(SEEN, BLIND))
        assert found.least[0] > 0.7
        assert found.most[1] < 0.65


def test_a_small_vocabulary_keeps_all_but_what_is_shown_not_to_be_seen():
    rare = where(np.array([3, 7]))
    assert predicted(captions(SEEN, BLIND, rare), ["sun", "nice", "rosa"]) == ["sun", "rosa"]


def test_words_about_pictures_and_words_of_nearly_all_captions_are_never_predicted():
    most = where(np.arange(PICTURES - 60))
    held = captions(SEEN, SEEN, most)
    assert predicted(held, ["sun", "photographs", "thing"], ["thing"]) == ["sun"]


def test_a_few_captions_keep_their_words():
    few = captions(SEEN, BLIND)[:100]
    found = visible_words(vectors()[:100], few, ["sun", "nice"], np.zeros(2, bool))
    assert found.tolist() == [True, True]


@pytest.fixture(scope="module")
def large() -> tuple[csr_array, list[str]]:
    """A word that is seen, one that is not, and many of which two or three pictures say nothing."""
    random = np.random.default_rng(2)
    rare = [where(random.choice(PICTURES, 3)) for _ in range(4 * FEW_WORDS)]
    return captions(SEEN, BLIND, *rare), ["sun", "nice", *(f"word{n}" for n in range(len(rare)))]


def test_of_a_large_vocabulary_only_what_is_surely_seen_is_predicted(large):
    held, words = large
    assert predicted(held, words) == ["sun"]
    assert 1 / len(words) < MOST


def test_a_word_of_the_starter_stays_unless_captions_show_that_it_cannot_be_seen(large):
    held, words = large
    assert predicted(held, words, known=["nice", "word7"]) == ["sun", "word7"]


def test_of_many_words_that_are_seen_a_quarter_is_predicted_the_surest_first():
    random = np.random.default_rng(3)
    rows = vectors()
    looks = random.standard_normal((4 * FEW_WORDS, WIDTH))
    sizes = np.linspace(200, 30, len(looks)).astype(int)
    held = [where(np.argsort(-rows @ look)[:size]) for look, size in zip(looks, sizes, strict=True)]
    words = [f"word{n}" for n in range(len(held))]
    found = predicted(captions(*held), words)
    assert len(found) == MOST * len(words)
    assert np.mean([words.index(word) for word in found]) < len(words) / 2

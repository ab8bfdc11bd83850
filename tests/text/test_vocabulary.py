"""The vocabulary: which words it learns, how it shows them, and the vectors it makes."""

from __future__ import annotations

import json
from collections import Counter
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visterm.errors import BadInput
from visterm.text import Vocabulary

CAPTIONS = ["sky sea", "sky tree trees", "sky trees snow", "sky"]


def test_words_stand_in_alphabetical_order_of_the_form_written_most():
    vocabulary = Vocabulary.from_captions(CAPTIONS)
    assert vocabulary.words == ("sea", "sky", "snow", "trees")


def test_between_forms_written_equally_often_the_shorter_is_shown():
    assert Vocabulary.from_captions(["cities", "city"]).words == ("city",)


def test_the_form_shown_depends_on_how_often_it_is_written_and_not_on_captions():
    vocabulary = Vocabulary.from_captions(["boats boats boats", "boat", "boat"])
    assert vocabulary.words == ("boats",)


def test_any_form_finds_its_word():
    vocabulary = Vocabulary.from_captions(CAPTIONS)
    assert vocabulary.number("Tree") == vocabulary.number("TREES") == 3
    assert "skies" in vocabulary
    assert "boat" not in vocabulary
    assert vocabulary.number("boat") is None


def test_an_accent_in_two_pieces_finds_the_word_written_in_one():
    vocabulary = Vocabulary.of_words(["Cafe\u0301"])
    assert vocabulary.number("caf\u00e9") == 0
    assert vocabulary.counts(["un CAFÉ"]).sum() == 1


def test_without_a_language_words_are_taken_as_written():
    vocabulary = Vocabulary.from_captions(["tree", "trees"], language=None)
    assert vocabulary.words == ("tree", "trees")


def test_rare_words_and_stop_words_are_left_out():
    kept = Vocabulary.from_captions(CAPTIONS, min_captions=2, stop_words=["Skies"])
    assert kept.words == ("trees",)


def test_a_word_repeated_in_one_caption_is_still_held_by_one_caption():
    assert Vocabulary.from_captions(["snow snow snow", "sea"], min_captions=2).words == ()


def test_captions_may_come_from_an_iterator():
    assert (
        Vocabulary.from_captions(iter(CAPTIONS)).words == Vocabulary.from_captions(CAPTIONS).words
    )


def test_a_single_text_in_place_of_a_list_is_refused():
    with pytest.raises(BadInput, match=r"list of captions.*\['sea sun'\]"):
        Vocabulary.from_captions("sea sun")
    with pytest.raises(BadInput, match=r"list of texts.*\['sea sun'\]"):
        Vocabulary.of_words(["sea"]).query_vectors("sea sun")


def test_no_captions_are_refused():
    with pytest.raises(BadInput, match="no captions"):
        Vocabulary.from_captions([])


def test_two_forms_of_one_word_are_refused_and_named():
    with pytest.raises(BadInput, match="repeated: tree"):
        Vocabulary.of_words(["tree", "sea", "trees"])


def test_weights_must_pair_up_with_words():
    with pytest.raises(BadInput, match="2 words but 3 weights"):
        Vocabulary(("sea", "sun"), np.ones(3))


def test_counts_pass_over_unknown_words_and_fold_the_others():
    counts = Vocabulary.of_words(["sea", "tree"]).counts(["Trees, tree & boat", "", "sea"])
    assert counts.toarray().tolist() == [[0, 2], [0, 0], [1, 0]]
    assert counts.dtype == np.int32


def test_counts_of_no_texts_have_no_rows():
    assert Vocabulary.of_words(["sea"]).counts([]).shape == (0, 1)


WORDS = ["bird", "boat", "night", "sea", "snow", "sun"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=6)


@given(TEXTS)
def test_counts_are_those_of_a_counter(texts):
    counts = Vocabulary.of_words(WORDS).counts(texts).toarray()
    for row, text in zip(counts, texts, strict=True):
        found = Counter(text.split())
        assert row.tolist() == [found[word] for word in WORDS]


@given(TEXTS)
def test_idf_is_minus_the_logarithm_of_the_fraction_of_captions_that_hold_the_word(captions):
    vocabulary = Vocabulary.of_words(WORDS).weighted_by(captions)
    for word, idf in zip(WORDS, vocabulary.idf, strict=True):
        holding = sum(word in caption.split() for caption in captions)
        fraction = (holding or 0.5) / len(captions)
        assert idf == pytest.approx(-log(fraction))


def test_a_word_in_every_caption_weighs_zero_and_an_unseen_one_most():
    vocabulary = Vocabulary.of_words(["sea", "sky", "snow"]).weighted_by(["sky sea", "sky"])
    assert vocabulary.idf[1] == 0
    assert not np.signbit(vocabulary.idf[1])
    assert vocabulary.idf[2] > vocabulary.idf[0]


@given(TEXTS, TEXTS, st.booleans())
def test_query_vectors_are_the_formula_written_slowly(captions, texts, binary):
    vocabulary = Vocabulary.of_words(WORDS).weighted_by(captions)
    vectors = vocabulary.query_vectors(texts, binary=binary).toarray()
    for vector, text in zip(vectors, texts, strict=True):
        found = Counter(text.split())
        weight = {word: 1 if binary else count for word, count in found.items()}
        raw = [weight.get(w, 0) * idf for w, idf in zip(WORDS, vocabulary.idf, strict=True)]
        if not any(raw):  # only words of idf 0: they count alike
            raw = [weight.get(word, 0) for word in WORDS]
        length = sqrt(sum(value**2 for value in raw)) or 1.0
        assert vector.tolist() == pytest.approx([value / length for value in raw], abs=1e-6)


def test_a_query_of_words_that_every_caption_holds_still_ranks_by_its_words():
    vocabulary = Vocabulary.of_words(["sea", "sky"]).weighted_by(["sky sea", "sky sea"])
    with np.errstate(all="raise"):
        query = vocabulary.query_vectors(["sky"])
    assert query.toarray().tolist() == [[0.0, 1.0]]
    pictures = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert (query @ pictures.T).argmax() == 1


def test_a_query_remembers_words_of_weight_zero():
    vocabulary = Vocabulary.of_words(["sea", "sky"]).weighted_by(["sky sea", "sky"])
    query = vocabulary.query_vectors(["sea sky"])
    assert query.indices.tolist() == [0, 1]
    assert query.data.tolist() == [1.0, 0.0]


def test_a_query_without_known_words_is_an_empty_row():
    with np.errstate(all="raise"):
        queries = Vocabulary.of_words(["sea"]).query_vectors(["", "boat"])
    assert queries.shape == (2, 1)
    assert queries.nnz == 0


def test_json_brings_back_the_same_vocabulary():
    vocabulary = Vocabulary.from_captions([*CAPTIONS, "un café"], language="french")
    stored = json.loads(json.dumps(vocabulary.to_json()))
    again = Vocabulary.from_json(stored)
    assert again.words == vocabulary.words
    assert again.language == "french"
    assert again.idf.tobytes() == vocabulary.idf.tobytes()
    assert again.number("CAFÉS") == vocabulary.number("café") is not None


def test_vocabularies_can_stand_in_sets_and_be_compared():
    one, other = Vocabulary.of_words(["sea", "sun"]), Vocabulary.of_words(["sea", "sun"])
    assert one == one
    assert one != other
    assert len({one, other}) == 2

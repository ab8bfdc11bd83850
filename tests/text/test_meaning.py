"""Unknown words: spellings, synonyms, and words close in meaning."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.starter import load_starter
from visterm.text import Vocabulary, sentence_encoder
from visterm.text.meaning import Meaning, has_vectors, is_guess, meanings
from visterm.text.query import parse_query, query_vector
from visterm.text.sentence_encoder import has_sentences
from visterm.text.synonyms import same_words
from visterm.text.unknown_words import read_phrases

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


WORDS = Vocabulary.of_words(
    ["dog", "cat", "house", "tree", "sea", "sun", "bread", "horse", "truck", "car", "fish"]
)
both = pytest.mark.skipif(
    not (has_vectors() and has_sentences()), reason="pip install visterm[words,sentences]"
)


@both
@pytest.mark.parametrize(
    ("typed", "known"),
    [("hunde", "dog"), ("chiens", "dog"), ("casas", "house"), ("paarden", "horse")],
)
def test_words_of_other_languages_are_taken_for_the_known_one(typed: str, known: str):
    assert meanings(typed, WORDS) == [Meaning(WORDS.words.index(known), 1.0)]


@both
@pytest.mark.parametrize("word", ["philosophy", "pollution", "surgeon", "invoice"])
def test_an_english_word_that_is_not_known_is_not_guessed(word: str):
    assert meanings(word, WORDS) == []


@both
@pytest.mark.parametrize("word", ["zzqx", "wsx", "trzk", "blorft", "hjkl", "asdfgh"])
def test_what_is_no_word_of_any_language_is_not_guessed(word: str):
    assert meanings(word, load_starter().vocabulary) == []


@both
def test_a_phrase_is_looked_up_before_its_words_and_named_as_a_whole():
    found, replaced = read_phrases(parse_query("pickup truck -sea"), WORDS, lambda _: False)
    assert replaced == {"pickup truck": ["truck"]}
    assert found.words == (("truck", 1.0), ("sea", -1.0))
    held, nothing = read_phrases(parse_query("pickup truck"), WORDS, lambda word: word == "pickup")
    assert (held.words, nothing) == ((("pickup", 1.0), ("truck", 1.0)), {})
    _, nothing = read_phrases(parse_query("dog house"), WORDS, lambda _: False)
    assert nothing == {}, "words that are all known are read word by word"


@both
def test_what_is_far_from_certain_is_called_a_guess():
    assert not is_guess("hunde", WORDS)
    assert not is_guess("ocean", WORDS), "a synonym is none"


def test_without_the_sentence_encoder_only_very_close_words_stand_for_others(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(sentence_encoder, "has_sentences", lambda: False)
    assert meanings("hunde", WORDS) == []
    assert meanings("smoke", Vocabulary.of_words(["burning"])) == []
    assert meanings("ocean", WORDS) == [Meaning(WORDS.words.index("sea"), 1.0)]

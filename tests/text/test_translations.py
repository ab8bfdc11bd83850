"""Everyday words of other languages are looked up, with no extra installed."""

from __future__ import annotations

import pytest

from visterm.starter import load_starter
from visterm.text import Vocabulary
from visterm.text.meaning import Meaning, is_guess, meanings
from visterm.text.query import parse_query, query_vector
from visterm.text.tokens import STOP_WORDS
from visterm.text.translations import TABLE, translated
from visterm.text.unknown_words import read_phrases

WORDS = Vocabulary.of_words(["dog", "beach", "tree", "railway", "glass", "vase", "sea", "eagle"])


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("Hund", "dog"),
        ("plage", "beach"),
        ("árbol", "tree"),
        ("arbol", "tree"),
        ("aguila", "eagle"),
        ("zee", "sea"),
        ("hunde", "dog"),
        ("plages", "beach"),
        ("arboles", "tree"),
    ],
)
def test_a_word_is_taken_for_what_it_means_with_accents_or_without(typed: str, known: str):
    assert meanings(typed, WORDS) == [Meaning(WORDS.words.index(known), 1.0)]
    assert not is_guess(typed, WORDS)


def test_a_word_of_two_meanings_stands_for_both():
    found = query_vector(parse_query("vaso"), WORDS, meanings)
    assert found.replaced == {"vaso": ["glass", "vase"]}
    assert found.weights.tolist() == [0.5, 0.5]


def test_a_word_whose_meaning_is_known_by_a_synonym_only_is_taken_for_that():
    assert meanings("mar", Vocabulary.of_words(["ocean"])) == [Meaning(0, 1.0)]


def test_phrases_are_looked_up_as_a_whole_and_other_words_each_alone():
    found, replaced = read_phrases(parse_query("chemin de fer"), WORDS, lambda _: False)
    assert (found.words, replaced) == ((("railway", 1.0),), {"chemin de fer": ["railway"]})
    found, replaced = read_phrases(parse_query("plage sac chemin de fer"), WORDS, lambda _: False)
    assert found.words == (("plage", 1.0), ("sac", 1.0), ("railway", 1.0))
    assert replaced == {"chemin de fer": ["railway"]}
    held, _ = read_phrases(parse_query("chemin de fer"), WORDS, lambda word: word == "fer")
    assert [word for word, _ in held.words] == ["chemin", "de", "fer"]
    both = query_vector(parse_query("chien -plage"), WORDS, meanings)
    assert both.replaced == {"chien": ["dog"], "plage": ["beach"]}
    assert both.weights.tolist() == [1.0, -1.0]


def test_what_is_an_english_word_too_is_not_looked_up():
    assert meanings("mare", WORDS) == meanings("chat", Vocabulary.of_words(["cat"])) == []


def test_words_that_join_others_stand_for_nothing():
    starter = load_starter().vocabulary
    assert [word for word in sorted(STOP_WORDS) if translated(word)] == []
    for typed in ("dog on the beach", "la playa", "der Hund", "puente sobre el río"):
        found = query_vector(parse_query(typed), starter, meanings).replaced
        assert not {"the", "on", "la", "der", "el", "sobre"} & found.keys()


def test_a_short_word_without_its_accent_is_another_word():
    assert (translated("thé"), translated("lã"), translated("bär")) == (
        ("tea",),
        ("wool",),
        ("bear",),
    )
    assert translated("the") == translated("la") == translated("bar") == ()


def test_a_known_word_is_never_read_in_another_language():
    assert query_vector(parse_query("zee"), Vocabulary.of_words(["zee"]), meanings).replaced == {}


@pytest.mark.parametrize(
    ("typed", "stemmed", "meant"),
    [
        ("Welle", "well", "wave"),
        ("decke", "deck", "blanket"),
        ("porte", "port", "door"),
        ("Beere", "beer", "berry"),
    ],
)
def test_a_word_of_another_language_is_looked_up_before_an_english_stem_takes_it(
    typed: str, stemmed: str, meant: str
):
    starter = load_starter().vocabulary
    assert starter.words[starter.number(typed)] == stemmed
    found = query_vector(parse_query(f"-{typed}"), starter, meanings)
    assert [starter.words[number] for number in found.numbers] == [meant]
    assert (found.weights.tolist(), found.replaced) == ([-1.0], {typed.lower(): [meant]})


@pytest.mark.parametrize("typed", ["well", "wells", "pin", "Lampe", "porte dauphine"])
def test_english_forms_and_names_are_read_as_they_are(typed: str):
    words = ["well", "wave", "pins", "pine", "lamp", "port", "door", "porte dauphine"]
    found = query_vector(parse_query(typed), Vocabulary.of_words(words), meanings)
    assert (len(found.numbers), found.replaced, found.unknown) == (1, {}, ())


def test_a_stem_is_better_than_nothing():
    words = Vocabulary.of_words(["well", "wave"])
    for finder in (None, lambda word, vocabulary: []):  # as of a word that captions hold
        found = query_vector(parse_query("Welle"), words, finder)
        assert (found.numbers.tolist(), found.replaced, found.unknown) == ([0], {}, ())


def test_every_line_has_a_word_of_the_starter_and_six_languages():
    starter = load_starter()
    lines = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]
    assert {len(line) for line in lines} == {7}
    assert [line[0] for line in lines] == sorted({line[0] for line in lines})
    assert [line[0] for line in lines if starter.find(line[0]) is None] == []

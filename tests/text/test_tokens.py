"""Text to words: what is one word, and which forms of it meet."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visterm.errors import BadInput
from visterm.text.tokens import one_form, stem, tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A Tree, two TREES.", ["a", "tree", "two", "trees"]),
        ("", []),
        (" \n\t –—… !?", []),
        ("blue_sky", ["blue", "sky"]),
        ("4x4, route 66", ["4x4", "route", "66"]),
        ("sky/sea+sun", ["sky", "sea", "sun"]),
    ],
)
def test_words_are_runs_of_letters_and_digits_in_lower_case(text, words):
    assert tokens(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tee-shirt", ["tee-shirt"]),
        ("-x- a--b", ["x", "a", "b"]),
        ("mother-in-law", ["mother-in-law"]),
        ("five o'clock", ["five", "o'clock"]),
        ("'quoted' rock'n'roll", ["quoted", "rock'n'roll"]),
        ("the trees' shade", ["the", "trees", "shade"]),
    ],
)
def test_hyphens_and_apostrophes_join_only_inside_a_word(text, words):
    assert tokens(text) == words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("o’clock", "o'clock"),
        ("tee\u2010shirt", "tee-shirt"),
        ("tee\u2011shirt", "tee-shirt"),
        ("cafe\u0301", "caf\u00e9"),
        ("ﬁre", "fire"),
        ("ＳＫＹ", "sky"),
        ("moun\u00adtain", "mountain"),
    ],
)
def test_a_word_typed_on_two_systems_is_one_word(one, other):
    assert tokens(one) == tokens(other) == [other]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Grüße aus KÖLN", ["grüße", "aus", "köln"]),
        ("Straße", ["straße"]),
        ("L'ÉTÉ à l’Œuvre", ["l'été", "à", "l'œuvre"]),
        ("naïve garçon", ["naïve", "garçon"]),
        ("горы и море", ["горы", "и", "море"]),
        ("ΘΆΛΑΣΣΑ", ["θάλασσα"]),
        ("桜 東京", ["桜", "東京"]),
    ],
)
def test_letters_of_other_languages_are_letters(text, words):
    assert tokens(text) == words


@pytest.mark.parametrize("word", ["हिन्दी", "עִבְרִית", "ภูเขา", "தமிழ்", "i\u0307stanbul"])
def test_vowel_signs_stay_inside_their_word(word):
    assert tokens(f"{word}, {word}!") == [unicodedata.normalize("NFKC", word)] * 2


@given(st.text())
def test_any_text_gives_words_that_are_their_own_words(text):
    for token in tokens(text):
        assert token == one_form(token)
        assert tokens(token) == [token]


@given(st.lists(st.text(st.characters(categories=["Ll", "Nd"]), min_size=1), max_size=5))
def test_letter_case_and_spacing_do_not_matter(words):
    assert tokens("  ".join(words).upper().lower()) == tokens(" ".join(words).upper().lower())


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("trees", "tree"),
        ("skies", "sky"),
        ("cities", "city"),
        ("churches", "church"),
        ("boxes", "box"),
        ("horses", "horse"),
        ("buses", "bus"),
        ("leaves", "leaf"),
        ("women", "woman"),
        ("children", "child"),
        ("geese", "goose"),
        ("polar-bears", "polar-bear"),
        ("police-women", "police-woman"),
        ("tree's", "tree"),
    ],
)
def test_english_singular_and_plural_meet(plural, singular):
    assert stem(plural) == stem(singular)


@pytest.mark.parametrize(
    ("one", "other"),
    [("sky", "ski"), ("bus", "bush"), ("cat", "cattle"), ("sun", "snow"), ("beach", "bear")],
)
def test_different_words_do_not_meet(one, other):
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("language", "plural", "singular"),
    [
        ("german", "blumen", "blume"),
        ("german", "boote", "boot"),
        ("french", "arbres", "arbre"),
        ("french", "fleurs", "fleur"),
        ("spanish", "playas", "playa"),
    ],
)
def test_other_languages_fold_by_their_own_rules(language, plural, singular):
    assert stem(plural, language) == stem(singular, language)


def test_an_unknown_language_is_refused_with_the_known_ones():
    with pytest.raises(BadInput, match=r"'klingon'.*english.*german"):
        stem("tree", "klingon")

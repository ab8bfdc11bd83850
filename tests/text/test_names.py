"""Names of several words: found in captions, kept together, and asked for."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.text import Vocabulary
from visterm.text.meaning import meanings
from visterm.text.names import names_in
from visterm.text.query import parse_query, query_vector
from visterm.text.tokens import STOP_WORDS


@pytest.mark.parametrize(
    ("captions", "names"),
    [
        (["Aunt Rosa", "Aunt Rosa", "Aunt Rosa"], ["aunt rosa"]),
        (["holiday with Aunt Rosa", "Aunt Rosa at the beach"], ["aunt rosa"]),
        (["aunt rosa, beach", "dog, aunt rosa", "beach"], ["aunt rosa"]),
        (["aunt rosa\nbeach", "beach\naunt rosa"], ["aunt rosa"]),
        (["the Golden Gate Bridge", "Golden Gate Bridge in fog"], ["golden gate bridge"]),
        (["Visiting New York", "New York. Old York"], ["new york"]),
        (["a night in Rio de Janeiro", "Rio de Janeiro"], ["rio de janeiro"]),
        (['a sign "no parking"', "a sign"], ["no parking"]),
        (["Anna", "Anna and Bruno", "Bruno and Anna"], []),
        (["sky sea", "sky sea", "sky sea boat"], []),
        (["a red car", "red car, road", "red car, tree", "red roof", "red sea", "red wall",
          "blue car", "car", "old car", "car wash", "red", "red door"], []),
        (["A dog on a beach", "A dog on a beach"], []),
        (["Beautiful Sunset Over Lake Tahoe Tonight"] * 2, []),
        (["Aunt Rosa in May"], []),
        ([], []),
    ],
)  # fmt: skip
def test_names_recur_and_their_words_belong_together(captions: list[str], names: list[str]):
    assert names_in(captions, STOP_WORDS) == names


CAPTIONS = [
    "Aunt Rosa in New York",
    "Aunt Rosa at the sea",
    "New York from the sea",
    "rosa, people",
]
KNOWN = Vocabulary.from_captions(
    CAPTIONS, stop_words=STOP_WORDS, names=names_in(CAPTIONS, STOP_WORDS)
)


def asked(query: str) -> dict[str, int]:
    found = query_vector(parse_query(query), KNOWN, meanings)
    assert not found.unknown
    signs = np.sign(found.weights).astype(int).tolist()
    return dict(zip((KNOWN.words[n] for n in found.numbers), signs, strict=True))


def test_a_name_is_one_word_and_its_words_are_others_only_where_they_stand_alone():
    assert KNOWN.words == ("aunt rosa", "new york", "people", "rosa", "sea")


def test_a_name_in_singular_and_plural_is_one_word():
    captions = ["a Ford Pickup", "the Ford Pickup", "many Ford Pickups", "Ford Pickups"]
    names = ["ford pickup", "ford pickups"]
    known = Vocabulary.from_captions(captions, stop_words=STOP_WORDS, names=names)
    assert known.counts(captions).toarray().tolist() == [[1]] * 4


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Aunt Rosa", {"aunt rosa": 1}),
        ('"aunt rosa"', {"aunt rosa": 1}),
        ("aunt rosas", {"aunt rosa": 1}),
        ("New York -people", {"new york": 1, "people": -1}),
        ('sea -"new york"', {"sea": 1, "new york": -1}),
        ("rosa", {"rosa": 1}),
        ("york", {"new york": 1}),
        ("rosa aunt", {"rosa": 1, "aunt rosa": 1}),
        ("new -york", {}),
    ],
)
def test_queries_find_names_longest_first(query: str, words: dict[str, int]):
    if query == "new -york":  # two wishes, not one name: they cancel out
        words = {"new york": 0}
    assert asked(query) == words


def test_a_caption_with_a_name_holds_its_words_too():
    counts = KNOWN.counts(["Aunt Rosa", "rosa"]).toarray()
    assert counts.tolist() == [[1, 0, 0, 1, 0], [0, 0, 0, 1, 0]]


def test_a_stored_vocabulary_finds_its_names_again():
    again = Vocabulary.from_json(KNOWN.to_json())
    assert again.words == KNOWN.words
    assert again.number("Aunt Rosa") == 0
    assert again.joined(["new", "york"]) == ["new york"]


def test_without_names_words_are_what_they_were():
    plain = Vocabulary.from_captions(CAPTIONS, stop_words=STOP_WORDS)
    assert plain.words == ("aunt", "new", "people", "rosa", "sea", "york")

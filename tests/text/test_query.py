from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.text import Vocabulary
from visterm.text.query import (
    Filters,
    Query,
    parse_query,
    parse_sentence,
    query_vector,
)
from visterm.text.spelling import _CHANGED, closest_words, edit_cost
from visterm.text.weighting import weigh_queries

KNOWN = Vocabulary(("people", "sea", "snow", "sun", "tree"), np.array([0.5, 3.0, 2.0, 4.0, 1.0]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tree", [("tree", 1)]),
        ("  Tree\tSNOW ", [("tree", 1), ("snow", 1)]),
        ("snow:2", [("snow", 2)]),
        ("-people", [("people", -1)]),
        ("-people:0.5", [("people", -0.5)]),
        ("tee-shirt", [("tee-shirt", 1)]),
        ('"golden gate"', [("golden", 1), ("gate", 1)]),
        ('"in:sea"', [("in", 1), ("sea", 1)]),
        ('"-5 degrees"', [("5", 1), ("degrees", 1)]),
        ('-"golden gate"', [("golden", -1), ("gate", -1)]),
        ("sea,sun", [("sea", 1), ("sun", 1)]),
        ("café", [("café", 1)]),
        ("10:30", [("10", 1), ("30", 1)]),
        ("1987:2", [("1987", 2)]),
    ],
)
def test_words_are_read_with_their_weights(text: str, words: list[tuple[str, float]]) -> None:
    assert parse_query(text).words == tuple(words)


def test_capitals_do_not_matter_in_the_name_of_a_filter() -> None:
    assert parse_query("Camera:Nikon Field.Price:2").filters.facts == (
        ("camera", "Nikon"),
        ("field.Price", "2"),
    )
    assert parse_query('"NOT" not').words == (("not", 1.0), ("not", 1.0))


def test_conditions_are_read_apart_from_words() -> None:
    query = parse_query('snow in:alps in:"summer 2019/" captioned:no')
    assert query == Query((("snow", 1.0),), Filters(("alps", "summer 2019"), False))


def test_sentences_keep_their_times_and_lose_their_filters() -> None:
    sentence = 'the 10:30 train, "at last" in:"summer 2019" captioned:yes'
    assert parse_sentence(sentence) == (
        "the 10:30 train, at last",
        Filters(("summer 2019",), captioned=True),
        (),
    )


@pytest.mark.parametrize(("term", "weight"), [("-snow", -1), ("snow:2", 2), ("snow:-0.5", -0.5)])
def test_weighted_and_unwanted_words_stand_beside_a_sentence(term: str, weight: float) -> None:
    assert parse_sentence(f"a tree {term} (in summer)") == (
        "a tree in summer",
        Filters(),
        (("snow", weight),),
    )


def test_conditions_alone_are_a_query_and_nothing_is_none() -> None:
    assert not parse_query("in:alps").is_empty
    assert not parse_query("captioned:yes").is_empty
    assert parse_query("   ").is_empty


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("snow:much", "the weight of 'snow' must be a number, not 'much'"),
        ("snow:", "the weight of 'snow' must be a number"),
        ("snow:nan", "must be a number"),
        ("snow:inf", "must be a number"),
        ("captioned:maybe", "captioned is yes or no, not 'maybe'"),
        ("captioned:no captioned:yes", "no picture is captioned and not captioned"),
        ("in:", "in: needs the name of a folder"),
        ("in:./", "in: needs the name of a folder"),
        ('"golden gate', "a quote is not closed"),
        ("tree -", "'' is no word"),
        ("tree ???", "'???' is no word"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_write(text: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_query(text)
    assert said in str(refused.value)


def test_unknown_words_are_named_once_and_the_rest_still_asks() -> None:
    found = query_vector(parse_query("moon trees moon snow"), KNOWN)
    assert found.unknown == ("moon",)
    assert found.numbers.tolist() == [2, 4]


def test_a_word_that_stands_twice_has_its_weights_added_up() -> None:
    twice = query_vector(parse_query("snow tree trees"), KNOWN)
    once = query_vector(parse_query("snow tree:2"), KNOWN)
    np.testing.assert_array_equal(twice.weights, once.weights)


def test_every_word_counts_as_much_as_a_person_says() -> None:
    found = query_vector(parse_query("snow:2 -tree"), KNOWN)
    asked = {KNOWN.words[n]: w for n, w in zip(found.numbers, found.weights.tolist(), strict=True)}
    assert asked == {"snow": 2.0, "tree": -1.0}


def test_words_of_no_idf_at_all_count_alike() -> None:
    common = Vocabulary(("sky", "tree"), np.zeros(2))
    found = query_vector(parse_query("sky -tree"), common).by_idf(common.idf)
    np.testing.assert_allclose(found.weights, [np.sqrt(0.5), -np.sqrt(0.5)], rtol=1e-6)


@given(
    st.dictionaries(
        st.sampled_from(KNOWN.words),
        st.floats(-8, 8).filter(lambda weight: abs(weight) > 0.01),
        min_size=1,
    )
)
def test_the_vector_by_idf_is_the_one_that_models_learn_with(asked: dict[str, float]) -> None:
    text = " ".join(f"{word}:{weight!r}" for word, weight in asked.items())
    found = query_vector(parse_query(text), KNOWN).by_idf(KNOWN.idf)
    row = np.zeros((1, len(KNOWN)))
    for word, weight in asked.items():
        row[0, KNOWN.words.index(word)] = weight
    expected = weigh_queries(csr_array(row), KNOWN.idf, binary=False)
    np.testing.assert_array_equal(found.numbers, expected.indices)
    np.testing.assert_allclose(found.weights, expected.data, rtol=1e-6)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_for_people(text: str) -> None:
    try:
        query = parse_query(text)
    except BadInput:
        return
    assert all(word and np.isfinite(weight) for word, weight in query.words)


@pytest.mark.parametrize(
    ("word", "close"),
    [("mountian", "mountain"), ("boats", "boat"), ("light", "lighthouse"), ("tre", "tree")],
)
def test_closest_words_are_what_somebody_may_have_meant(word: str, close: str) -> None:
    known = ["boat", "fountain", "lighthouse", "mountain", "sea", "tree"]
    assert closest_words(word, known)[0] == close


@pytest.mark.parametrize(
    ("word", "known", "close"),
    [
        ("smoke", ["monkey", "smokestack"], ["smokestack"]),
        ("rosa", ["roma", "aunt rosa"], ["aunt rosa", "roma"]),
        ("beachfront", ["beach", "breach"], ["beach"]),
        ("cat", ["castle", "car"], ["car"]),
        ("ocean", ["sea", "ocelot"], ["sea"]),
        ("rainbwo", ["rainbow", "elbow"], ["rainbow"]),
    ],
)
def test_closest_words_begin_alike_before_they_look_alike(
    word: str, known: list[str], close: list[str]
) -> None:
    assert closest_words(word, known) == close


@cache
def slips(one: str, other: str) -> float:
    """The definition, slowly: letters left out, put in, changed, or swapped with the next."""
    if not one or not other:
        return len(one + other)
    ways = [slips(one[1:], other) + 1, slips(one, other[1:]) + 1]
    ways.append(slips(one[1:], other[1:]) + _CHANGED * (one[0] != other[0]))
    if len(one) > 1 < len(other) and one[:2] == other[1::-1]:
        ways.append(slips(one[2:], other[2:]) + 1)
    return min(ways)


def test_slips_of_the_fingers_are_counted_as_the_definition_says() -> None:
    words = ["".join(letters) for size in range(5) for letters in product("abc", repeat=size)]
    found = {(one, other): edit_cost(one, other) for one in words for other in words}
    assert found == pytest.approx({pair: slips(*pair) for pair in found})


def test_nothing_is_close_to_nonsense() -> None:
    assert closest_words("xqzw", KNOWN.words) == []

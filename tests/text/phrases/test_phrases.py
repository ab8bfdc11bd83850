"""Phrases of captions: what stands where, who does what, and captions that hold none."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import MissingExtra
from visterm.text.phrases import KINDS, clause_reader, phrases

pytest.importorskip("HanTa", reason="the tagger HanTa is not installed")

WORDS = ["a", "the", "man", "men", "sea", "red", "and", ",", ";", "with", "in", "of", "is", "are"]
WORDS += ["walking", "made", "it", "on", "by", "to", "covered", "sleeping", "that", "there"]


def found(caption: str) -> set[str]:
    return {str(one) for one in phrases(caption)}


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("a dog on a sofa", {"dog on sofa"}),
        ("Two dogs are sleeping.", {"dog sleep"}),
        ("a cat is sitting in front of a door", {"cat sit", "sit in front of door"}),
        ("a hut made of stone", {"hut make", "make of stone"}),
        ("three huts made of wood with red doors", {"hut make", "make of wood", "hut with door"}),
        ("a snow covered mountain", set()),
        ("a man riding a racing bike", {"man ride"}),
        (
            "a room with a bed, a lamp and two chairs",
            {"room with bed", "room with lamp", "room with chair"},
        ),
        ("a shed with a roof on a slope", {"shed with roof", "shed on slope"}),
        (
            "sheep and goats in the foreground; a barn behind them",
            {"sheep in foreground", "goat in foreground"},
        ),
        ("a tower behind it in the background", {"tower in background"}),
        ("a lake that is surrounded by hills", {"lake surround", "surround by hill"}),
        ("the sea is in the background", {"sea in background"}),
        (
            "boats on a lake, huts and a wood in the background",
            {"boat on lake", "hut in background", "wood in background"},
        ),
        ("a girl with a hat and a boy are dancing", {"girl with hat", "girl dance", "boy dance"}),
        (
            "people are singing and dancing on a stage",
            {"people sing", "people dance", "dance on stage"},
        ),
        ("a fox between a fence and a wall", {"fox between fence", "fox between wall"}),
        (
            "children sitting on stairs under a tree",
            {"child sit", "sit on stairs", "stairs under tree"},
        ),
    ],
)
def test_phrases_are_those_a_person_reads(caption, expected):
    assert found(caption) == expected


def test_singular_and_plural_give_one_phrase():
    assert found("leaves on roofs") == found("a leaf on a roof") == {"leaf on roof"}


def test_kinds_are_told_apart():
    kinds = {str(one): one.kind for one in phrases("a man with a hat is walking on a road")}
    assert kinds == {"man with hat": KINDS[1], "man walk": KINDS[0], "walk on road": KINDS[2]}


@pytest.mark.parametrize("caption", ["", "...", "12", "and of with", "-", "sea", "海と空", "\0;,"])
def test_captions_without_phrases_give_none(caption):
    assert phrases(caption) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(WORDS),
        max_size=14,
    ).map(" ".join)
    | st.text(max_size=20)
)
def test_whatever_people_write_gives_well_formed_phrases(caption):
    some = phrases(caption)
    assert len(set(some)) == len(some)
    for one in some:
        assert one.kind in KINDS
        assert len(one.words) == (2 if one.kind == KINDS[0] else 3)
        assert all(one.words)


def test_without_the_tagger_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "HanTa.HanoverTagger", None)
    clause_reader.tagger.cache_clear()
    with pytest.raises(MissingExtra, match=r"visterm\[phrases\]"):
        phrases("a dog on a sofa")
    clause_reader.tagger.cache_clear()

"""Captions that are wrong are proposed first, changed as one step, and not asked about again."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.collection import Collection
from visterm.collection.library.review import _without
from visterm.errors import BadInput


@pytest.fixture
def wronged(learnt: Collection) -> tuple[Collection, set[int], set[int]]:
    """A collection in which some captions have lost the word *sky* and some were given it."""
    texts = {number: learnt.captions(number).get("table", "") for number in range(1, 61)}
    held = [number for number, text in texts.items() if "sky" in text.split()]
    others = [number for number in texts if number not in held]
    lost, given = set(held[:3]), set(others[:3])
    for number in lost:
        learnt.caption(number, texts[number].replace("sky", "").strip() or "nothing")
    for number in given:
        learnt.caption(number, f"{texts[number]} sky")
    learnt.train(force=True)
    return learnt, lost, given


def test_both_kinds_are_proposed_in_turn_with_how_likely_they_are(wronged) -> None:
    collection, lost, given = wronged
    found = collection.doubts("sky", 10)
    assert [doubt.holds for doubt in found] == [True, False] * 5
    assert all(0 <= doubt.probability <= 1 for doubt in found)
    assert not any(doubt.is_likely and doubt.holds and doubt.probability > 0.05 for doubt in found)
    for kind, wrong in ((True, given), (False, lost)):
        likely = [doubt.probability for doubt in found if doubt.holds is kind]
        assert likely == sorted(likely, reverse=not kind)
        assert {doubt.picture for doubt in found if doubt.holds is kind} & wrong


def test_answers_change_captions_as_one_step_and_are_not_asked_again(wronged) -> None:
    collection, _lost, _ = wronged
    found = collection.doubts("sky", 10)
    before = {doubt.picture: collection.captions(doubt.picture) for doubt in found}
    answers = {doubt.picture: not doubt.holds for doubt in found}
    assert collection.review("sky", answers) > 0
    for doubt in found:
        words = collection.captions(doubt.picture).get("person", "").split()
        assert ("sky" in words) is not doubt.holds or words == []
    assert not {doubt.picture for doubt in collection.doubts("sky", 20)} & set(answers)
    collection.undo_last()
    assert {picture: collection.captions(picture) for picture in before} == before
    assert collection.doubts("sky", 10) == found


def test_a_word_that_nobody_knows_is_said(learnt: Collection) -> None:
    with pytest.raises(BadInput, match="does not know"):
        learnt.doubts("zeppelin")


def test_a_word_is_taken_out_in_whichever_form_it_stands() -> None:
    assert _without("Dogs and a dog's bone", "dog") == "and a bone"
    assert _without("A cat, dog, and sand (dog).", "dog") == "A cat, and sand."
    assert _without("dog", "dog") == ""
    assert np.all([_without(text, "cat") == text for text in ("a dog", "two lines\nof text")])

"""A teacher that asks: likely and uncertain pictures, each unlike the others, none twice."""

from __future__ import annotations

import numpy as np

from visterm.collection import Collection
from visterm.collection.library.teaching import most_informative


def test_questions_are_likely_or_uncertain_and_differ() -> None:
    likely = np.linspace(0.95, 0.01, 50)
    vectors = np.eye(50, dtype=np.float32)
    vectors[1] = vectors[0]  # the second is the first again
    chosen = most_informative(likely, vectors, [], 6)
    assert chosen[0] == 0
    assert 1 not in chosen
    assert len(set(chosen)) == 6
    assert 10 < chosen[3] < 40, "three in ten are uncertain"
    assert all(place < 10 for place in chosen[:3])
    assert not set(most_informative(likely, vectors, chosen, 6)) & set(chosen)
    assert most_informative(likely[:0], vectors[:0], [], 6) == []


def test_rounds_say_what_they_brought_and_ask_for_nothing_twice(learnt: Collection) -> None:
    holds = {n: "tree" in " ".join(learnt.captions(n).values()) for n in range(1, 61)}
    asked: set[int] = set()
    answers = 0
    for _ in range(3):
        pictures = learnt.questions("tree")
        assert not asked & set(pictures)
        asked |= set(pictures)
        report = learnt.teach("tree", {one: holds[one] for one in pictures})
        answers += len(pictures)
        assert report.answers == answers
        assert 0 <= report.foreseen <= 1
    assert len(learnt.judgements("tree")) == answers


def test_teaching_can_wait_like_every_other_answer(learnt: Collection) -> None:
    with Collection.open(learnt.root) as other, other.catalogue.writing("training"):
        learnt.submit("teach", query="sky", answers=[(3, True), (4, False)])
        assert learnt.judgements() == []
    learnt.apply_waiting()
    assert [(one.picture, one.relevant) for one in learnt.judgements()] == [(3, True), (4, False)]

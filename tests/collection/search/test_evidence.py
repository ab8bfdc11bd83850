"""One score from sight and captions: its formula, and the exact best of it."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.collection.search import evidence_ranking
from visterm.collection.search.evidence import (
    CERTAINTY,
    NAME_SOURCES,
    NamedPictures,
    Term,
)
from visterm.collection.search.evidence_ranking import EvidenceRanking
from visterm.index import Index

PICTURES, COLUMNS = 40, 5
HALF = np.array([0.0, 0.5])


@st.composite
def problems(draw):
    """An index, captions, a query of some terms, a filter and a number of pictures."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    # Few different values, so that scores are often equal.
    levels = np.float32([-1e-37, -1e-9, -0.01, -0.5, -0.5000001, -2.0, -2.0000002, -9.0])
    ids = np.sort(random.choice(2 * PICTURES, PICTURES, replace=False))
    index = Index.in_memory(random.choice(levels, (PICTURES, COLUMNS)), ids)
    captioned = random.random(3 * PICTURES) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    lengths = (captioned * random.integers(1, 4, captioned.size)).astype(np.uint8)
    unused = list(range(COLUMNS))
    terms = []
    for number in range(draw(st.integers(0, 4))):
        columns = tuple(unused.pop() for _ in range(min(len(unused), draw(st.integers(0, 2)))))
        held = np.flatnonzero(captioned & (random.random(captioned.size) < draw(st.floats(0, 1))))
        weight = draw(st.sampled_from([1.0, 2.0, 0.5, -1.0, -0.5]))
        named = tuple(
            NamedPictures(
                source,
                np.flatnonzero(random.random(captioned.size) < draw(st.floats(0, 1))),
                draw(st.sampled_from([0.1, 0.7, 0.95])),
            )
            for source in draw(st.sampled_from([(), ("folder",), NAME_SOURCES]))
        )
        frequency = 0.1 + 0.2 * number
        terms.append(Term(f"word{number}", weight, columns, held, frequency, names=named))
    allow = None
    if draw(st.booleans()):
        allow = np.sort(random.choice(3 * PICTURES, draw(st.integers(0, PICTURES)), replace=False))
    completeness = np.array([0.0, *(draw(st.sampled_from([0.05, 0.6, 0.95])) for _ in range(3))])
    return (
        EvidenceRanking(index, terms, lengths, completeness),
        allow,
        draw(st.integers(0, PICTURES)),
    )


@settings(max_examples=300, deadline=None)
@given(problems(), st.sampled_from([0, PICTURES]))
def test_the_best_and_their_count_are_those_of_sorting_the_scores_of_all(problem, small) -> None:
    evidence, allow, k = problem
    with patch.object(evidence_ranking, "_SMALL", small):
        assert (evidence._scored is not None) == (small > 0)
    every = evidence.index.ids()
    if allow is not None:
        every = np.intersect1d(every, allow)
    wanted = [term for term in evidence.terms if term.weight > 0]
    if wanted and not any(term.columns for term in wanted):
        holders = [np.empty(0, int), *(some for term in evidence.terms for some in term.lists)]
        every = np.intersect1d(every, np.concatenate(holders))
    scores = evidence.parts(every).scores
    order = np.lexsort((every, -scores))[:k]
    mask = None if allow is None else np.isin(np.arange(3 * PICTURES), allow)
    ids, found = evidence.best(k, mask)
    assert ids.tolist() == every[order].tolist()
    assert found.tolist() == scores[order].tolist()
    for least in scores[order][-1:].tolist():
        assert evidence.count(least, allow) == np.count_nonzero(scores >= least)


def probability(evidence: EvidenceRanking, term: Term, picture: int) -> float:
    """The formula, written slowly."""
    seen = term.frequency
    if term.columns:
        seen = math.exp(min(0.0, sum(evidence.index.values(term.columns, [picture])[0].tolist())))
    if picture in term.holders:
        found = 1 - (1 - CERTAINTY) * (1 - seen)
    else:
        found = seen * (1 - float(evidence.completeness[evidence.lengths[picture]]))
    for one in term.names:
        if picture in one.pictures:
            found = 1 - (1 - one.certainty) * (1 - found)
    return found


@settings(max_examples=50, deadline=None)
@given(problems())
def test_a_score_is_the_sum_of_the_words_log_probabilities(problem) -> None:
    evidence, _, _ = problem
    pictures = evidence.index.ids()
    expected = [
        sum(
            term.weight * math.log(chance)
            if term.weight > 0
            else -term.weight * math.log(max(1 - chance, 1e-6))
            for term in evidence.terms
            for chance in [probability(evidence, term, int(picture))]
        )
        for picture in pictures
    ]
    parts = evidence.parts(pictures)
    assert parts.scores == pytest.approx(expected, rel=1e-5, abs=1e-6)
    for place, term in enumerate(evidence.terms):
        assert parts.held[:, place].tolist() == np.isin(pictures, term.holders).tolist()
        named = {one.source: np.isin(pictures, one.pictures).tolist() for one in term.names}
        for number, source in enumerate(NAME_SOURCES):
            nobody = [False] * pictures.size
            assert parts.named[:, place, number].tolist() == named.get(source, nobody)


def test_a_name_says_more_than_sight_alone_and_less_than_a_caption() -> None:
    index = Index.in_memory(np.log(np.float32([[0.05], [0.05], [0.05], [0.6]])))
    named = (NamedPictures("folder", np.array([1, 2]), 0.7),)
    term = Term("coal", 1.0, (0,), np.array([0]), 0.1, names=named)
    evidence = EvidenceRanking(index, [term], np.array([1, 0, 1, 0], np.uint8), HALF)
    assert evidence.best(4)[0].tolist() == [0, 1, 2, 3]
    parts = evidence.parts(np.arange(4))
    expected = [math.log(1 - 0.3 * (1 - seen)) for seen in (0.05, 0.05 * 0.5)]
    assert parts.name.tolist() == pytest.approx([0, *expected, 0])
    assert parts.sight.tolist() == pytest.approx([0, 0, 0, math.log(0.6)])
    assert parts.caption[1:].tolist() == [0, 0, 0]


def asked(word: str, column: int | None, held: list[int], weight: float = 1.0) -> Term:
    columns = () if column is None else (column,)
    return Term(word, weight, columns, np.array(held, np.int64), 0.01)


def test_written_words_come_first_and_captions_without_them_a_little_later() -> None:
    index = Index.in_memory(np.log(np.float32([[0.05], [0.6], [0.6], [0.1]])))
    captions = np.array([1, 1, 0, 0], np.uint8)
    evidence = EvidenceRanking(
        index, [asked("coal", 0, [0])], captions.astype(np.uint8), np.array([0.0, 0.5])
    )
    assert evidence.best(4)[0].tolist() == [0, 2, 1, 3]


def test_one_word_may_be_read_and_the_other_seen() -> None:
    index = Index.in_memory(np.log(np.float32([[0.9], [0.1], [0.9]])))
    captions = np.array([1, 1, 0], np.uint8)
    terms = [asked("anna", None, [0, 1]), asked("beach", 0, [])]
    evidence = EvidenceRanking(index, terms, captions, HALF)
    assert evidence.best(3)[0].tolist() == [0, 1, 2]
    parts = evidence.parts(np.array([0]))
    assert parts.sight[0] == pytest.approx(math.log(0.9))
    assert parts.caption[0] == pytest.approx(math.log(CERTAINTY) + math.log(0.5), abs=1e-3)


def test_of_words_that_nobody_sees_only_captions_tell() -> None:
    index = Index.in_memory(np.zeros((5, 1), np.float32))
    captions = np.array([1, 1, 1, 0, 0], np.uint8)
    evidence = EvidenceRanking(
        index, [asked("anna", None, [1, 2]), asked("1987", None, [2])], captions, HALF
    )
    assert evidence.best(5)[0].tolist() == [2, 1]


def test_an_unwanted_word_in_a_caption_takes_a_picture_far_down() -> None:
    index = Index.in_memory(np.log(np.float32([[0.9, 0.01], [0.5, 0.01], [0.5, 0.9]])))
    captions = np.array([1, 0, 0], np.uint8)
    terms = [asked("beach", 0, []), asked("people", 1, [0], weight=-1.0)]
    assert EvidenceRanking(index, terms, captions, HALF).best(3)[0].tolist() == [1, 2, 0]

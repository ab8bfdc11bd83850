"""One score from sight and captions: its formula, and the exact best of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.collection.search.evidence import CERTAINTY, Evidence, QueryTerm
from visterm.collection.search.ranking import QueryRows, RowScores, VideoRows
from visterm.index.codes import encoded, magnitudes
from visterm.index.columns import WordWeights
from visterm.index.feature_file import FeatureFile, only_ids

PICTURES = 40
HALF = (0.0, 0.5)


class GivenColumns:
    """Columns that are known: a word's bias says which."""

    def __init__(self, probabilities: np.ndarray) -> None:
        self.codes = encoded(-np.log(np.asarray(probabilities, np.float64)))

    def columns(self, rows: FeatureFile, words: Sequence[WordWeights]) -> list[np.ndarray]:
        return [np.ascontiguousarray(self.codes[: len(rows), int(word.bias)]) for word in words]


@dataclass
class Problem:
    """Some rows, captions and names, and the words of a query."""

    columns: GivenColumns
    terms: Sequence[QueryTerm]
    lengths: np.ndarray
    completeness: Sequence[float] = HALF
    ids: np.ndarray | None = None
    is_there: np.ndarray | None = None
    videos: VideoRows | None = None

    def scored(self) -> RowScores:
        return self.query().scored()

    def query(self) -> QueryRows:
        count = len(self.columns.codes)
        ids = np.arange(count) if self.ids is None else self.ids
        order = np.argsort(ids, kind="stable")

        def positions(pictures: np.ndarray) -> np.ndarray:
            here = pictures[np.isin(pictures, ids)]
            return np.sort(order[np.searchsorted(ids[order], here)])

        return QueryRows(
            only_ids(ids),
            [Evidence.of(term, self.completeness, positions) for term in self.terms],
            self.columns,  # type: ignore[arg-type]
            lengths=self.lengths,
            is_there=self.is_there,
            videos=self.videos,
        )

    def chance(self, term: QueryTerm, place: int) -> float:
        """The formula, written slowly."""
        picture = place if self.ids is None else int(self.ids[place])
        seen = term.frequency
        if term.weights is not None:
            seen = math.exp(-float(magnitudes()[self.columns.codes[place, int(term.weights.bias)]]))
        if picture in term.captioned:
            found = 1 - (1 - CERTAINTY) * (1 - seen)
        else:
            omitted = self.completeness[self.lengths[place]] if term.is_mentioned else 0.0
            found = seen * (1 - omitted)
        for pictures, certainty in term.named.values():
            if picture in pictures:
                found = 1 - (1 - certainty) * (1 - found)
        return found

    def slow_score(self, place: int) -> float:
        return sum(
            term.weight * math.log(self.chance(term, place))
            if term.weight > 0
            else -term.weight * math.log(max(1 - self.chance(term, place), 1e-6))
            for term in self.terms
        )


def term(
    word: str, column: int | None, held: Sequence[int] = (), weight: float = 1.0, **more: object
) -> QueryTerm:
    weights = None if column is None else WordWeights(float(column), np.empty(0, np.float32))
    frequency = more.pop("frequency", 0.01)
    return QueryTerm(word, weight, weights, np.array(held, np.int64), frequency, **more)  # type: ignore[arg-type]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    # Few different values, so that scores are often equal.
    levels = np.exp([-1e-7, -1e-4, -0.01, -0.5, -0.5001, -2.0, -2.001, -9.0])
    ids = random.permutation(2 * PICTURES)[:PICTURES]
    captioned = random.random(PICTURES) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    terms = []
    for number in range(draw(st.integers(1, 4))):
        column = draw(st.sampled_from([number, number, None]))
        held = np.sort(ids[captioned & (random.random(PICTURES) < draw(st.floats(0, 1)))])
        named = {
            source: (
                np.flatnonzero(random.random(2 * PICTURES) < draw(st.floats(0, 1))),
                draw(st.sampled_from([0.1, 0.7, 0.95])),
            )
            for source in draw(st.sampled_from([(), ("folder",), ("file", "folder")]))
        }
        terms.append(
            term(
                f"word{number}",
                column,
                held.tolist(),
                draw(st.sampled_from([1.0, 2.0, 0.5, -1.0, -0.5])),
                named=named,
                frequency=0.1 + 0.2 * number,
                is_mentioned=draw(st.booleans()),
            )
        )
    is_there = random.random(PICTURES) < 0.8 if draw(st.booleans()) else None
    complete = [0.0, *(draw(st.sampled_from([0.05, 0.6, 0.95])) for _ in range(3))]
    lengths = (captioned * random.integers(1, 4, PICTURES)).astype(np.uint8)
    columns = GivenColumns(random.choice(levels, (PICTURES, 4)))
    return Problem(columns, terms, lengths, complete, ids, is_there)


@settings(max_examples=200, deadline=None)
@given(problems(), st.integers(0, PICTURES))
def test_scores_are_those_of_the_slow_formula_and_the_best_those_of_a_full_sort(
    problem: Problem, k: int
) -> None:
    found = problem.scored()
    scores = found.vector.scores.copy()
    there = np.ones(PICTURES, bool) if problem.is_there is None else problem.is_there.copy()
    wanted = [one for one in problem.terms if one.weight > 0]
    if wanted and all(one.weights is None for one in wanted):
        lists = [one.captioned for one in problem.terms]
        lists += [pictures for one in problem.terms for pictures, _ in one.named.values()]
        there &= np.isin(problem.ids, np.concatenate(lists))
    assert np.isfinite(scores).tolist() == there.tolist()
    expected = [problem.slow_score(place) for place in np.flatnonzero(there)]
    assert scores[there].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)
    order = [place for place in np.lexsort((problem.ids, -scores)).tolist() if there[place]]
    assert found.best(k).tolist() == order[:k]
    for least in scores[order[k - 1 : k]].tolist():
        assert found.reaching(least).tolist() == [n for n in order if scores[n] >= least]


@settings(max_examples=100, deadline=None)
@given(problems())
def test_the_parts_of_a_score_add_up_and_say_who_holds_the_word(problem: Problem) -> None:
    query = problem.query()
    found = query.scored()
    best = found.best(PICTURES)
    for place, parts in zip(best.tolist(), query.parts(best), strict=True):
        total = parts.sight + parts.caption + parts.name
        assert total == pytest.approx(float(found.vector.scores[place]), rel=1e-4, abs=1e-4)
        picture = int(problem.ids[place])  # type: ignore[index]
        assert parts.words == tuple(one.word for one in problem.terms if picture in one.captioned)
        for source, words in (("file", parts.file_words), ("folder", parts.folder_words)):
            holding = [
                one.word
                for one in problem.terms
                if source in one.named and picture in one.named[source][0]
            ]
            assert list(words) == holding


def test_a_name_says_more_than_sight_alone_and_less_than_a_caption() -> None:
    named = {"folder": (np.array([1, 2]), 0.7)}
    columns = GivenColumns(np.array([[0.05], [0.05], [0.05], [0.6]]))
    problem = Problem(columns, [term("coal", 0, [0], named=named)], np.uint8([1, 0, 1, 0]))
    query = problem.query()
    assert query.scored().best(4).tolist() == [0, 1, 2, 3]
    parts = query.parts(np.arange(4))
    alone = math.log(0.05)
    expected = [math.log(1 - 0.3 * (1 - seen)) - alone for seen in (0.05, 0.05 * 0.5)]
    assert [one.name for one in parts] == pytest.approx([0, *expected, 0], rel=1e-3)
    assert [one.caption for one in parts][1:] == [0, 0, 0]
    assert parts[3].sight == pytest.approx(math.log(0.6), rel=1e-3)


def test_written_words_come_first_and_captions_without_them_a_little_later() -> None:
    columns = GivenColumns(np.array([[0.05], [0.6], [0.6], [0.1]]))
    problem = Problem(columns, [term("coal", 0, [0])], np.uint8([1, 1, 0, 0]))
    assert problem.scored().best(4).tolist() == [0, 2, 1, 3]


def test_one_word_may_be_read_and_the_other_seen() -> None:
    terms = [term("anna", None, [0, 1]), term("beach", 0)]
    columns = GivenColumns(np.array([[0.9], [0.1], [0.9]]))
    query = Problem(columns, terms, np.uint8([1, 1, 0])).query()
    assert query.scored().best(3).tolist() == [0, 1, 2]
    (parts,) = query.parts(np.array([0]))
    assert parts.sight == pytest.approx(math.log(0.9), rel=1e-3)
    assert parts.caption == pytest.approx(math.log(CERTAINTY) + math.log(0.5), abs=1e-3)


def test_of_words_that_nobody_sees_only_captions_tell() -> None:
    terms = [term("anna", None, [1, 2]), term("1987", None, [2])]
    columns = GivenColumns(np.ones((5, 1)))
    assert Problem(columns, terms, np.uint8([1, 1, 1, 0, 0])).scored().best(5).tolist() == [2, 1]


def test_an_unwanted_word_in_a_caption_takes_a_picture_far_down() -> None:
    columns = GivenColumns(np.array([[0.9, 0.01], [0.5, 0.01], [0.5, 0.9]]))
    terms = [term("beach", 0), term("people", 1, [0], weight=-1.0)]
    assert Problem(columns, terms, np.uint8([1, 0, 0])).scored().best(3).tolist() == [1, 2, 0]


def test_of_a_video_only_its_best_row_is_found_the_first_of_equal_ones() -> None:
    columns = GivenColumns(np.array([[0.5], [0.2], [0.9], [0.9], [0.3], [0.4]]))
    videos = VideoRows(np.array([1, 2, 3, 0, 4]), np.array([0, 3]))
    found = Problem(columns, [term("sea", 0)], np.zeros(6, np.uint8), videos=videos).scored()
    assert found.best(6).tolist() == [2, 0, 5]
    own = videos.between(0, 4)
    assert (own.positions.tolist(), own.starts.tolist()) == ([1, 2, 3, 0], [0, 3])


def test_refused_rows_come_right_behind_the_good_matches_and_keep_their_scores() -> None:
    columns = GivenColumns(np.array([[0.9], [0.8], [0.7], [0.6], [0.5], [0.4]]))
    found = Problem(columns, [term("sea", 0)], np.zeros(6, np.uint8)).scored()
    before = found.scores(np.arange(6)).tolist()
    found.settle(None, np.array([0, 2, 5]), least=float(before[3]))
    assert found.best(6).tolist() == [1, 3, 0, 2, 4, 5]
    assert found.scores(np.arange(6)).tolist() == before
    assert found.reaching(before[3]).tolist() == [1, 3]


def test_filters_let_nothing_else_be_found() -> None:
    columns = GivenColumns(np.array([[0.9], [0.8], [0.7]]))
    found = Problem(columns, [term("sea", 0)], np.zeros(3, np.uint8)).scored()
    found.settle(np.array([False, True, True]), np.empty(0, np.int64), None)
    assert found.best(3).tolist() == [1, 2]

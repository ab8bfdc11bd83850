"""One pass gives the scores of a slow formula; what is taken from them is what sorting gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.index import scan
from visterm.index.codes import log_evidence, magnitudes
from visterm.index.scan import Holders, ScoreVector, Term

OMITTED = (0.0, 0.25, 0.3, 0.45, 0.7, 0.9, 0.95)


def drawn(seed: int, count: int) -> tuple[list[Term], np.ndarray]:
    """Terms of all kinds, and lengths of captions."""
    rng = np.random.default_rng(seed)
    lengths = np.where(rng.random(count) < 0.5, rng.integers(1, 7, count), 0).astype(np.uint8)

    def rows(part: float) -> np.ndarray:
        return np.flatnonzero(rng.random(count) < part)

    def column() -> np.ndarray:
        return rng.integers(20_000, 60_000, count).astype(np.uint16)

    named = rows(0.1)
    captioned = np.setdiff1d(rows(0.2), named)
    terms = [
        Term(1.0, column(), omitted=OMITTED, holders=[Holders(captioned, certainty=0.99)]),
        Term(0.5, column(), omitted=OMITTED, holders=[Holders(named, doubt=0.1)]),
        Term(-1.0, column(), omitted=OMITTED, holders=[Holders(captioned, certainty=0.99)]),
        Term(0.7, None, magnitude=3.0, omitted=OMITTED, holders=[Holders(named, 0.99, 0.3)]),
        Term(-0.3, None, magnitude=2.0, omitted=OMITTED),
        Term(2.0, column()),
    ]
    order = rng.permutation(len(terms))[: rng.integers(0, len(terms) + 1)]
    return [terms[n] for n in order], lengths


def slowly(terms: list[Term], lengths: np.ndarray, row: int) -> float:
    """The score of one row, term by term."""
    total = 0.0
    for term in terms:
        magnitude = term.magnitude if term.column is None else magnitudes()[term.column[row]]
        omitted = term.omitted[lengths[row]] if len(term.omitted) > 1 else term.omitted[0]
        about: dict[str, float] = {"omitted": omitted}
        for held in term.holders:
            if row in held.positions:
                about |= {"certainty": held.certainty, "doubt": held.doubt}
        found = log_evidence(np.array([magnitude]), is_wanted=term.is_wanted, **about)
        total += abs(term.weight) * float(found[0])
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_scores_are_those_of_the_formula(seed: int) -> None:
    terms, lengths = drawn(seed, 60)
    found = scan.scan(terms, 60, lengths)
    slow = [slowly(terms, lengths, row) for row in range(60)]
    assert np.allclose(found, slow, rtol=2e-5, atol=2e-5)


def test_compiled_loops_threads_and_tables_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(20):
        terms, lengths = drawn(seed, 500)
        plain = scan.scan(terms, 500, lengths).copy()
        with monkeypatch.context() as other:
            other.setattr(scan, "is_worth", lambda *_, **limits: True)
            other.setattr(scan, "_SHARED_FROM", 0)
            other.setattr(scan, "_BY_TABLE_FROM", 0)
            other.setattr(scan, "CHUNK", 64)
            assert np.array_equal(scan.scan(terms, 500, lengths), plain)


def test_a_part_of_the_rows_has_the_scores_of_the_whole() -> None:
    terms, lengths = drawn(3, 400)
    whole = scan.scan(terms, 400, lengths).copy()
    own = [
        Term(
            term.weight,
            None if term.column is None else term.column[100:300],
            term.magnitude,
            term.omitted,
            [
                Holders(
                    held.positions[(held.positions >= 100) & (held.positions < 300)] - 100,
                    held.certainty,
                    held.doubt,
                )
                for held in term.holders
            ],
        )
        for term in terms
    ]
    assert np.array_equal(scan.scan(own, 200, lengths[100:300]), whole[100:300])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([-3.0, -2.5, -1.0, -np.inf, 0.5]), min_size=1, max_size=60),
    st.integers(0, 70),
    st.integers(0, 1000),
)
def test_the_best_are_those_of_sorting_with_ties_by_id(
    scores: list[float], k: int, seed: int
) -> None:
    values = np.array(scores, np.float32)
    ids = np.random.default_rng(seed).permutation(values.size).astype(np.int64)
    with pytest.MonkeyPatch.context() as small:
        small.setattr(scan, "BLOCK", 8)
        vector = ScoreVector(values.copy())
        found = vector.best(k, ids)
        order = np.lexsort((ids, -values))
        wanted = [n for n in order.tolist() if values[n] > -np.inf][:k]
        assert found.tolist() == wanted
        assert vector.count(-2.5) == np.count_nonzero(values >= -2.5)
        assert vector.reaching(-2.5).tolist() == np.flatnonzero(values >= -2.5).tolist()


def test_nothing_to_score_gives_nothing() -> None:
    vector = ScoreVector(scan.scan([], 0))
    assert vector.count(-np.inf) == 0
    assert vector.best(5, np.empty(0, np.int64)).size == 0


def test_without_terms_all_rows_are_alike() -> None:
    assert scan.scan([], 5).tolist() == [0.0] * 5

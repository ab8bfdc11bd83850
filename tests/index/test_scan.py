"""One pass gives the scores of a slow formula; what is taken from them is what sorting gives."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.index import feature_file, scan
from visterm.index.codes import log_evidence, magnitudes
from visterm.index.scan import BLOCK, Holders, Lengths, Scan, ScoreVector, Term

OMITTED = (0.0, 0.25, 0.3, 0.45, 0.7, 0.9, 0.95)


def scores_of(terms: list[Term], count: int, lengths: Lengths | None = None) -> np.ndarray:
    return Scan(terms, count, lengths).scores().scores.copy()


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


@pytest.fixture(params=["NumPy", "compiled"])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of adding up."""
    is_compiled = request.param == "compiled"
    if is_compiled:
        feature_file.prepare()
    monkeypatch.setattr(feature_file, "is_worth", lambda *_, **limits: is_compiled)


@pytest.mark.usefixtures("each_way")
def test_scores_are_those_of_the_formula() -> None:
    for seed in range(40):
        terms, lengths = drawn(seed, 60)
        slow = [slowly(terms, lengths, row) for row in range(60)]
        assert np.allclose(scores_of(terms, 60, lengths), slow, rtol=2e-5, atol=2e-5)


@pytest.mark.usefixtures("each_way")
def test_loops_threads_masks_and_tables_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 3 * BLOCK + 17
    for seed in range(12):
        terms, lengths = drawn(seed, count)
        with monkeypatch.context() as plainly:
            plainly.setattr(feature_file, "is_worth", lambda *_, **limits: False)
            plain = scores_of(terms, count, lengths)
        monkeypatch.setattr(scan, "_SHARED_FROM", 0)
        monkeypatch.setattr(scan, "_BY_TABLE_FROM", 0)
        monkeypatch.setattr(scan, "CHUNK", 64)
        mask = np.random.default_rng(seed).random(count) < 0.9
        found = Scan(terms, count, lengths).scores(mask, leasts=(-4.0, -9.0))
        expected = np.where(mask, plain, np.float32(-np.inf))
        assert np.array_equal(found.scores, expected)
        for least in (-4.0, -9.0):
            assert found.count(least) == np.count_nonzero(expected >= least)
        order = np.lexsort((np.arange(count), -expected))
        assert found.best(50, np.arange(count)).tolist() == order[:50].tolist()


def test_a_part_of_the_rows_has_the_scores_of_the_whole() -> None:
    terms, lengths = drawn(3, 400)
    whole = scores_of(terms, 400, lengths)
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
    assert np.array_equal(scores_of(own, 200, lengths[100:300]), whole[100:300])


@pytest.mark.usefixtures("each_way")
def test_the_best_are_those_of_sorting_with_ties_by_id() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        count = int(rng.choice([1, 60, BLOCK, 5 * BLOCK + 3]))
        values = rng.choice([-3.0, -2.5, -1.0, -np.inf, 0.5, rng.normal()], count)
        values = np.where(rng.random(count) < 0.5, values, rng.normal(size=count) - 3)
        values = values.astype(np.float32)
        ids, k = rng.permutation(count).astype(np.int64), int(rng.integers(0, 70))
        vector = ScoreVector(values.copy())
        order = np.lexsort((ids, -values))
        wanted = [n for n in order.tolist() if values[n] > -np.inf][:k]
        assert vector.best(k, ids).tolist() == wanted
        assert vector.count(-2.5) == np.count_nonzero(values >= -2.5)
        assert vector.reaching(-2.5).tolist() == np.flatnonzero(values >= -2.5).tolist()
        vector.change(np.arange(count) % 3 == 0, -np.inf)
        assert vector.count(-2.5) == np.count_nonzero(values[np.arange(count) % 3 != 0] >= -2.5)


@pytest.mark.usefixtures("each_way")
def test_nothing_to_score_gives_nothing() -> None:
    vector = Scan([], 0).scores()
    assert vector.count(-np.inf) == 0
    assert vector.best(5, np.empty(0, np.int64)).size == 0


@pytest.mark.usefixtures("each_way")
def test_without_terms_all_rows_are_alike() -> None:
    assert scores_of([], 5).tolist() == [0.0] * 5

"""Factors of kernel tables: landmarks by pivoted Cholesky, and negative directions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import BadInput
from visterm.kernels import RBF
from visterm.kernels import factors as factor_file
from visterm.kernels.factors import low_rank, negative_directions

RNG = np.random.default_rng(2)
POINTS = RNG.normal(size=(120, 5))
TABLE = RBF(0.5).fit(POINTS)(POINTS)


def factor_of(table, rank):
    asked = []

    def columns(chosen):
        asked.extend(chosen.tolist())
        return table[:, chosen]

    return low_rank(columns, np.diagonal(table), rank), asked


def pivoted_cholesky(table, rank):
    """One pivot after another, as the books have it."""
    rest, rows = table.astype(np.float64), []
    for _ in range(rank):
        pivot = int(np.argmax(np.diagonal(rest)))
        rows.append(rest[:, pivot] / np.sqrt(rest[pivot, pivot]))
        rest = rest - np.outer(rows[-1], rows[-1])
    return np.array(rows).T


@pytest.mark.parametrize("rank", [1, 5, 40])
def test_one_at_a_time_it_is_the_cholesky_of_the_books(rank, monkeypatch):
    monkeypatch.setattr(factor_file, "_BATCH", 1)
    found, asked = factor_of(TABLE, rank)
    np.testing.assert_allclose(found.rows, pivoted_cholesky(TABLE, rank), atol=1e-4)
    assert asked == found.landmarks.tolist(), "no column but those of the landmarks"


@pytest.mark.parametrize("rank", [5, 40, 90])
def test_batches_tell_nearly_as_much(rank):
    found, _ = factor_of(TABLE, rank)
    books = pivoted_cholesky(TABLE, rank)
    left = [np.trace(TABLE - rows @ rows.T) for rows in (found.rows, books)]
    assert len(set(found.landmarks.tolist())) == rank
    assert left[0] <= 1.3 * left[1] + 0.01


def test_a_full_factor_gives_the_table_and_rows_for_any_picture():
    found, _ = factor_of(TABLE, 500)
    np.testing.assert_allclose(found.rows @ found.rows.T, TABLE, atol=1e-4)
    others = RNG.normal(size=(9, 5))
    kernel = RBF(0.5).fit(POINTS)
    rows = kernel(others, POINTS[found.landmarks]) @ found.to_rows
    np.testing.assert_allclose(rows @ found.rows.T, kernel(others, POINTS), atol=1e-2)
    again = TABLE[:, found.landmarks] @ found.to_rows
    np.testing.assert_allclose(again, found.rows, atol=1e-2)


def test_it_stops_when_nothing_is_left():
    few = np.repeat(POINTS[:7], 10, axis=0)
    table = RBF(0.5).fit(few)(few)
    found, _ = factor_of(table, 50)
    assert len(found.landmarks) == 7
    np.testing.assert_allclose(found.rows @ found.rows.T, table, atol=1e-4)


@given(st.integers(0, 500))
@settings(deadline=None, max_examples=30)
def test_any_symmetric_table_gives_finite_rows(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(20, 20)).astype(np.float32)
    table = table + table.T
    if np.diagonal(table).max() > 1e-3:
        found, _ = factor_of(table, 10)
        assert np.isfinite(found.rows).all()
        assert np.isfinite(found.to_rows).all()


def test_tables_without_anything_and_ranks_without_sense_are_refused():
    with pytest.raises(BadInput, match="no picture is like itself"):
        factor_of(np.zeros((3, 3), np.float32), 2)
    with pytest.raises(BadInput, match="rank must be at least 1, not 0"):
        factor_of(TABLE, 0)


@given(st.integers(0, 500))
@settings(deadline=None, max_examples=30)
def test_without_its_negative_directions_a_table_is_the_nearest_positive_one(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(15, 15)).astype(np.float32)
    table = table + table.T
    values, vectors = np.linalg.eigh(table.astype(np.float64))
    negative = negative_directions(table)
    assert negative.shape == (15, (values < 0).sum())
    positive = table - negative @ (negative.T @ table)
    np.testing.assert_allclose(positive, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-4)


def test_a_positive_table_has_no_negative_direction_but_rounding():
    assert negative_directions(TABLE).shape == (120, 0)
    flat = np.ones((50, 50), np.float32) + RNG.normal(scale=1e-7, size=(50, 50)).astype(np.float32)
    assert negative_directions(flat).shape == (50, 0)

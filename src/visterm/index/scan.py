"""One score a row: the columns of a query's words added up in a single pass.

Small collections are added up by NumPy, which is loaded anyway; large ones by a compiled loop. Both
add the same float32 numbers in the same order, so that a score is the same wherever it is computed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.index import feature_file
from visterm.index.codes import BLOCK, CODES, Codes, Table, log_evidence, magnitudes
from visterm.quick_dataclass import dataclass
from visterm.threads import n_threads, side_by_side

Floats = NDArray[np.float32]
Lengths = NDArray[np.uint8]
Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]

CHUNK = 1 << 14
"""Scores that NumPy adds up while they are in the cache."""
_COMPILED_FROM = {"loaded_from": 1 << 12, "cold_from": 1 << 27}
"""Values of words that a compiled loop adds up."""
_SHARED_FROM = 1 << 21
"""Values that are worth more than one thread."""
_BY_TABLE_FROM = 1 << 15
"""Rows for which a table of all codes is sooner made than each value."""
_LOWEST = -float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Holders:
    """Rows, ascending, of which something written holds a word."""

    positions: Positions
    certainty: float = 0.0
    """How likely their captions, if these hold it, are right."""
    doubt: float = 1.0
    """How likely their names, if these hold it, are all wrong."""


@dataclass(frozen=True, eq=False)
class Term:
    """A word of a query, as it is added up.

    Attributes
    ----------
    weight : float
        How much it counts; negative where it is unwanted.
    column : array of uint16, or None
        The codes of all rows; None for a word that only captions tell.
    magnitude : float
        ``-log P`` of every row, where there is no column.
    omitted : tuple of float
        How likely a caption of each length would mention it, 0 for no caption.
    holders : sequence of Holders
        Different rows of which something written holds it.
    """

    weight: float
    column: Codes | None
    magnitude: float = 0.0
    omitted: tuple[float, ...] = (0.0,)
    holders: Sequence[Holders] = field(default=())

    @property
    def is_wanted(self) -> bool:
        return self.weight > 0

    @property
    def factor(self) -> np.float32:
        return np.float32(abs(self.weight))

    def magnitudes(self, positions: Positions) -> Floats:
        """``-log P`` of some rows by sight, or by how frequent the word is."""
        if self.column is None:
            return np.full(positions.size, self.magnitude, np.float32)
        return magnitudes()[self.column[positions]]


class ScoreVector:
    """One score a row, minus infinity for rows that may not be found."""

    def __init__(
        self, scores: Floats, maxima: Floats | None = None, counts: dict[float, int] | None = None
    ) -> None:
        self.scores, self._counts = scores, counts or {}
        # The highest score of each block, and behind the blocks a rest without any.
        self._whole = scores.size // BLOCK * BLOCK
        self._maxima = self._blocks.max(axis=1) if maxima is None else maxima[: len(self._blocks)]

    @property
    def _blocks(self) -> Floats:
        return self.scores[: self._whole].reshape(-1, BLOCK)

    def change(self, positions: Positions | Mask, scores: Floats | float) -> None:
        """Give some rows other scores."""
        self.scores[positions] = scores
        self._counts, self._maxima = {}, self._blocks.max(axis=1)

    def count(self, least: float) -> int:
        """How many rows have at least this score."""
        known = self._counts.get(least)
        return self.reaching(least).size if known is None else known

    def reaching(self, least: float) -> Positions:
        """The rows whose scores are at least this; of most blocks only the maximum is read."""
        limit = np.float32(least)
        blocks = np.flatnonzero(self._maxima >= limit)
        inside = np.flatnonzero(self._blocks[blocks] >= limit)
        rest = np.flatnonzero(self.scores[self._whole :] >= limit)
        return np.concatenate(
            [blocks[inside // BLOCK] * BLOCK + inside % BLOCK, rest + self._whole]
        )

    def best(self, k: int, ids: NDArray[np.int64]) -> Positions:
        """The rows of the ``k`` highest scores, highest first; equal scores by smaller id."""
        k = min(k, self.scores.size)
        if k <= 0:
            return np.empty(0, np.int64)
        # As many blocks reach the k-th of their maxima, so the k-th best score does, and few do.
        values = self.scores if k > self._maxima.size else self._maxima
        least = float(np.partition(values, -k)[-k])
        above = self.reaching(max(least, _LOWEST))
        return above[np.lexsort((ids[above], -self.scores[above]))[:k]]


def best(ids: NDArray[np.int64], scores: Floats, k: int) -> tuple[NDArray[np.int64], Floats]:
    """The ``k`` highest scores and their ids, highest first; equal scores go by smaller id.

    >>> best(np.arange(4), np.float32([1, 3, 3, 2]), 2)
    (array([1, 2]), array([3., 3.], dtype=float32))
    """
    chosen = ScoreVector(scores).best(k, ids)
    return ids[chosen], scores[chosen]


class Scan:
    """The terms of a query over all rows, ready to be added up as often as it is asked.

    ``lengths`` are those of the rows' captions, 0 for none.
    """

    def __init__(self, terms: Sequence[Term], count: int, lengths: Lengths | None = None) -> None:
        self.terms, self.count = terms, count
        self._constants = _constants(terms)
        has_lengths = lengths is not None and self._constants.size > 1
        self.lengths = np.ascontiguousarray(lengths) if has_lengths else None
        self._lists = [
            (np.ascontiguousarray(held.positions, np.int64), _gain(term, held, self.lengths), term)
            for term in terms
            for held in term.holders
            if held.positions.size
        ]
        self._columns = [
            (np.ascontiguousarray(term.column), term) for term in terms if term.column is not None
        ]
        self._tables: dict[int, Table] = {}
        self.nbytes = sum(12 * positions.size for positions, _, _ in self._lists)

    def scores(self, mask: Mask | None = None, leasts: Sequence[float] = ()) -> ScoreVector:
        """The scores of all rows, good until the same thread scans again.

        Rows that the ``mask`` leaves out have none; of ``leasts`` it is counted how many rows reach
        each.
        """
        scores, maxima = _scratch(self.count)
        values = self.count * (1 + len(self._columns))
        if not feature_file.is_worth(values, **_COMPILED_FROM):
            self._by_numpy(scores, mask)
            return ScoreVector(scores)
        if mask is not None:
            mask = np.ascontiguousarray(mask)
        wanted = np.array(leasts, np.float32)
        threads = n_threads() if values >= _SHARED_FROM else 1
        counts = np.zeros((threads, len(leasts)), np.int64)
        step = -(-self.count // (threads * BLOCK)) * BLOCK
        given, at_mask = self._arguments, 0 if mask is None else mask.ctypes.data

        def add_up(share: int) -> None:
            start, stop = share * step, min((share + 1) * step, self.count)
            result = (scores, maxima, counts[share])
            _kernels().add_up(start, stop, *given, at_mask, wanted, *result)

        side_by_side(add_up, range(threads))
        return ScoreVector(
            scores, maxima, dict(zip(leasts, counts.sum(axis=0).tolist(), strict=True))
        )

    @cached_property
    def _arguments(self) -> tuple[Any, ...]:
        """What the compiled loop takes; this object keeps the arrays whose addresses it has."""
        columns = []
        for codes, term in self._columns:
            table = None if term.is_wanted else self._table(term)
            parts = 0 if table is None else table.size >> 16
            columns.append((codes.ctypes.data, 0 if table is None else table.ctypes.data, parts))
        lists = [
            (positions.ctypes.data, gains.ctypes.data, positions.size)
            for positions, gains, _ in self._lists
        ]
        return (
            self._constants,
            0 if self.lengths is None else self.lengths.ctypes.data,
            np.array(columns, np.int64).reshape(-1, 3),
            np.array([term.factor for _, term in self._columns], np.float32),
            np.array(lists, np.int64).reshape(-1, 3),
            np.array([term.factor for _, _, term in self._lists], np.float32),
        )

    def _table(self, term: Term) -> Table:
        """What an unwanted word adds, by length of captions, where these are known, and code."""
        if self.lengths is None or len(term.omitted) == 1:
            omitted: tuple[float | None, ...] = term.omitted[:1]
        else:  # a table for lengths that no caption has would be made for nothing
            counts = np.bincount(self.lengths, minlength=len(term.omitted)).tolist()
            omitted = tuple(o if n else None for o, n in zip(term.omitted, counts, strict=True))
        table = _unwanted(omitted)
        self._tables[id(table)] = table
        return table

    def _by_numpy(self, scores: Floats, mask: Mask | None) -> None:
        for start in range(0, self.count, CHUNK):
            chunk = slice(start, min(start + CHUNK, self.count))
            here = scores[chunk]
            of_length: Lengths | int = 0 if self.lengths is None else self.lengths[chunk]
            here[:] = self._constants[of_length]
            for codes, term in self._columns:
                magnitude = magnitudes()[codes[chunk]]
                if term.is_wanted:
                    here -= term.factor * magnitude
                    continue
                # A cold search ends sooner than tables of all codes for each length are made.
                omitted = np.asarray(term.omitted)[of_length if len(term.omitted) > 1 else 0]
                added = log_evidence(magnitude, is_wanted=False, omitted=omitted)
                here += term.factor * added.astype(np.float32)
        for positions, gains, term in self._lists:
            scores[positions] += term.factor * gains
        if mask is not None:
            scores[~mask] = -np.inf


def _kernels() -> Any:
    from visterm.index import _kernels

    return _kernels


_here = threading.local()


def _scratch(count: int) -> tuple[Floats, Floats]:
    """Arrays of this thread's, whose memory is not asked of the system for every search."""
    kept: Floats | None = getattr(_here, "scores", None)
    if kept is None or kept.size < count:
        kept = _here.scores = np.empty(count + count // 8, np.float32)
        _here.maxima = np.empty(-(-kept.size // BLOCK), np.float32)
    return kept[:count], _here.maxima[: -(-count // BLOCK)]


def _constants(terms: Sequence[Term]) -> Floats:
    """What is added to scores by the length of captions, whatever the columns say."""
    total = np.zeros(max((len(term.omitted) for term in terms), default=1))
    for term in terms:
        omitted = np.asarray(term.omitted)
        if term.column is None:
            alone = np.full(len(omitted), term.magnitude)
            added = log_evidence(alone, is_wanted=term.is_wanted, omitted=omitted)
        elif term.is_wanted:
            added = np.log1p(-omitted)
        else:
            added = np.zeros(len(omitted))
        total += abs(term.weight) * added  # by length, or the same for all
    return total.astype(np.float32)


@lru_cache(maxsize=8)
def _unwanted(omitted: tuple[float | None, ...]) -> Table:
    """What an unwanted word adds, by length of captions and code; nothing for lengths of None."""
    tables = np.zeros((len(omitted), CODES), np.float32)
    for table, one in zip(tables, omitted, strict=True):
        if one is not None:
            table[:] = log_evidence(magnitudes(), is_wanted=False, omitted=one)
    return tables.ravel()


def _gain(term: Term, held: Holders, lengths: Lengths | None) -> Floats:
    """What the scores of rows gain whose captions or names hold a word, if it counts once."""
    positions = held.positions
    if lengths is None or len(term.omitted) == 1:
        omitted, of_length = term.omitted[:1], np.zeros(positions.size, np.uint8)
    else:
        omitted, of_length = term.omitted, lengths[positions]
    about = (term.is_wanted, held.certainty, held.doubt)
    if term.column is not None and positions.size >= _BY_TABLE_FROM:
        places = of_length.astype(np.uint32) << 16 | term.column[positions]
        return _gain_table(omitted, *about)[places]
    return _gained(term.magnitudes(positions), np.asarray(omitted)[of_length], *about)


def _gained(
    magnitude: Floats,
    omitted: NDArray[np.float64] | float,
    is_wanted: bool,
    certainty: float,
    doubt: float,
) -> Floats:
    said = log_evidence(
        magnitude, is_wanted=is_wanted, certainty=certainty, omitted=omitted, doubt=doubt
    )
    return (said - log_evidence(magnitude, is_wanted=is_wanted, omitted=omitted)).astype(np.float32)


@lru_cache(maxsize=16)
def _gain_table(
    omitted: tuple[float, ...], is_wanted: bool, certainty: float, doubt: float
) -> Table:
    every = [_gained(magnitudes(), one, is_wanted, certainty, doubt) for one in omitted]
    return np.concatenate(every)

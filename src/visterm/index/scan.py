"""One score a row: the columns of a query's words added up in a single pass.

Small collections are added up by NumPy, which is loaded anyway; large ones by compiled loops. Both
add the same float32 numbers in the same order, so that a score is the same wherever it is computed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from visterm.compute.processes import n_threads, side_by_side
from visterm.index.codes import Codes, Table, log_evidence, magnitudes
from visterm.index.compiled import is_worth

Floats = NDArray[np.float32]
Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]

CHUNK = 1 << 17
"""Scores that one thread adds up while they are in its cache."""
BLOCK = 1 << 10
"""Scores under one maximum."""
_COMPILED_FROM = {"loaded_from": 1 << 18, "cold_from": 1 << 26}
"""Values of words that compiled loops add up."""
_SHARED_FROM = 1 << 21
"""Rows that are worth more than one thread."""
_BY_TABLE_FROM = 1 << 15
"""Rows for which a table of all codes is sooner made than each value."""


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

    def magnitudes(self, positions: Positions) -> Floats:
        """``-log P`` of some rows by sight, or by how frequent the word is."""
        if self.column is None:
            return np.full(positions.size, self.magnitude, np.float32)
        return magnitudes()[self.column[positions]]


class ScoreVector:
    """One score a row, minus infinity for rows that may not be found."""

    def __init__(self, scores: Floats) -> None:
        self.scores = scores
        self._maxima: Floats = np.empty(-(-scores.size // BLOCK), np.float32)
        self._find_maxima()

    def _find_maxima(self) -> None:
        whole = self.scores.size // BLOCK * BLOCK
        if whole:
            self.scores[:whole].reshape(-1, BLOCK).max(axis=1, out=self._maxima[: whole // BLOCK])
        if whole < self.scores.size:
            self._maxima[-1] = self.scores[whole:].max()

    def change(self, positions: Positions | Mask, scores: Floats | float) -> None:
        """Give some rows other scores."""
        self.scores[positions] = scores
        self._find_maxima()

    def count(self, least: float) -> int:
        """How many rows have at least this score."""
        blocks = np.flatnonzero(self._maxima >= least)
        if blocks.size * 4 > self._maxima.size:
            return int(np.count_nonzero(self.scores >= least))
        return sum(
            int(np.count_nonzero(self.scores[n : n + BLOCK] >= least))
            for n in (blocks * BLOCK).tolist()
        )

    def reaching(self, least: float) -> Positions:
        """The rows whose scores are at least this."""
        return _reaching(self.scores, self._maxima, least)

    def best(self, k: int, ids: NDArray[np.int64]) -> Positions:
        """The rows of the ``k`` highest scores, highest first; equal scores by smaller id."""
        k = min(k, self.scores.size)
        if k <= 0:
            return np.empty(0, np.int64)
        least = float(np.partition(self._maxima, -k)[-k]) if k <= self._maxima.size else -np.inf
        # Of few blocks, or of few rows that may be found, all are looked at.
        above = self.reaching(max(least, -float(np.finfo(np.float32).max)))
        scores = self.scores[above]
        if above.size > k:
            kept = scores >= np.partition(scores, above.size - k)[above.size - k]
            above, scores = above[kept], scores[kept]
        order = np.lexsort((ids[above], -scores))[:k]
        return above[order]


def scan(terms: Sequence[Term], count: int, lengths: NDArray[np.uint8] | None = None) -> Floats:
    """The scores of all rows for the terms of a query; good until the same thread scans again.

    ``lengths`` are those of the rows' captions, 0 for none.
    """
    scores = _scratch(count)
    values = count * sum(term.column is not None for term in terms)
    add = _compiled() if is_worth(values, **_COMPILED_FROM) else _plain()
    constants = _constants(terms)
    is_short = lengths is None or constants.size == 1

    def fill(chunk: slice) -> None:
        here = scores[chunk]
        if is_short:
            here[:] = constants[0]
        else:
            assert lengths is not None
            add.by_length(constants, lengths[chunk], here)
        for term in terms:
            if term.column is None:
                continue
            codes, weight = term.column[chunk], np.float32(abs(term.weight))
            if term.is_wanted:
                add.log_probabilities(codes, weight, here)
            elif lengths is None or len(term.omitted) == 1:
                add.from_table(_unwanted(term.omitted[:1]), codes, weight, here)
            else:
                places = lengths[chunk].astype(np.uint32) << 16 | codes
                add.from_table(_unwanted(term.omitted), places, weight, here)

    def fill_all(starts: range) -> None:
        for start in starts:
            fill(slice(start, min(start + CHUNK, count)))

    threads = n_threads() if count >= _SHARED_FROM else 1
    step = threads * CHUNK
    side_by_side(fill_all, [range(n * CHUNK, count, step) for n in range(threads)])
    for term in terms:
        for held in term.holders:
            if held.positions.size:
                scores[held.positions] += _gained(term, held, lengths)
    return scores


def _reaching(scores: Floats, maxima: Floats, least: float) -> Positions:
    blocks = np.flatnonzero(maxima >= least)
    if blocks.size * 4 > maxima.size:
        return np.flatnonzero(scores >= least)
    found = [np.empty(0, np.int64)]
    for block in blocks.tolist():
        first = block * BLOCK
        found.append(np.flatnonzero(scores[first : first + BLOCK] >= least) + first)
    return np.concatenate(found)


_here = threading.local()


def _scratch(count: int) -> Floats:
    """An array of this thread's, whose memory is not asked of the system for every search."""
    kept: Floats | None = getattr(_here, "scores", None)
    if kept is None or kept.size < count:
        kept = _here.scores = np.empty(count + count // 8, np.float32)
    return kept[:count]


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
def _unwanted(omitted: tuple[float, ...]) -> Table:
    """What an unwanted word adds, by length of captions and code."""
    tables = [log_evidence(magnitudes(), is_wanted=False, omitted=one) for one in omitted]
    return np.concatenate(tables).astype(np.float32)


def _gained(term: Term, held: Holders, lengths: NDArray[np.uint8] | None) -> Floats:
    """What the scores of rows gain whose captions or names hold a word."""
    positions = held.positions
    if lengths is None or len(term.omitted) == 1:
        omitted, of_length = term.omitted[:1], np.zeros(positions.size, np.uint8)
    else:
        omitted, of_length = term.omitted, lengths[positions]
    about = (term.is_wanted, held.certainty, held.doubt)
    if term.column is not None and positions.size >= _BY_TABLE_FROM:
        places = of_length.astype(np.uint32) << 16 | term.column[positions]
        gains = _gain_table(omitted, *about)[places]
    else:
        gains = _gain(term.magnitudes(positions), np.asarray(omitted)[of_length], *about)
    return np.float32(abs(term.weight)) * gains


def _gain(
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
    every = [_gain(magnitudes(), one, is_wanted, certainty, doubt) for one in omitted]
    return np.concatenate(every)


class _Plain:
    """Additions by NumPy."""

    @staticmethod
    def by_length(constants: Floats, lengths: NDArray[np.uint8], scores: Floats) -> None:
        scores[:] = constants[lengths]

    @staticmethod
    def log_probabilities(codes: Codes, weight: np.float32, scores: Floats) -> None:
        scores -= weight * magnitudes()[codes]

    @staticmethod
    def from_table(table: Table, codes: NDArray, weight: np.float32, scores: Floats) -> None:
        scores += weight * table[codes]


class _Compiled(_Plain):
    """The same additions by compiled loops."""

    def __init__(self) -> None:
        from visterm.index import _kernels

        self.by_length = _kernels.by_length  # type: ignore[method-assign]
        self.log_probabilities = _kernels.add_log_probabilities  # type: ignore[method-assign]
        self.from_table = _kernels.add_from_table  # type: ignore[method-assign]


@lru_cache(maxsize=1)
def _plain() -> _Plain:
    return _Plain()


@lru_cache(maxsize=1)
def _compiled() -> _Plain:
    return _Compiled()

"""The index of text spaces made of words: exact top k from 8-bit columns."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from visterm.compute.row_threads import n_threads, side_by_side
from visterm.index.address_tables import AddressTables, tables
from visterm.index.column_store import ColumnStore
from visterm.index.filter_masks import Filter, read_filter
from visterm.index.input_checks import whole_numbers
from visterm.index.layout import BLOCK, Bytes, encode
from visterm.index.manifest import Manifest
from visterm.index.open_segments import OpenSegment
from visterm.index.part_columns import part_column
from visterm.index.query_vector import Query, read_count, read_query, rows_of, stacked
from visterm.index.score import Floats, Integers, best, kth_largest, scores

Bounded = tuple[Integers, Floats, Floats]
"""Ids, and the lower and upper bounds of their scores."""
Parts = tuple[OpenSegment, ...]

_FEW = 512
"""Where fewer than one picture in so many may be found, scoring just those beats any scan."""

_KERNELS = "visterm.index._kernels"

_SCANNED = 8 * BLOCK
"""Codes of a word added up together, at most: any query of them fits the first cache."""
_NARROW = 8
"""Up to so many words, sums of codes in 16 bits are fine enough, and twice as fast as in 32."""


class Index(ColumnStore):
    """Text-space rows by word: ``search`` is exact and reads only the columns of its words.

    Segments hold up to a million pictures. In a segment every word has one contiguous column of
    8-bit codes, what these bound, and the exact values (:mod:`~visterm.index.layout`); these are
    left out where ``exact`` computes them anew (:mod:`~visterm.index.recomputed`). All files are
    memory-mapped, so opening reads nothing; what a score is, and in which order equal ones come, is
    said in :mod:`~visterm.index.score`.

    One object serves many searching threads. Changes commit one by one; a reader keeps the state it
    opened until :meth:`refresh`.

    >>> import tempfile
    >>> index = Index.create(tempfile.mkdtemp(), words=3)
    >>> index.append([[0, 1, 2], [3, 0, 0], [0, 1, 5]])
    array([0, 1, 2])
    >>> index.search(([1, 2], [1, 0.5]), k=2)
    (array([2, 0]), array([3.5, 2. ], dtype=float32))
    >>> index.remove([2])
    1
    >>> index.search(np.array([0, 1, 0.5]), k=2)
    (array([0, 1]), array([2., 0.], dtype=float32))
    """

    plain_limit: int = 1 << 22
    """Up to so many values, adding them all up takes less time than loading the kernels would."""
    shared_from: int = 1 << 18
    """From so many pictures on, threads count them side by side."""

    def search(
        self, query: Query, k: int, *, allow: npt.ArrayLike | None = None, n_jobs: int = 1
    ) -> tuple[Integers, Floats]:
        """The ids and scores of the ``k`` best pictures, best first; equal scores by smaller id.

        Parameters
        ----------
        query
            A pair (words, weights), or a vector of one weight for every word. A query without any
            weight gives every picture the score 0, so the ``k`` smallest ids. A matrix holds a
            query a row, as `Vocabulary.query_vectors` gives them; so do the answers then.
        k
            How many pictures; fewer come back where there are fewer.
        allow
            The only pictures that may be found: their ids, or a boolean array indexed by id.
        n_jobs
            Segments are searched side by side by so many threads.
        """
        if (queries := rows_of(query, self.words)) is not None:
            return stacked(self.search(one, k, allow=allow, n_jobs=n_jobs) for one in queries)
        chosen, weights = read_query(query, self.words)
        return self._search(chosen, weights, read_count(k), allow, n_jobs, skip=True)[:2]

    def count(self, query: Query, least: float, *, allow: npt.ArrayLike | None = None) -> int:
        """How many pictures have a score of ``least`` or more; arguments as of :meth:`search`.

        >>> index = Index.in_memory([[0, 1, 2], [3, 0, 0], [0, 1, 5]])
        >>> index.count(([1, 2], [1, 0.5]), 2.0)
        2
        """
        words, weights = read_query(query, self.words)
        sure, unsure = self._reaching(words, weights, least, allow, are_listed=False)
        unsure = np.sort(unsure)  # so that each is looked up from the one before
        found = scores(weights, self._exactly(words, unsure).T, unsure.size)
        return sure + int((found >= np.float64(least)).sum())

    def candidates(
        self, query: Query, least: float, *, allow: npt.ArrayLike | None = None
    ) -> Integers:
        """The ids of all pictures that may have a score of ``least`` or more, in no order.

        Bounds tell, so there may be others among them where exact values are computed anew.

        >>> index = Index.in_memory([[0, 1, 2], [3, 0, 0], [0, 1, 5]])
        >>> index.candidates(([1, 2], [1, 0.5]), 2.0)
        array([0, 2])
        """
        words, weights = read_query(query, self.words)
        return self._reaching(words, weights, least, allow, are_listed=True)[1]

    def _reaching(
        self,
        words: Integers,
        weights: Floats,
        least: float,
        allow: npt.ArrayLike | None,
        *,
        are_listed: bool,
    ) -> tuple[int, Integers]:
        """How many surely reach a score, if they are not to be listed, and who else may."""
        parts = self._state[0]
        chosen = read_filter(parts, allow)
        edge = np.float64(least)  # which no comparison rounds
        addresses = self._addresses(parts, chosen, words)
        if addresses is not None:
            from visterm.index._counting import count_from

            shares = n_threads() if addresses.sizes.sum() >= self.shared_from else 1

            def run(share: int) -> tuple[int, Integers]:
                sure, unsure = count_from(addresses, weights, edge, are_listed, share, shares)
                return int(sure), unsure

            counts, found = zip(*side_by_side(run, range(shares)), strict=True)
            return sum(counts), np.concatenate(found)
        ids, lowers, uppers = self._bounded(parts, chosen, words, weights)
        is_sure = (lowers >= edge) & (not are_listed)
        return int(is_sure.sum()), ids[~is_sure & (uppers >= edge)]

    def prepare(self) -> None:
        """Load the compiled kernels now, so that no search has to wait for it.

        Without this a small index is searched without them, which for a single search in a new
        process is faster. A server prepares.
        """
        from visterm.index._kernels import find

        nothing = tables((), 1, {})
        for kind in (np.uint16, np.uint32):
            find(nothing, np.ones(1, np.float32), 1, np.empty(_SCANNED, kind), True)
        encode(np.zeros((1, 1), np.float32))

    def _search(
        self,
        words: Integers,
        weights: Floats,
        k: int,
        allow: npt.ArrayLike | None,
        n_jobs: int,
        *,
        skip: bool,
    ) -> tuple[Integers, Floats, Integers]:
        """Search, and say how many blocks were scanned and pictures scored."""
        parts = self._state[0]
        chosen = read_filter(parts, allow)
        living = chosen.count(parts)
        k = min(k, living)
        addresses = self._addresses(parts, chosen, words, 8 * k)
        if addresses is None:
            bounded = self._bounded(parts, chosen, words, weights)
            return *self._settled(words, weights, k, bounded), np.array([0, living])
        from visterm.index._kernels import find

        kind = np.uint16 if words.size <= _NARROW else np.uint32

        def run(segments: slice) -> tuple[Bounded, Integers]:
            *found, counts = find(
                addresses.segments(segments), weights, k, np.empty(_SCANNED, kind), skip
            )
            return (found[0], found[1], found[2]), counts

        shares = min(max(n_jobs, 1), len(parts))
        if shares == 1:
            found, counts = run(slice(None))
            return *self._settled(words, weights, k, found), counts
        from concurrent.futures import ThreadPoolExecutor

        edges = np.linspace(0, len(parts), shares + 1).astype(int)
        with ThreadPoolExecutor(shares) as pool:
            answers = list(pool.map(run, map(slice, edges[:-1], edges[1:])))
        found = _together([some for some, _ in answers])
        counts = np.sum([counts for _, counts in answers], axis=0)
        return *self._settled(words, weights, k, found), counts

    def _addresses(
        self, parts: Parts, chosen: Filter, words: Integers, few: int = 0
    ) -> AddressTables | None:
        """What the kernels read; None where a scan without them is faster, or they cannot.

        ``few`` pictures or less are soon scored one by one.
        """
        table, living = self._state[1], chosen.count(parts)
        limit = 0 if _KERNELS in sys.modules else self.plain_limit
        is_small = living < max(few, int(table.sizes.sum()) // _FEW)
        if is_small or not words.size or living * words.size <= limit:
            return None
        found = table.of_words(words).with_filter(chosen)
        return found if found.columns.all() else None  # some are in the layout of before

    def _bounded(self, parts: Parts, chosen: Filter, words: Integers, weights: Floats) -> Bounded:
        """All pictures that may be found, without compiled code, from the bounds of all values."""
        nothing = np.empty(0, np.float32)
        found: list[Bounded] = [(np.empty(0, np.int64), nothing, nothing)]
        for number, part in enumerate(parts):
            positions = chosen.positions(number, part)
            numbers = part.ids(positions)
            bounds = [part_column(part, word).bounds(positions) for word in words.tolist()]
            pairs = [*zip(bounds, (weights > 0).tolist(), strict=True)]
            highest = scores(weights, (pair[is_up] for pair, is_up in pairs), numbers.size)
            lowest = highest
            if any(low is not high for low, high in bounds):
                lowest = scores(weights, (pair[not is_up] for pair, is_up in pairs), numbers.size)
            found.append((numbers, lowest, highest))
        return _together(found)

    def _settled(
        self, words: Integers, weights: Floats, k: int, found: Bounded
    ) -> tuple[Integers, Floats]:
        """The best of some pictures, by the bounds of their scores where these say enough."""
        ids, lowers, uppers = found
        if 0 < k < ids.size:
            keep = uppers >= kth_largest(lowers, k)
            ids, lowers, uppers = ids[keep], lowers[keep], uppers[keep]
        if (lowers != uppers).any():
            lowers = scores(weights, self._exactly(words, ids).T, ids.size)
        return best(ids, lowers, k)

    def values(self, words: npt.ArrayLike, ids: npt.ArrayLike) -> Floats:
        """The exact values of some words for some pictures, one row a picture."""
        chosen, numbers = whole_numbers(words), whole_numbers(ids)
        is_known = bool((chosen < self.words).all()) and bool(self.holds(numbers).all())
        return self._exactly(chosen, numbers) if is_known else super().values(chosen, numbers)

    def _exactly(self, words: Integers, ids: Integers) -> Floats:
        """As `values`, of words and pictures that are known to be there."""
        if self.exact is not None and not self._state[1].kept[:, words].any():
            found = self._anew(words, ids)  # which needs no bounds
            if not np.isnan(found).any():
                return found
        return super().values(words, ids)

    def _take(self, manifest: Manifest, parts: Parts) -> None:
        super()._take(manifest, parts)
        blanks: dict[int, Bytes] = {}
        self._state: tuple[Parts, AddressTables, dict[int, Bytes]] = (
            parts,
            tables(parts, manifest.words, blanks),
            blanks,
        )


def _together(found: Sequence[Bounded]) -> Bounded:
    ids, lowers, uppers = zip(*found, strict=True)
    return np.concatenate(ids), np.concatenate(lowers), np.concatenate(uppers)

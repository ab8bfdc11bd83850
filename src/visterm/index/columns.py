"""The index of text spaces made of words: exact top k from 8-bit columns."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from visterm.errors import BadInput
from visterm.index.address_tables import AddressTables, tables
from visterm.index.filter_masks import count, masks
from visterm.index.input_checks import checked_rows, whole_numbers
from visterm.index.layout import BLOCK, Bytes, Column, column, encode, places
from visterm.index.manifest import Group, Manifest
from visterm.index.open_segments import GivenRows, OpenSegment, Positions, Source
from visterm.index.query_vector import Query, read_count, read_query, rows_of, stacked
from visterm.index.score import Floats, Integers, best, scores
from visterm.index.segment_changes import with_group
from visterm.index.segments import Segmented
from visterm.index.storage import Draft, Hashed

_LINE = 16
"""Words turned from rows into columns together, at least: one cache line of each row."""

_ENCODED = 1 << 20
"""Values encoded together, at most, unless a single column has more: some 30 bytes each."""

_FEW = 512
"""Where fewer than one picture in so many may be found, scoring just those beats any scan."""

_KERNELS = "visterm.index._kernels"

_NARROW = 8
"""Up to so many words, sums of codes in 16 bits are fine enough, and twice as fast as in 32."""


class Index(Segmented):
    """Text-space rows by word: ``search`` is exact and reads only the columns of its words.

    Segments hold up to a million pictures. In a segment every word has one contiguous column of
    8-bit codes, bounds of blocks of pictures, and the exact values (:mod:`~visterm.index.layout`).
    All files are memory-mapped, so opening reads nothing; what a score is, and in which order equal
    ones come, is said in :mod:`~visterm.index.score`.

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

    kind = "columns"
    plain_limit: int = 1 << 22
    """Up to so many values, adding them all up takes less time than loading the kernels would."""

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

    def prepare(self) -> None:
        """Load the compiled kernels now, so that no search has to wait for it.

        Without this a small index is searched without them, which for a single search in a new
        process is faster. A server prepares.
        """
        from visterm.index._kernels import find

        nothing = tables((), 1, {})
        for kind in (np.uint16, np.uint32):
            find(nothing, np.ones(1, np.float32), 1, np.empty(BLOCK, kind), True)
        encode(np.zeros((1, 1), np.float32))

    def update_word(
        self, word: int, values: npt.ArrayLike, ids: npt.ArrayLike | None = None
    ) -> None:
        """Replace one word's values, in one commit; see :meth:`update_words`."""
        column = np.asarray(values)
        if column.ndim != 1:
            raise BadInput(
                f"a word's values must be a list of numbers, not of shape {column.shape}"
            )
        self.update_words([word], column[:, None], ids)

    def update_words(
        self, words: Sequence[int], rows: npt.ArrayLike, ids: npt.ArrayLike | None = None
    ) -> None:
        """Replace the values of some words, in one commit, without touching those of others.

        Parameters
        ----------
        words
            Which words.
        rows
            One row a picture, one value for each of these words.
        ids
            The pictures of the rows; other pictures keep their values. Without it, the rows are
            those of all pictures, in the order of :meth:`ids`.
        """
        chosen = whole_numbers(words)
        if np.unique(chosen).size != chosen.size or (chosen >= self.words).any():
            raise BadInput(f"words must differ and go from 0 to {self.words - 1}: {list(words)}")
        given = checked_rows(rows, chosen.size).astype(np.float32, copy=False)
        with self._changing() as draft:
            numbers = self.ids() if ids is None else whole_numbers(ids)
            if numbers.size != len(given):
                raise BadInput(f"there are {numbers.size} pictures but {len(given)} rows for them")
            ranges = tuple((word, word + 1) for word in chosen.tolist())
            segments, known = [], 0
            for part in self._parts:
                segments.append(part.segment)
                positions, here = part.find(numbers)
                known += int(here.sum())
                if here.any():
                    values = np.stack([self._column(part, word).exact for word in chosen], axis=1)
                    values[positions[here]] = given[here]
                    file = self._new_group(draft, values)
                    segments[-1] = with_group(part.segment, Group(file, ranges))
            if known != numbers.size:
                raise BadInput(f"{numbers.size - known} of the pictures are not in the index")
            self._commit(draft, segments)

    def values(self, words: npt.ArrayLike, ids: npt.ArrayLike) -> Floats:
        """The exact values of some words for some pictures, one row a picture.

        >>> import tempfile
        >>> index = Index.create(tempfile.mkdtemp(), words=3)
        >>> _ = index.append([[0, 1, 2], [3, 0, 0]])
        >>> index.values([2, 0], [1])
        array([[0., 3.]], dtype=float32)
        """
        chosen, numbers = whole_numbers(words), whole_numbers(ids)
        if (chosen >= self.words).any():
            raise BadInput(f"words go from 0 to {self.words - 1}: {chosen.tolist()}")
        found = np.zeros((numbers.size, chosen.size), np.float32)
        missing = np.ones(numbers.size, bool)
        for part in self._parts:
            positions, here = part.find(numbers)
            missing &= ~here
            for place, word in enumerate(chosen.tolist()) if here.any() else ():
                found[here, place] = self._column(part, word).exact[positions[here]]
        if missing.any():
            raise BadInput(f"picture {numbers[missing][0]} is not in the index")
        return found

    def add_words(self, count: int) -> None:
        """Make room for more words; every picture has 0 for them until they are updated."""
        if count < 0:
            raise BadInput(f"words can only be added, not {count} of them")
        with self._changing() as draft:
            self._commit(draft, self._manifest.segments, words=self.words + count)

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
        parts, table, _ = self._state
        hidden = masks(parts, allow)
        living = count(parts, hidden)
        k = min(k, living)
        limit = 0 if _KERNELS in sys.modules else self.plain_limit
        few = living < max(8 * k, int(table.sizes.sum()) // _FEW)
        if few or not words.size or living * words.size <= limit:
            return *self._plainly(parts, hidden, words, weights, k), np.array([0, living])
        from visterm.index._kernels import find

        chosen = table.of_words(words).with_masks(hidden)
        kind = np.uint16 if words.size <= _NARROW else np.uint32

        def run(segments: slice) -> tuple[Integers, Floats, Integers]:
            room = np.empty(BLOCK, kind)
            return find(chosen.segments(segments), weights, k, room, skip)

        shares = min(max(n_jobs, 1), len(parts))
        if shares == 1:
            ids, found, counts = run(slice(None))
            return *best(ids, found, k), counts
        from concurrent.futures import ThreadPoolExecutor

        edges = np.linspace(0, len(parts), shares + 1).astype(int)
        with ThreadPoolExecutor(shares) as pool:
            answers = list(pool.map(run, map(slice, edges[:-1], edges[1:])))
        ids, found, counts = (np.concatenate(pieces) for pieces in zip(*answers, strict=True))
        return *best(ids, found, k), counts.reshape(shares, -1).sum(axis=0)

    def _plainly(
        self,
        parts: tuple[OpenSegment, ...],
        hidden: Sequence[Bytes | None],
        words: Integers,
        weights: Floats,
        k: int,
    ) -> tuple[Integers, Floats]:
        """The same answer from the exact values alone."""
        ids, found = np.empty(0, np.int64), np.empty(0, np.float32)
        for part, mask in zip(parts, hidden, strict=True):
            positions: Positions = (
                slice(None) if mask is None else np.flatnonzero(mask.view(np.bool_))
            )
            if not words.size:  # All score 0, and a part's first pictures have its smallest ids.
                positions = slice(k) if isinstance(positions, slice) else positions[:k]
            numbers = part.ids(positions)
            columns = (self._column(part, word).exact[positions] for word in words.tolist())
            more = scores(weights, columns, numbers.size)
            ids, found = np.concatenate([ids, numbers]), np.concatenate([found, more])
            ids, found = best(ids, found, k)
        return ids, found

    def _new_group(self, draft: Draft, values: Floats) -> str:
        source = GivenRows(values, slice(None), len(values))
        return draft.add(self.kind, lambda file: self._write(file, source))

    def _column(self, part: OpenSegment, word: int) -> Column:
        pictures = part.segment.pictures
        size = places(pictures).end
        for group, data in zip(reversed(part.segment.groups), reversed(part.maps), strict=True):
            before = 0
            for first, stop in group.ranges:
                if first <= word < stop:
                    begin = size * (before + word - first)
                    return column(data[begin : begin + size], pictures)
                before += stop - first
        return column(np.zeros(size, np.uint8), pictures)

    def _write(self, file: Hashed, source: Source) -> None:
        wide = max(1, _ENCODED // source.pictures)
        for first in range(0, source.words, max(wide, _LINE)):
            words = slice(first, min(first + max(wide, _LINE), source.words))
            columns = np.ascontiguousarray(source.read(slice(0, source.pictures), words).T)
            for place in range(0, len(columns), wide):
                file.write(encode(columns[place : place + wide]))

    def _read(self, part: OpenSegment, positions: Integers, words: slice) -> Floats:
        rows = np.zeros((positions.size, words.stop - words.start), np.float32)
        pictures = part.segment.pictures
        for group, data in zip(part.segment.groups, part.maps, strict=True):
            exact = column(data.reshape(-1, places(pictures).end), pictures).exact
            before = 0
            for first, stop in group.ranges:
                begin, end = max(first, words.start), min(stop, words.stop)
                if begin < end:
                    values = exact[before + begin - first : before + end - first, positions]
                    rows[:, begin - words.start : end - words.start] = values.T
                before += stop - first
        return rows

    def _group_size(self, pictures: int, words: int) -> int:
        return words * places(pictures).end

    def _take(self, manifest: Manifest, parts: tuple[OpenSegment, ...]) -> None:
        super()._take(manifest, parts)
        blanks: dict[int, Bytes] = {}
        self._state: tuple[tuple[OpenSegment, ...], AddressTables, dict[int, Bytes]] = (
            parts,
            tables(parts, manifest.words, blanks),
            blanks,
        )

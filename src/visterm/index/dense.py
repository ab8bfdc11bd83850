"""The index of dense text spaces (topics, sentence vectors): exact top k from whole rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from visterm.index.filter_masks import count, read_filter
from visterm.index.layout import EXACT
from visterm.index.manifest import Group
from visterm.index.open_segments import OpenSegment, Source
from visterm.index.query_vector import Query, read_count, read_query, rows_of, stacked
from visterm.index.score import Floats, Integers, best
from visterm.index.segments import Segmented
from visterm.index.storage import Draft, Hashed

_ROWS = 1 << 14
"""Rows that are scored together and share one bound of their lengths."""


class DenseIndex(Segmented):
    """Text-space rows as they are: ``search`` is exact and reads each row once.

    The promise, the files and the changes are those of :class:`~visterm.index.Index`; its "words"
    are the dimensions. A first product in single precision, added up in whatever order is fastest,
    finds every row that its error bound lets among the best ``k``; those alone are scored by the
    definition.

    >>> import tempfile
    >>> index = DenseIndex.create(tempfile.mkdtemp(), words=2)
    >>> index.append([[0.6, 0.8], [1, 0], [0.8, 0.6]])
    array([0, 1, 2])
    >>> index.search(np.array([1, 0]), k=2)
    (array([1, 2]), array([1. , 0.8], dtype=float32))
    """

    kind = "rows"

    def search(
        self, query: Query, k: int, *, allow: npt.ArrayLike | None = None
    ) -> tuple[Integers, Floats]:
        """The ids and scores of the ``k`` best pictures; see :meth:`visterm.index.Index.search`."""
        if (queries := rows_of(query, self.words)) is not None:
            return stacked(self.search(one, k, allow=allow) for one in queries)
        words, weights = read_query(query, self.words)
        vector = np.zeros(self.words, np.float32)
        vector[words] = weights
        parts = self._parts
        hidden = read_filter(parts, allow).masks  # Rows lie in the order of their ids.
        k = min(read_count(k), count(parts, hidden))
        ids, found = np.empty(0, np.int64), np.empty(0, np.float32)
        for part, mask in zip(parts, hidden, strict=True):
            for place, rows, norm in _blocks(part, self.words) if k else ():
                low, high = _between(rows, vector, norm)
                if found.size == k and high.max() < found[-1]:
                    continue  # most blocks, once the best are known
                here = np.arange(len(rows)) if mask is None else np.flatnonzero(mask[place])
                new = part.ids(here + place.start)
                keep = high[here] >= _largest(low[here], k)
                if found.size == k:
                    keep &= (high[here] > found[-1]) | ((high[here] == found[-1]) & (new < ids[-1]))
                if keep.any():
                    ids = np.concatenate([ids, new[keep]])
                    found = np.concatenate([found, _exact(rows[here[keep]], vector)])
                    ids, found = best(ids, found, k)
        return ids, found

    def _write(self, draft: Draft, source: Source) -> tuple[Group, ...]:
        file = draft.add(self.kind, lambda file: self._write_rows(file, source))
        return (Group(file, ((0, source.words),), EXACT),)

    def _write_rows(self, file: Hashed, source: Source) -> None:
        words = slice(0, source.words)
        norms = np.zeros(_norm_bytes(source.pictures) // 8)
        for number, place in enumerate(_places(source.pictures)):
            rows = source.read(place, words).astype(np.float64)
            norms[number] = np.sqrt(np.square(rows).sum(axis=1).max())
        file.write(norms)
        for place in _places(source.pictures):
            file.write(source.read(place, words))

    def _read(self, part: OpenSegment, positions: Integers, words: slice) -> Floats:
        return _rows(part, self.words)[positions, words]

    def _group_size(self, pictures: int, group: Group) -> int:
        return _norm_bytes(pictures) + 4 * pictures * len(group.words)


def _between(rows: Floats, vector: Floats, norm: float) -> tuple[Floats, Floats]:
    """Numbers that no score of the rows is under and over.

    Whatever the order, ``d`` products added up in single precision are off by at most
    ``d * 2^-24 / (1 - d * 2^-24)`` times the sum of their absolute values, which is at most the
    product of the two lengths. Twice that also covers the last roundings of both.
    """
    length = float(np.sqrt(np.square(vector.astype(np.float64)).sum())) * norm
    if length > 1e38:  # The product might overflow, and then it says nothing.
        return np.full(len(rows), -np.inf, np.float32), np.full(len(rows), np.inf, np.float32)
    from visterm.index._products import products  # numba, which a search by words does not need

    near = products(rows, vector).astype(np.float64)
    error = (vector.size + 2) * (2.0**-23 * length + 2.0**-148)
    return (near - error).astype(np.float32), (near + error).astype(np.float32)


def _exact(rows: Floats, vector: Floats) -> Floats:
    """The scores by their definition: a running sum adds one word after the other."""
    if not vector.size:
        return np.zeros(len(rows), np.float32)
    terms = rows.astype(np.float64) * vector.astype(np.float64)
    total = np.cumsum(terms, axis=1)[:, -1] + 0.0  # The sum begins at 0, so none is −0.
    with np.errstate(over="ignore"):
        return total.astype(np.float32)


def _largest(low: Floats, k: int) -> np.float32:
    return np.partition(low, low.size - k)[low.size - k] if k <= low.size else np.float32(-np.inf)


def _blocks(part: OpenSegment, words: int) -> Iterator[tuple[slice, Floats, float]]:
    """Some rows at a time: their places, the rows, and the length of the longest."""
    rows = _rows(part, words)
    norms = part.maps[0][: _norm_bytes(len(rows))].view(np.float64)
    for place, norm in zip(_places(len(rows)), norms.tolist(), strict=False):
        yield place, rows[place], norm


def _rows(part: OpenSegment, words: int) -> Floats:
    pictures = part.segment.pictures
    if not part.maps:
        return np.empty((pictures, 0), np.float32)
    return part.maps[0][_norm_bytes(pictures) :].view(np.float32).reshape(pictures, words)


def _places(pictures: int) -> list[slice]:
    return [slice(at, min(at + _ROWS, pictures)) for at in range(0, pictures, _ROWS)]


def _norm_bytes(pictures: int) -> int:
    return -(-len(_places(pictures)) // 8) * 64

"""One shard of a collection: whole segments of its indexes, searched where they are mapped.

A question names the state of the index that it is about. A shard that does not hold it looks at the
folder again; if that holds another state by now, it refuses, and whoever asks begins anew. So all
shards of an answer have seen the same version, and the same changes of it.
"""

from __future__ import annotations

import copy
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.search.evidence import Floats, Ids, Parts, Term
from visterm.collection.search.evidence_ranking import EvidenceRanking
from visterm.collection.search.shard_vectors import SentRows, VectorSegment
from visterm.collection.store.linear_values import LinearValues
from visterm.collection.store.versions import Version
from visterm.errors import VistermError
from visterm.index import DenseIndex, Index
from visterm.index.index_folder import IndexFolder
from visterm.index.manifest import Manifest, Segment

_STATES = 3
"""States of indexes that a shard keeps open, for questions that were asked before a change."""
_NOBODY = np.empty(0, np.int64)
_ARRAYS = 64
"""What captions say, as it was sent once, for so many words."""


@dataclass(frozen=True)
class IndexState:
    """One committed state of an index: its folder, and what its files hold."""

    folder: str
    kind: str
    fingerprint: str

    @classmethod
    def of(cls, index: Index | DenseIndex, folder: Path) -> IndexState:
        return cls(str(folder), index.kind, fingerprint(index.manifest))


@dataclass(frozen=True, eq=False)
class Question:
    """What a shard is asked: its best pictures, or the scores of given ones.

    Attributes
    ----------
    query
        Words and weights for an index of words, a row for one of sentences, to be ranked by alone;
        or else ``terms``, with what captions say of them.
    terms
        Words; where many captions or names hold one, without its holders.
    holders, lengths
        The names of arrays: the lists of holders of each term, "" where it has one with it, and how
        long captions are.
    arrays
        Those of the arrays that the shard may not have been sent before.
    allow
        The only pictures of the shard that may be found.
    pictures
        Ask for the scores of these, not for the best.
    least
        Ask how many have such a score or a higher one.
    version, vectors
        What computes values anew that the index does not keep: a version whose model is linear, and
        the segments of vectors that may hold those of the shard's pictures.
    """

    state: IndexState
    k: int = 0
    query: Any = None
    terms: tuple[Term, ...] = ()
    holders: tuple[tuple[str, ...], ...] = ()
    lengths: str = ""
    completeness: Floats = field(default_factory=lambda: np.zeros(0))
    arrays: dict[str, Any] = field(default_factory=dict)
    allow: Ids | None = None
    pictures: Ids | None = None
    least: float | None = None
    version: Version | None = None
    vectors: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Answer:
    """Pictures with their scores, best first, and for words what these consist of."""

    ids: Ids
    scores: NDArray[Any]
    parts: Parts | None = None
    count: int = 0


@dataclass(frozen=True)
class Moved:
    """The folder holds another state of the index than the question is about."""


@dataclass(frozen=True)
class Lacking:
    """Arrays that the shard was not sent yet."""

    names: tuple[str, ...]


def fingerprint(manifest: Manifest) -> str:
    """What tells apart any two states of any two indexes."""
    files = sorted((name, record.sha256) for name, record in manifest.files.items())
    described = repr((manifest.kind, manifest.words, manifest.version, files))
    return hashlib.sha256(described.encode()).hexdigest()


def vectors_name(number: int) -> str:
    """How a segment of vectors is named among the arrays of a question."""
    return f"vectors {number}"


@lru_cache(maxsize=64)
def dealt(segments: tuple[Segment, ...], shards: int) -> tuple[tuple[int, ...], ...]:
    """Which segments each shard searches: the largest first, each to whoever has least.

    So pictures that come or go in small segments do not move the large ones.
    """
    order = sorted(
        range(len(segments)), key=lambda n: (-segments[n].pictures, segments[n].first_id)
    )
    found: list[list[int]] = [[] for _ in range(shards)]
    sizes = [0] * shards
    for number in order:
        least = sizes.index(min(sizes))
        found[least].append(number)
        sizes[least] += segments[number].pictures
    return tuple(tuple(sorted(numbers)) for numbers in found)


class _ShardFolder(IndexFolder):
    """The folder of an index as one shard sees it: with its own segments only."""

    def __init__(self, path: Path, number: int, shards: int) -> None:
        super().__init__(path)
        self._number, self._shards = number, shards
        self.whole = ""
        """The fingerprint of the manifest that was last read, with the segments of all."""

    def manifest(self) -> Manifest:
        every = super().manifest()
        self.whole = fingerprint(every)
        mine = [every.segments[n] for n in dealt(every.segments, self._shards)[self._number]]
        files = {name: every.files[name] for segment in mine for name in segment.files()}
        return replace(every, segments=tuple(mine), files=files)


class SearchShard:
    """Searches the segments that are dealt to one of several shards, of whatever index is asked."""

    def __init__(self, number: int, shards: int, prepare: bool = False) -> None:
        self._number, self._shards = number, shards
        self._open: OrderedDict[IndexState, Index | DenseIndex] = OrderedDict()
        self._arrays: OrderedDict[str, Any] = OrderedDict()
        if prepare:  # load the kernels, so that no question waits for them
            Index.in_memory(np.zeros((1, 1), np.float32)).prepare()

    def answer(self, question: Question) -> Answer | Moved | Lacking:
        index = self._index(question)
        if index is None:
            return Moved()
        if question.query is not None:
            found = index.search(question.query, question.k, allow=question.allow)
            return Answer(*found)
        assert isinstance(index, Index)
        self._keep(question.arrays)
        names = {name for name in (*chain(*question.holders), question.lengths) if name}
        lacking = [*(names - self._arrays.keys()), *self._lacking_vectors(index, question)]
        if lacking:
            return Lacking(tuple(sorted(lacking)))
        try:
            return self._with_captions(index, question)
        except FileNotFoundError:
            return Moved()  # a writer has merged segments of vectors

    def _lacking_vectors(self, index: Index, question: Question) -> list[str]:
        rows = index.exact.rows if isinstance(index.exact, LinearValues) else None
        if not isinstance(rows, SentRows):
            return []
        sent = (one for one in question.arrays.values() if isinstance(one, VectorSegment))
        rows.take(sent, question.vectors)
        return [vectors_name(number) for number in question.vectors if number not in rows]

    def _with_captions(self, index: Index, question: Question) -> Answer:
        terms = [
            term.with_lists(
                [
                    self._arrays[name] if name else own
                    for name, own in zip(names, term.lists, strict=True)
                ]
            )
            for term, names in zip(question.terms, question.holders, strict=True)
        ]
        lengths = self._arrays[question.lengths] if question.lengths else np.zeros(0, np.uint8)
        evidence = EvidenceRanking(index, terms, lengths, question.completeness)
        if question.least is not None:
            count = evidence.count(question.least, question.allow)
            return Answer(np.empty(0, np.int64), np.empty(0), evidence.parts(_NOBODY), count)
        if question.pictures is not None:
            here = question.pictures[index.holds(question.pictures)]
            parts = evidence.parts(here)
            return Answer(here, parts.scores, parts)
        ids, scores = evidence.best(question.k, _mask(question.allow))
        return Answer(ids, scores, evidence.parts(ids))

    def _index(self, question: Question) -> Index | DenseIndex | None:
        """The index in the state that is asked for; None where the folder holds another by now."""
        state = question.state
        if state in self._open:
            self._open.move_to_end(state)
            return self._open[state]
        before = next((one for s, one in self._open.items() if s.folder == state.folder), None)
        try:
            index = self._opened(question) if before is None else copy.copy(before)
            index.refresh()
        except (OSError, VistermError):
            return None  # a writer has swept it
        storage = index.storage
        assert isinstance(storage, _ShardFolder)
        found = replace(state, fingerprint=storage.whole)
        self._open[found] = index
        while len(self._open) > _STATES:
            self._open.popitem(last=False)
        return index if found == state else None

    def _opened(self, question: Question) -> Index | DenseIndex:
        state = question.state
        folder = _ShardFolder(Path(state.folder), self._number, self._shards)
        if state.kind == DenseIndex.kind:
            return DenseIndex(folder)
        index = Index(folder)
        if question.version is not None:
            index.exact = LinearValues(question.version, SentRows())
        return index

    def _keep(self, arrays: dict[str, Any]) -> None:
        kept = {n: one for n, one in arrays.items() if not isinstance(one, VectorSegment)}
        for name, array in kept.items():
            self._arrays[name] = array.whole() if isinstance(array, Pieces) else array
        while len(self._arrays) > _ARRAYS + len(arrays):
            self._arrays.popitem(last=False)


@dataclass(frozen=True, eq=False)
class Pieces:
    """An array of which only some stretches are known, as it travels; elsewhere it is 0."""

    firsts: tuple[int, ...]
    values: tuple[NDArray[Any], ...]

    @classmethod
    def of(cls, array: NDArray[Any], stretches: Sequence[tuple[int, int]]) -> Pieces:
        return cls(
            tuple(first for first, _ in stretches),
            tuple(array[first : last + 1] for first, last in stretches),
        )

    def whole(self) -> NDArray[Any]:
        """The array up to its last known stretch.

        >>> Pieces.of(np.arange(9), [(1, 2), (5, 5)]).whole().tolist()
        [0, 1, 2, 0, 0, 5]
        """
        ends = [first + part.size for first, part in zip(self.firsts, self.values, strict=True)]
        kinds = [part.dtype for part in self.values]
        found = np.zeros(max(ends, default=0), kinds[0] if kinds else np.uint8)
        for first, part in zip(self.firsts, self.values, strict=True):
            found[first : first + part.size] = part
        return found


def _mask(ids: Ids | None) -> NDArray[np.bool_] | None:
    """Pictures that may answer, by their numbers, as `EvidenceRanking` asks for them."""
    if ids is None:
        return None
    mask = np.zeros(int(ids.max(initial=-1)) + 1, bool)
    mask[ids] = True
    return mask

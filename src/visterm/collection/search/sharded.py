"""Search over shards: every shard is asked, and the best of their best pictures are the answer.

Scores are functions of a picture alone and ties go by its id, so the best of all pictures are among
the best of each shard: merged answers are those of one index, bit for bit.
"""

from __future__ import annotations

import copy
import hashlib
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.search.evidence import NAME_SOURCES, Floats, Ids, Parts, Term
from visterm.collection.search.request import PartialAnswer
from visterm.collection.search.shard import (
    Answer,
    IndexState,
    Lacking,
    Moved,
    Pieces,
    Question,
    dealt,
    vectors_name,
)
from visterm.collection.search.shard_vectors import VectorSegment, vector_segments
from visterm.collection.store.active_model import Active
from visterm.collection.store.caption_words import Postings
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.linear_values import LinearValues
from visterm.compute import Replicas
from visterm.errors import VistermError
from visterm.index.score import best

_SMALL = 4096
"""Pictures up to which it is cheaper to send a list again than to ask whether it is known."""
_TELLING: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
"""For each shard, held by the thread that sends it what it lacks."""
_TRIES = 40
_PAUSE = 0.05


Arrays = dict[str, Any]
"""What captions say, by names that are the same only where the contents are."""


class IndexMoved(VistermError):
    """Another state of the index is the current one by now; the question must be asked anew."""


def while_index_moves(search: Callable[[], Any]) -> Any:
    """What a search gives, begun anew for as long as writers change the index under it."""
    for attempt in range(_TRIES):
        try:
            return search()
        except IndexMoved:
            time.sleep(_PAUSE if attempt else 0)
    raise VistermError(
        "the shards see another index than this server: all nodes must see the same files"
    )


class ShardedIndex:
    """One state of an index, dealt out to shards that hold it."""

    def __init__(self, replicas: Replicas, active: Active, catalogue: Catalogue) -> None:
        self.replicas = replicas
        index = copy.copy(active.index)  # as it is now, whoever refreshes it meanwhile
        self.version = index.version
        manifest, spans = index.manifest, index.spans()
        self.state = IndexState.of(index, active.version.index)
        self.key = f"{active.version.id} {active.version.time}"
        segments = dealt(manifest.segments, len(replicas))
        self.stretches = [_joined([spans[n] for n in numbers]) for numbers in segments]
        self.sizes = [
            sum(manifest.segments[n].pictures - manifest.segments[n].removed for n in numbers)
            for numbers in segments
        ]
        self.vectors = self._vectors(index, active, catalogue)
        self.missing: set[int] = set()
        """The shards that had nobody to answer."""

    def _vectors(
        self, index: Any, active: Active, catalogue: Catalogue
    ) -> list[dict[int, Callable[[], VectorSegment]]]:
        """For each shard, by number, what reads a segment of vectors of its pictures."""
        exact = getattr(index, "exact", None)
        self.linear = (
            active.version if isinstance(exact, LinearValues) and exact.is_linear else None
        )
        if self.linear is None:
            return [{} for _ in self.sizes]
        every = vector_segments(catalogue.store, active.version.extractor)

        def read(number: int) -> VectorSegment:
            found = every.read(catalogue, number)
            if found is None:
                raise IndexMoved("vectors have been written anew meanwhile")
            return found

        spans = every.current(catalogue)
        return [
            {
                number: partial(read, number)
                for number, (low, high) in spans.items()
                if any(first <= high and low <= last for first, last in stretches)
            }
            for stretches in self.stretches
        ]

    @property
    def partial(self) -> PartialAnswer | None:
        """How much was searched, where that was not everything."""
        if not self.missing:
            return None
        found = sum(size for n, size in enumerate(self.sizes) if n not in self.missing)
        return PartialAnswer(found, sum(self.sizes))

    def search(
        self, query: Any, k: int, *, allow: NDArray[Any] | None = None
    ) -> tuple[Ids, NDArray[np.float32]]:
        """As of the whole index, from the shards that answer."""
        asked = [
            Question(self.state, k, query, allow=self.own(number, allow))
            for number in range(len(self.sizes))
        ]
        found = [one for one in self.ask(asked) if one is not None]
        ids = np.concatenate([np.empty(0, np.int64), *(one.ids for one in found)])
        scores = np.concatenate([np.empty(0, np.float32), *(one.scores for one in found)])
        return best(ids, scores, k)

    def ask(
        self, questions: Sequence[Question], arrays: Sequence[Arrays] = ()
    ) -> list[Answer | None]:
        """The answers, None for shards that have nobody now, or no picture.

        What a shard lacks of ``arrays`` is sent to it, whichever of its replicas that reaches.
        """
        answers = self._asked(
            [q if size else None for q, size in zip(questions, self.sizes, strict=True)]
        )
        for n, one in enumerate(answers):
            if isinstance(one, Lacking):
                answers[n] = self._told(n, questions[n], arrays[n])
        self.missing |= {n for n, size in enumerate(self.sizes) if size and answers[n] is None}
        return answers

    def _told(self, number: int, question: Question, arrays: Arrays) -> Answer | None:
        """The answer of a shard that lacks something, which is sent to it.

        One thread at a time: whoever has waited finds that others have sent it meanwhile.
        """
        with _TELLING[number]:
            sent: Arrays = {}
            for _ in range(_TRIES):  # a replica that died may come back with nothing
                asked = [replace(question, arrays=sent) if n == number else None for n in self._all]
                answer = self._asked(asked)[number]
                if not isinstance(answer, Lacking):
                    found: Answer | None = answer
                    return found
                sent |= {name: _sent(arrays[name]) for name in answer.names if name not in sent}
        return None

    @property
    def _all(self) -> range:
        return range(len(self.sizes))

    def _asked(self, questions: Sequence[Question | None]) -> list[Any]:
        answers = self.replicas.ask("answer", [None if q is None else (q,) for q in questions])
        if any(isinstance(one, Moved) for one in answers):
            raise IndexMoved("the index has changed meanwhile")
        return answers

    def own(self, number: int, some: NDArray[Any] | None) -> NDArray[Any] | None:
        """Those of some pictures, given by id or as a mask, that one shard may hold."""
        if some is None:
            return None
        ids = np.flatnonzero(some) if some.dtype == np.bool_ else some
        ordered = ids if (ids[1:] > ids[:-1]).all() else np.unique(ids)
        cuts = (
            np.searchsorted(ordered, [first, last + 1]) for first, last in self.stretches[number]
        )
        return np.concatenate([np.empty(0, np.int64), *(ordered[a:b] for a, b in cuts)])


@dataclass(frozen=True, eq=False)
class ShardedEvidence:
    """What is seen and written, in one score, as `EvidenceRanking` has it, over all shards."""

    index: ShardedIndex
    terms: Sequence[Term]
    postings: Postings
    completeness: Floats
    _known: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    """Of pictures that shards have found, what their scores consist of."""

    def best(self, k: int, allow: NDArray[Any] | None = None) -> tuple[Ids, Floats]:
        """The ``k`` best pictures and their scores; equal scores by smaller id."""
        found = self._answers(lambda n, q: replace(q, k=k, allow=self.index.own(n, allow)))
        ids = np.concatenate([np.empty(0, np.int64), *(one.ids for one in found)])
        scores = np.concatenate([np.empty(0), *(one.scores for one in found)])
        return best(ids, scores, k)

    def count(self, least: float, among: Ids | None = None) -> int:
        """How many pictures, of some or of all, have such a score or a higher one."""
        asked = self._answers(lambda n, q: replace(q, least=least, allow=self.index.own(n, among)))
        return sum(one.count for one in asked)

    def parts(self, pictures: Ids) -> Parts:
        """The scores of pictures, in parts; NaN for those whose shard has gone meanwhile."""
        unknown = np.unique([one for one in pictures.tolist() if one not in self._known])
        if unknown.size:
            some = unknown.astype(np.int64)
            self._answers(lambda n, q: replace(q, pictures=self.index.own(n, some)))
        terms = len(self.terms)
        nothing = (np.nan, np.nan, 0.0, np.zeros(terms), np.zeros((terms, len(NAME_SOURCES))))
        rows = [self._known.get(one, nothing) for one in pictures.tolist()]
        sight, caption, name, held, named = zip(*rows, strict=True) if rows else ((),) * 5
        return Parts(
            np.array(sight, np.float64),
            np.array(caption, np.float64),
            np.array(name, np.float64),
            np.array(held, bool).reshape(len(rows), terms),
            np.array(named, bool).reshape(len(rows), terms, len(NAME_SOURCES)),
        )

    def _answers(self, asking: Callable[[int, Question], Question]) -> list[Answer]:
        questions = [asking(n, question) for n, (question, _) in enumerate(self._questions)]
        given = self.index.ask(questions, [arrays for _, arrays in self._questions])
        found = [one for one in given if one is not None]
        for answer in found:
            parts = answer.parts
            assert parts is not None
            scores = (part.tolist() for part in (parts.sight, parts.caption, parts.name))
            rows = zip(*scores, parts.held, parts.named, strict=True)
            self._known.update(zip(answer.ids.tolist(), rows, strict=True))
        return found

    @cached_property
    def _questions(self) -> list[tuple[Question, Arrays]]:
        """What each shard is asked about the terms, and what it may have to be sent for it."""
        return [self._question(number) for number in range(len(self.index.sizes))]

    def _question(self, number: int) -> tuple[Question, Arrays]:
        arrays: Arrays = {}
        terms, names = [], []
        for term in self.terms:
            lists, called = [], []
            for some in term.lists:
                own = self.index.own(number, some)
                assert own is not None
                is_small = own.size <= _SMALL
                called.append("" if is_small else hashlib.sha256(own.tobytes()).hexdigest())
                lists.append(own if is_small else own[:0])
                if not is_small:
                    arrays[called[-1]] = own
            names.append(tuple(called))
            terms.append(term.with_lists(lists))
        lengths = ""
        if self.postings.lengths.size:
            stretches = self.index.stretches[number]
            lengths = f"{self.index.key} {self.postings.version} {stretches}"
            arrays[lengths] = Pieces.of(self.postings.lengths, stretches)
        question = Question(
            self.index.state,
            terms=tuple(terms),
            holders=tuple(names),
            lengths=lengths,
            completeness=self.completeness,
            version=self.index.linear,
            vectors=tuple(self.index.vectors[number]),
        )
        vectors = self.index.vectors[number].items()
        return question, arrays | {vectors_name(one): read for one, read in vectors}


def _sent(array: Any) -> Any:
    """An array as it is sent: read now, where that is left until somebody lacks it."""
    return array() if callable(array) else array


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches of ids, ascending and apart.

    >>> _joined([(6, 9), (0, 2), (8, 12)])
    [(0, 2), (6, 12)]
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found

"""Search over shards: every shard is asked, and the best of their best pictures are the answer.

A score is a function of one row, and ties go by its id, so the best of all rows are among the best
of each shard: merged answers are those of one machine, bit for bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.search.evidence import Evidence
from visterm.collection.search.query_terms import QueryTerms
from visterm.collection.search.ranking import RankedRows, held_positions, video_rows
from visterm.collection.search.request import PartialAnswer
from visterm.collection.search.shard import Answer, Gone, Lacking, Question
from visterm.collection.store.feature_rows import DescribedPictures
from visterm.collection.store.snapshot import Snapshot
from visterm.compute import Replicas
from visterm.errors import VistermError

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

_TRIES = 40
"""How often a replica that came back with nothing is sent what it lacks."""


class ShardedScores:
    """The scores of words over all rows, each shard having its own."""

    def __init__(
        self, now: Snapshot, pictures: DescribedPictures, terms: QueryTerms, replicas: Replicas
    ) -> None:
        self._pictures, self._frames, self._replicas = pictures, now.frames, replicas
        self._spans = _spans(now, pictures, len(replicas))
        self._missing: set[int] = set()
        self._arrays: list[dict[str, NDArray[Any]]] = [{} for _ in self._spans]
        complete = now.completeness.tolist()
        positions = held_positions(now, pictures)
        evidence = [Evidence.of(term, complete, positions) for term in terms.terms]
        lengths, videos = now.lengths(pictures), video_rows(now, pictures)
        self._questions = []
        for number, (start, stop) in enumerate(self._spans):
            own = tuple(_between(one, start, stop) for one in evidence)
            question = Question(
                pictures.file.part(start, stop),
                own,
                videos=None if videos is None else videos.between(start, stop),
            )
            question = self._with(question, number, "lengths", lengths)
            self._questions.append(self._with(question, number, "is_there", pictures.is_there))

    def _with(
        self, question: Question, number: int, what: str, array: NDArray[Any] | None
    ) -> Question:
        """The question with the shard's part of a long array, by a name of its content."""
        if array is None:
            return question
        start, stop = self._spans[number]
        own = np.ascontiguousarray(array[start:stop])
        name = f"{what} {hashlib.sha256(own.data).hexdigest()}"
        self._arrays[number][name] = own
        return replace(question, arrays=question.arrays | {what: name})

    @property
    def partial(self) -> PartialAnswer | None:
        """How much was searched, where that was not everything."""
        if not self._missing:
            return None
        sizes = [stop - start for start, stop in self._spans]
        searched = sum(size for n, size in enumerate(sizes) if n not in self._missing)
        return PartialAnswer(searched, sum(sizes))

    def of(self, pictures: Ids) -> NDArray[np.float64]:
        best = np.full(len(pictures), np.nan)
        rows = [self._positions(np.array([picture])) for picture in pictures.tolist()]
        every = np.concatenate([np.empty(0, np.int64), *rows])
        questions = [
            replace(question, judged=np.sort(every[(every >= start) & (every < stop)]) - start)
            for question, (start, stop) in zip(self._questions, self._spans, strict=True)
        ]
        scores: dict[int, float] = {}
        answers = zip(self._ask(questions), questions, self._spans, strict=True)
        for answer, question, (start, _) in answers:
            if answer is not None:
                positions = (question.judged + start).tolist()
                scores |= dict(zip(positions, answer.judged.tolist(), strict=True))
        for n, positions in enumerate(rows):
            known = [scores[one] for one in positions.tolist() if one in scores]
            best[n] = max(known, default=np.nan)
        return best

    def settle(self, allow: Mask | None, refused: Ids, leasts: Sequence[float]) -> None:
        positions, settled, least = self._positions(refused), [], leasts[0] if leasts else None
        for number, question in enumerate(self._questions):
            start, stop = self._spans[number]
            own = positions[(positions >= start) & (positions < stop)] - start
            question = self._with(question, number, "allow", allow)
            settled.append(replace(question, refused=own, least=least))
        self._questions = settled

    def count(self, leasts: Sequence[float]) -> list[int]:
        asked = [replace(question, leasts=tuple(leasts)) for question in self._questions]
        counted = [one.counts for one in self._ask(asked) if one is not None]
        return [sum(counts[n] for counts in counted) for n in range(len(leasts))]

    def best(self, k: int) -> RankedRows:
        asked = [replace(question, k=k) for question in self._questions]
        return _merged([one for one in self._ask(asked) if one is not None], k)

    def reaching(self, least: float) -> RankedRows:
        asked = [replace(one, least=least, everything=True) for one in self._questions]
        answers = [one for one in self._ask(asked) if one is not None]
        return _merged(answers, sum(len(one.rows) for one in answers))

    def _positions(self, pictures: Ids) -> Ids:
        return self._pictures.positions(self._frames.rows(pictures))

    def _ask(self, questions: Sequence[Question]) -> list[Answer | None]:
        """The answers, None for shards without replicas."""
        asked = list(questions)
        answers: list[Any] = [None] * len(asked)
        waiting = [n for n, question in enumerate(asked) if len(question.rows)]
        for _ in range(_TRIES):
            calls = [(asked[n],) if n in waiting else None for n in range(len(asked))]
            for n, answer in enumerate(self._replicas.ask("answer", calls)):
                if n in waiting:
                    answers[n] = answer
            if any(isinstance(one, Gone) for one in answers):
                raise VistermError("the shards do not see the files of this server; all nodes must")
            waiting = [n for n in waiting if isinstance(answers[n], Lacking)]
            if not waiting:
                break
            for n in waiting:
                sent = {name: self._arrays[n][name] for name in answers[n].names}
                asked[n] = replace(asked[n], sent=asked[n].sent | sent)
        given = [one if isinstance(one, Answer) else None for one in answers]
        self._missing |= {n for n, one in enumerate(given) if one is None and len(asked[n].rows)}
        return given


def _merged(answers: Sequence[Answer], k: int) -> RankedRows:
    rows = np.concatenate([np.empty(0, np.int64), *(one.rows for one in answers)])
    scores = np.concatenate([np.empty(0, np.float32), *(one.scores for one in answers)])
    keys = np.concatenate([np.empty(0, np.float32), *(one.order for one in answers)])
    parts = [part for one in answers for part in one.parts]
    # Each shard puts its refused rows behind its good matches; together they go by their scores.
    is_refused = keys != scores
    keys[is_refused] = keys[is_refused].max(initial=-np.inf)
    order = np.lexsort((rows, -scores, -keys))[:k]
    kept = [parts[n] for n in order.tolist()] if parts else None
    return RankedRows(rows[order], scores[order], kept)


def _between(evidence: Evidence, start: int, stop: int) -> Evidence:
    """What is written of the rows between two positions, counted from the first."""

    def own(positions: Ids) -> Ids:
        first, last = np.searchsorted(positions, [start, stop])
        return positions[first:last] - start

    named = {source: (own(rows), sure) for source, (rows, sure) in evidence.named.items()}
    nobody = np.empty(0, np.int64)
    term = replace(evidence.term, captioned=nobody, named={})  # which are not sent
    return Evidence(term, own(evidence.captioned), named, evidence.omitted)


def _spans(now: Snapshot, pictures: DescribedPictures, shards: int) -> list[tuple[int, int]]:
    """Where the rows of each shard begin and end; no video is in two of them."""
    count = len(pictures.file)
    edges = np.linspace(0, count, shards + 1).astype(int).tolist()
    if now.frames:
        videos = now.frames.pictures(pictures.ids)
        for n in range(1, shards):
            while 0 < edges[n] < count and videos[edges[n]] == videos[edges[n] - 1]:
                edges[n] += 1
    edges = np.maximum.accumulate(edges).tolist()
    return list(pairwise(edges))

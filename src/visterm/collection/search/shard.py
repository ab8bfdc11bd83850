"""One shard of a collection: the rows between two positions, searched where they are mapped.

A question says all that the catalogue knows: which rows there are, the weights of the query's words
and what is written of pictures. So a shard needs the files of the rows, and nothing else. Long
arrays are sent once: a shard names those that it lacks.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.search.evidence import Evidence
from visterm.collection.search.ranking import QueryRows, VideoRows
from visterm.collection.search.request import ScoreParts
from visterm.errors import VistermError
from visterm.index import feature_file
from visterm.index.columns import ColumnCache
from visterm.index.feature_file import FeatureFile

Ids = NDArray[np.int64]
_ARRAYS = 64
"""Long arrays that a shard keeps."""


@dataclass(frozen=True, eq=False)
class Question:
    """What a shard is asked.

    Attributes
    ----------
    rows
        The rows of the shard.
    evidence
        The words, with weights; what is written of rows, by position in the shard.
    arrays
        By what they are (``lengths``, ``is_there``, ``allow``), the names of long arrays.
    sent
        Arrays by name that the shard may not have.
    judged, refused
        Rows whose scores are asked for, and rows that come after the good matches.
    least, leasts
        The score from which a match is good, and scores whose rows are to be counted.
    k
        How many rows to give; with ``everything``, all that are good.
    """

    rows: FeatureFile
    evidence: tuple[Evidence, ...]
    arrays: dict[str, str] = field(default_factory=dict)
    sent: dict[str, NDArray[Any]] = field(default_factory=dict)
    videos: VideoRows | None = None
    judged: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    refused: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    least: float | None = None
    leasts: tuple[float, ...] = ()
    k: int = 0
    everything: bool = False


@dataclass(frozen=True, eq=False)
class Answer:
    """Rows with their scores, best first, and what these consist of."""

    judged: NDArray[np.float32]
    counts: tuple[int, ...]
    rows: Ids
    """Numbers of pictures and frames."""
    scores: NDArray[np.float32]
    order: NDArray[np.float32]
    """What rows are ordered by: refused ones come after the good matches."""
    parts: list[ScoreParts]


@dataclass(frozen=True)
class Lacking:
    """Arrays that the shard was not sent yet."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Gone:
    """The rows lie elsewhere by now; whoever asks begins anew."""


class SearchShard:
    """Answers questions about the rows of one shard; it has no state but what it keeps open."""

    def __init__(self, prepare: bool = False) -> None:
        self._columns = ColumnCache()
        self._arrays: OrderedDict[str, NDArray[Any]] = OrderedDict()
        if prepare:  # load the compiled loops, so that no question waits for them
            feature_file.prepare()

    def answer(self, question: Question) -> Answer | Lacking | Gone:
        self._arrays |= question.sent
        while len(self._arrays) > _ARRAYS + len(question.sent):
            self._arrays.popitem(last=False)
        lacking = [name for name in question.arrays.values() if name not in self._arrays]
        if lacking:
            return Lacking(tuple(lacking))
        try:
            return self._answered(question)
        except (FileNotFoundError, VistermError):
            return Gone()

    def _answered(self, question: Question) -> Answer:
        arrays = {what: self._arrays[name] for what, name in question.arrays.items()}
        query = QueryRows(
            question.rows,
            question.evidence,
            self._columns,
            lengths=arrays.get("lengths"),
            is_there=arrays.get("is_there"),
            videos=question.videos,
        )
        made = query.scored()
        judged = made.scores(question.judged)
        made.settle(arrays.get("allow"), question.refused, question.least)
        counts = tuple(made.vector.count(least) for least in question.leasts)
        if question.everything:
            assert question.least is not None
            best = made.reaching(question.least)
        else:
            best = made.best(question.k)
        return Answer(
            judged,
            counts,
            question.rows.ids[best],
            made.scores(best),
            made.vector.scores[best],
            [] if question.everything else query.parts(best),
        )

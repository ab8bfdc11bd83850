"""Rounds of teaching: ten questions, ten answers, and what they brought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from visterm.collection.feedback import log
from visterm.collection.feedback.changes import current_offsets, judge_many
from visterm.collection.feedback.guard import guard_of
from visterm.collection.search.request import SearchRequest
from visterm.collection.search.searcher import search
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.snapshot import snapshot
from visterm.collection.teaching.selection import CONSIDERED, most_informative

ROUND = 10
"""Questions of a round."""
_SURE = 0.9
_BROUGHT = 0.005


@dataclass(frozen=True)
class RoundReport:
    """What the answers of a round brought.

    Attributes
    ----------
    answers : int
        To this word, in all rounds.
    foreseen : float
        The fraction of the round's answers that were right before they were learnt.
    before, after : float or None
        AvgP of the word on held-out captioned pictures; None where no such caption holds it.
    enough : bool
        Whether more answers would bring little.
    """

    answers: int
    foreseen: float
    before: float | None
    after: float | None
    enough: bool


def questions(catalogue: Catalogue, root: Path, text: str, count: int = ROUND) -> list[int]:
    """The pictures to ask about next, for a word or any other query of words."""
    words = log.words_of(text)
    ranked = search(catalogue, root, SearchRequest(text, CONSIDERED)).results
    known = log.judged_pictures(catalogue, words)
    ids = [one.picture for one in ranked]
    stored = Rows(catalogue, snapshot(catalogue).words.version.extractor).of(ids)
    kept = [one for one in ranked if one.picture in stored]
    if not kept:
        return []
    vectors = np.stack([stored[one.picture] for one in kept])
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    likely = np.array([_probability(one.probability, one.score) for one in kept])
    asked = [place for place, one in enumerate(kept) if one.picture in known]
    return [kept[place].picture for place in most_informative(likely, vectors, asked, count)]


def answer(catalogue: Catalogue, root: Path, text: str, answers: Mapping[int, bool]) -> RoundReport:
    """Learn a round's answers, and say what they brought; the caller holds the lock."""
    before = held_out_avgp(catalogue, text)
    foreseen = _foreseen(catalogue, root, text, answers)
    judge_many(catalogue, text, answers)
    after = held_out_avgp(catalogue, text)
    total = len(log.judged_pictures(catalogue, log.words_of(text)))
    gain = None if before is None or after is None else after - before
    is_sure = foreseen >= _SURE and any(answers.values())
    enough = total >= 3 * ROUND and is_sure and (gain is None or gain < _BROUGHT)
    return RoundReport(total, foreseen, before, after, enough)


def held_out_avgp(catalogue: Catalogue, text: str) -> float | None:
    """AvgP of a query's words on held-out captioned pictures, with what clicks have added."""
    offsets = current_offsets(catalogue)
    guard = guard_of(catalogue, offsets.version)
    if guard is None:
        return None
    query = offsets.vector(log.words_of(text)).by_idf(offsets.vocabulary.idf)
    return guard.avgp(query, offsets.directions)


def _foreseen(catalogue: Catalogue, root: Path, text: str, answers: Mapping[int, bool]) -> float:
    """How many of some answers the ranking would have given: as many are its best as are yes."""
    if not answers:
        return 0.0
    found = search(catalogue, root, SearchRequest(text, CONSIDERED)).results
    order = {one.picture: place for place, one in enumerate(found)}
    ranked = sorted(answers, key=lambda one: order.get(one, len(order)))
    yes = sum(answers.values())
    return sum(answers[one] == (place < yes) for place, one in enumerate(ranked)) / len(answers)


def _probability(probability: float | None, score: float) -> float:
    """How likely a picture answers; where nobody knows, what its log-probability says."""
    return float(np.exp(min(score, 0.0))) if probability is None else probability

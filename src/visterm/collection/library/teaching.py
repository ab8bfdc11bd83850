"""Rounds of teaching: ten questions, ten answers, what they brought, and what is known of a word.

Asked about are those of the best pictures of a ranking that have no answer yet. Most of a
round are the most likely ones: a yes to them says what the word looks like, a no takes a mistake
from the top. The others are the least certain, around where as many answer as not. Each is taken if
it is unlike those that were taken before it, so that ten answers are not one answer ten times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.collection.feedback.changes import current_offsets, judge_many
from visterm.collection.feedback.guard import guard_of
from visterm.collection.search.request import SearchRequest
from visterm.collection.search.searcher import search
from visterm.collection.store import events
from visterm.collection.store.caption_words import counting, holders
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.snapshot import Snapshot, snapshot
from visterm.text.query import UnknownWords
from visterm.text.tokens import stem

ROUND = 10
"""Questions of a round."""
CONSIDERED = 400
"""Pictures of a ranking that may be asked about."""
LIKENESS_COST = 0.5
"""What likeness to a picture that is asked about already costs, against being worth asking."""
UNCERTAIN_SHARE = 0.3
"""The fraction of a round that is asked because it is uncertain, not because it is likely."""
_SURE = 0.9
_BROUGHT = 0.005
_EXAMPLES = 12
_NEAREST = 8
_SAMPLE = 2000

Floats = NDArray[np.float64]


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
    words = events.words_of(text)
    ranked = search(catalogue, root, SearchRequest(text, CONSIDERED)).results
    known = events.judged_pictures(catalogue, words)
    ids = [result.picture for result in ranked]
    stored = Rows(catalogue, snapshot(catalogue).words.version.extractor).of(ids)
    kept = [result for result in ranked if result.picture in stored]
    if not kept:
        return []
    vectors = np.stack([stored[result.picture] for result in kept])
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    likely = np.array([_probability(result.probability, result.score) for result in kept])
    asked = [place for place, result in enumerate(kept) if result.picture in known]
    return [kept[place].picture for place in most_informative(likely, vectors, asked, count)]


def answer(catalogue: Catalogue, root: Path, text: str, answers: Mapping[int, bool]) -> RoundReport:
    """Learn a round's answers, and say what they brought; the caller holds the lock."""
    before = held_out_avgp(catalogue, text)
    foreseen = _foreseen(catalogue, root, text, answers)
    judge_many(catalogue, text, answers)
    after = held_out_avgp(catalogue, text)
    total = len(events.judged_pictures(catalogue, events.words_of(text)))
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
    query = offsets.vector(events.words_of(text)).by_idf(offsets.vocabulary.idf)
    return guard.avgp(query, offsets.directions)


def _foreseen(catalogue: Catalogue, root: Path, text: str, answers: Mapping[int, bool]) -> float:
    """How many of some answers the ranking would have given: as many are its best as are yes."""
    if not answers:
        return 0.0
    results = search(catalogue, root, SearchRequest(text, CONSIDERED)).results
    order = {result.picture: place for place, result in enumerate(results)}
    ranked = sorted(answers, key=lambda picture: order.get(picture, len(order)))
    yes = sum(answers.values())
    right = sum(answers[picture] == (place < yes) for place, picture in enumerate(ranked))
    return right / len(answers)


def _probability(probability: float | None, score: float) -> float:
    """How likely a picture answers; where nobody knows, what its log-probability says."""
    return float(np.exp(min(score, 0.0))) if probability is None else probability


def most_informative(
    probabilities: Floats, vectors: NDArray[np.float32], asked: Sequence[int], count: int
) -> list[int]:
    """Places of the pictures to ask about next, best first.

    Parameters
    ----------
    probabilities
        How likely each picture of a ranking answers, highest first.
    vectors
        The pictures' vectors, one a row, of unit length.
    asked
        Places of pictures that were asked about before.
    """
    free = np.ones(len(probabilities), bool)
    free[list(asked)] = False
    likely = probabilities / (probabilities.max(initial=0.0) or 1.0)
    middle = _middle(probabilities)
    uncertain = np.exp(-np.abs(_odds(probabilities) - _odds(np.array([middle]))))
    closest = _closest(vectors, asked)
    chosen: list[int] = []
    while len(chosen) < count and free.any():
        due = int((len(chosen) + 1) * UNCERTAIN_SHARE) > int(len(chosen) * UNCERTAIN_SHARE)
        worth = uncertain if due else likely
        value = np.where(free, worth - LIKENESS_COST * closest, -np.inf)
        best = int(value.argmax())
        chosen.append(best)
        free[best] = False
        closest = np.maximum(closest, vectors @ vectors[best])
    return chosen


def _middle(probabilities: Floats) -> float:
    """Where as many pictures answer before as after: half of all answers are expected by then."""
    total = np.cumsum(probabilities)
    if not total.size or total[-1] <= 0:
        return 0.5
    return float(probabilities[int(np.searchsorted(total, total[-1] / 2))])


def _closest(vectors: NDArray[np.float32], asked: Sequence[int]) -> Floats:
    if not len(asked):
        return np.zeros(len(vectors))
    return np.asarray((vectors @ vectors[list(asked)].T).max(axis=1), np.float64)


def _odds(probabilities: Floats) -> Floats:
    sure = np.clip(probabilities, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(sure) - np.log1p(-sure))


@dataclass(frozen=True)
class WordRecord:
    """A word as a collection knows it.

    Attributes
    ----------
    known : bool
        Whether the model has learnt what it looks like.
    captions, yes, no : int
        Captions that hold it, and answers to it.
    names : int
        Pictures of which the name of a file or folder holds it, where these count.
    avgp : float or None
        On held-out captioned pictures; None where none of them holds it.
    nearest : tuple of str
        Words that are seen in the same pictures.
    examples : tuple of int
        Pictures with a yes first, then the best of the ranking.
    """

    word: str
    known: bool
    captions: int
    names: int
    yes: int
    no: int
    avgp: float | None
    nearest: tuple[str, ...]
    examples: tuple[int, ...]


def word_record(catalogue: Catalogue, root: Path, word: str) -> WordRecord:
    """Gather what is known of a word; `UnknownWords` where nothing is."""
    now = snapshot(catalogue)
    words = events.words_of(word)
    answers = events.judged_pictures(catalogue, words)
    number = now.words.vocabulary.number(words)
    held = holders(catalogue.db, stem(words))
    named = [holders(catalogue.db, stem(words), source) for source in counting(catalogue.db)]
    names = np.unique(np.concatenate([np.empty(0, np.int64), *named])).size
    try:
        results = search(catalogue, root, SearchRequest(word, 40)).results
    except UnknownWords:
        if number is None and not (held.size or names or answers):
            raise
        results = []
    yes = [picture for picture, relevant in answers.items() if relevant]
    ranked = (result.picture for result in results if answers.get(result.picture) is not False)
    examples = dict.fromkeys([*yes, *ranked])
    return WordRecord(
        words,
        number is not None,
        int(held.size),
        int(names),
        len(yes),
        len(answers) - len(yes),
        held_out_avgp(catalogue, word) if number is not None else None,
        _nearest(now, number),
        tuple(examples)[:_EXAMPLES],
    )


def _nearest(now: Snapshot, number: int | None) -> tuple[str, ...]:
    """Words whose columns are most like that of a word, over a sample of pictures."""
    model = now.words
    pictures = now.pictures(model.version.extractor)
    if number is None or number >= model.words or pictures is None or len(pictures) < 3:
        return ()
    sample = pictures.findable[:: max(1, len(pictures) // _SAMPLE)]
    logs = model.log_probabilities(pictures.file.at(pictures.positions(sample)))
    rows = np.exp(logs[:, : model.words].astype(np.float64))
    rows -= rows.mean(axis=0)
    lengths = np.linalg.norm(rows, axis=0)
    alike = rows.T @ rows[:, number] / np.maximum(lengths * lengths[number], 1e-12)
    alike[number] = -1
    order = np.argsort(-alike)[:_NEAREST]
    return tuple(model.vocabulary.words[near] for near in order.tolist() if alike[near] > 0)

"""The scores of a query written slowly, from vectors, weights, clicks and captions, row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from visterm.collection import Collection, SearchResult
from visterm.collection.search.evidence import CERTAINTY, QueryTerm
from visterm.collection.search.query_terms import query_terms
from visterm.collection.store.snapshot import Snapshot, reading
from visterm.text.query import parse_query

TOLERANCE = 2e-3
"""What 16 bits of a log-probability leave open, for each unit of weight."""


def slow_scores(collection: Collection, text: str) -> dict[int, float]:
    """By the number of every row that can be found, the score of a query of words."""
    with reading(collection.catalogue) as now:
        pictures = now.pictures(now.words.version.extractor)
        assert pictures is not None
        terms = query_terms(parse_query(text), now).terms
        is_there = np.ones(len(pictures.ids), bool)
        is_there = is_there if pictures.is_there is None else pictures.is_there
        return {
            int(pictures.ids[place]): sum(
                _added(now, term, int(pictures.ids[place]), pictures.file.dense(np.array([place])))
                for term in terms
            )
            for place in np.flatnonzero(is_there)
        }


def _added(now: Snapshot, term: QueryTerm, row: int, vector: np.ndarray) -> float:
    """What a word adds to the score of a row."""
    picture = int(now.frames.pictures(np.array([row]))[0])
    seen = _seen(now, term, vector)
    if picture in term.captioned:
        chance = 1 - (1 - CERTAINTY) * (1 - seen)
    else:
        lengths = now.written.lengths
        length = int(lengths[picture]) if term.is_mentioned and picture < lengths.size else 0
        chance = seen * (1 - float(now.completeness[length]))
    for named, certainty in term.named.values():
        if picture in named:
            chance = 1 - (1 - certainty) * (1 - chance)
    if term.weight > 0:
        return term.weight * math.log(chance)
    return -term.weight * math.log(max(1 - chance, 1e-6))


def _seen(now: Snapshot, term: QueryTerm, vector: np.ndarray) -> float:
    """How likely a row shows a word."""
    model = now.words
    if term.weights is None:
        return term.frequency
    row = vector[0].astype(np.float64)
    if term.word not in model.vocabulary.words:  # an encoder made it
        odds = term.weights.bias + float(term.weights.vector.astype(np.float64) @ row)
    else:
        word, value = model.vocabulary.words.index(term.word), 0.0
        if word < model.words:
            value += float(model.values(vector, np.array([word]))[0, 0])
        if word in model.directions:
            direction = model.directions[word]
            value += float(direction @ (row - model.reference.mean))
        odds = float(model.link.intercepts[word] + model.link.slopes[word] * value)
    return 1 / (1 + math.exp(-odds))


def assert_ranked(results: Sequence[SearchResult], expected: dict[int, float], text: str) -> None:
    """Results have the slow scores, best first, equal ones by their number, and none is missing."""
    weight = sum(abs(q) for _, q in parse_query(text).words)
    scores = [one.score for one in results]
    assert [(-one.score, one.frame or one.picture) for one in results] == sorted(
        (-one.score, one.frame or one.picture) for one in results
    )
    rows = [one.frame or one.picture for one in results]
    np.testing.assert_allclose(
        scores, [expected[row] for row in rows], rtol=1e-3, atol=TOLERANCE * weight
    )
    least = min(scores, default=-math.inf)
    shown = {one.picture for one in results}
    better = [row for row, score in expected.items() if score > least + 2 * TOLERANCE * weight]
    assert not set(better) - set(rows) - shown

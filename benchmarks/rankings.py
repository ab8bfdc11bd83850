"""What a collection says of all its pictures: their order for a query, and values of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visterm.collection import Collection
from visterm.collection.search.query_terms import query_terms
from visterm.collection.search.ranking import word_scores
from visterm.collection.store.feature_rows import DescribedPictures
from visterm.collection.store.snapshot import Snapshot, reading
from visterm.collection.store.word_model import WordModel
from visterm.errors import BadInput
from visterm.index.codes import magnitudes
from visterm.index.columns import computed
from visterm.text.query import parse_query

Ids = NDArray[np.int64]


def word_model(collection: Collection) -> WordModel:
    """The model that answers queries of words, with what clicks have added."""
    with reading(collection.catalogue) as now:
        return now.words


def described_pictures(now: Snapshot) -> DescribedPictures:
    """The rows that the model of words ranks."""
    pictures = now.pictures(now.words.version.extractor)
    assert pictures is not None  # a benchmark has just put them there
    return pictures


def ranked(collection: Collection, text: str) -> Ids:
    """All pictures that a query can find, best first; none where no word of it is known."""
    with reading(collection.catalogue) as now:
        try:
            terms = query_terms(parse_query(text), now)
        except BadInput:
            return np.empty(0, np.int64)
        if not terms.terms:
            return np.empty(0, np.int64)
        pictures = described_pictures(now)
        return word_scores(now, pictures, terms).best(len(pictures)).rows


def order_scores(ids: Ids, numbers: Ids) -> NDArray[np.float64]:
    """A score for each picture of ``numbers`` by its place in a ranking; others come last."""
    scores = np.full(len(numbers), -float(len(numbers)))
    known = ids[np.isin(ids, numbers)]
    scores[np.searchsorted(numbers, known)] = -np.arange(len(known), dtype=float)
    return scores


def log_probabilities(
    collection: Collection, pictures: Ids, words: list[int] | None = None
) -> NDArray[np.float32]:
    """Log-probabilities of words for some pictures as columns hold them; pictures × words."""
    with reading(collection.catalogue) as now:
        described, model = described_pictures(now), now.words
        positions, known = described.located(np.asarray(pictures, np.int64))
        assert known.all()
        chosen = range(len(model.vocabulary)) if words is None else words
        weights = [model.word_weights(word) for word in chosen]
        codes = np.stack(computed(described.file, weights))
        return -magnitudes()[codes[:, positions].T]

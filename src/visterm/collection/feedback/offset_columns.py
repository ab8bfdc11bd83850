"""What directions of words add to the columns of an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.link import Link, log_logistic, log_odds
from visterm.collection.feedback.feature_matrix import FeatureMatrix
from visterm.collection.store.versions import Version
from visterm.index import Index


@dataclass(frozen=True, eq=False)
class OffsetColumns:
    """The columns of some words: vectors are multiplied (`multiplied`), and products moved through
    the words' links (`added`)."""

    words: NDArray[np.int64]
    directions: NDArray[np.float64]
    version: Version
    link: Link | None
    """Of all words; None for a version whose index holds a model's values as they are."""
    weights: NDArray[np.float32] | None
    """The model's own, where the index keeps none of the values that follow from them."""

    @property
    def known_words(self) -> NDArray[np.int64]:
        """Those of the words that the model knows."""
        return self.words[self.words < self.version.words]

    def multiplied(self) -> NDArray[np.float32]:
        """What vectors are multiplied by: directions of words, and weights of those of the model
        whose values nobody keeps."""
        narrow = self.directions.astype(np.float32)
        if self.weights is None:
            return narrow
        return np.concatenate([narrow, self.weights[self.known_words]])

    def added(
        self, found: NDArray[np.float32], kept: NDArray[np.float32] | None
    ) -> NDArray[np.float32]:
        """What clicks add to the columns of some pictures, words × pictures, from products with
        `multiplied`.

        ``kept`` are the columns of words that the model knows; one that a yes began has no other
        column, so what is added is all there is of it.
        """
        count = len(self.words)
        moves = found[:count] - self._shift[:, None]
        if self.link is None:
            return moves
        link, known = self.link, self.words < self.version.words
        before: NDArray[np.floating]
        if self.weights is not None:
            before = link.odds(self.known_words, found[count:].T).astype(np.float32)
        else:
            assert kept is not None
            before = log_odds(kept.T)
        added = np.empty_like(moves)
        added[known] = link.offsets(self.known_words, before, moves[known].T).T
        if not known.all():
            odds = link.odds(self.words[~known], moves[~known].T)
            added[~known] = log_logistic(odds).T
        return added

    def fill(
        self,
        everything: FeatureMatrix,
        index: Index,
        columns: NDArray[np.float32],
        numbers: Sequence[int],
    ) -> None:
        """Fill in columns of an index, those of these numbers, in one pass over all vectors.

        After the places of the index's pictures they have one for vectors of all others.
        """
        places = everything.places_in(index)
        kept: NDArray[np.float32] | None = None
        if self.weights is None:
            kept = index.columns(self.known_words)
            kept = np.concatenate([kept, np.zeros((len(kept), 1), np.float32)], axis=1)

        def use(rows: slice, found: NDArray[np.float32]) -> None:
            here = places[rows]
            added = self.added(found, None if kept is None else kept[:, here])
            for number, values in zip(numbers, added, strict=True):
                columns[number, here] = values

        everything.multiply(self.multiplied(), use)

    @cached_property
    def _shift(self) -> NDArray[np.float32]:
        """What directions add to a picture like any other: it is taken off, so that clicks change
        who is above whom but not what a score is worth."""
        mean = self.version.mean(self.directions.shape[1])
        return (self.directions @ mean).astype(np.float32)

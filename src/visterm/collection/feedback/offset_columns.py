"""What directions of words add to the columns of an index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.link import Link, log_logistic, log_odds
from visterm.collection.feedback.feature_matrix import side_by_side
from visterm.collection.store.versions import Version

_TOGETHER = 1 << 14
"""Pictures whose log-probabilities are moved together."""


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
        """What clicks add to the columns, from products with `multiplied`.

        ``kept`` are the columns of words that the model knows; one that a yes began has no other
        column, so what is added is all there is of it.
        """
        count = len(self.words)
        moves = found[:, :count] - self._shift()
        if self.link is None:
            return moves
        link, known = self.link, self.words < self.version.words
        new = self.words[~known]
        added = np.empty_like(moves)
        odds = link.intercepts[new], link.slopes[new]

        def run(some: slice) -> None:
            before: NDArray[np.floating]
            if self.weights is not None:
                before = link.odds(self.known_words, found[some, count:]).astype(np.float32)
            else:
                assert kept is not None
                before = log_odds(kept[some])
            added[some, known] = link.offsets(self.known_words, before, moves[some, known])
            added[some, ~known] = log_logistic(odds[0] + odds[1] * moves[some, ~known])

        firsts = range(0, len(moves), _TOGETHER)
        side_by_side(run, [slice(first, first + _TOGETHER) for first in firsts])
        return added

    def _shift(self) -> NDArray[np.float32]:
        """What directions add to a picture like any other: it is taken off, so that clicks change
        who is above whom but not what a score is worth."""
        mean = self.version.mean(self.directions.shape[1])
        return (self.directions @ mean).astype(np.float32)

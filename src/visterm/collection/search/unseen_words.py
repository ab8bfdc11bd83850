"""Words that no model has met, where pictures are described by a dual encoder: rows on the fly.

The encoder's text side gives any word a row in the space of the pictures' vectors, so one reading
of the vectors says how near each picture is. Such columns are kept in memory, a few of them, beside
the versioned index and never in it: readers write nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike, NDArray

from visterm.calibration.calibration import Calibration
from visterm.calibration.link import Floats, log_logistic
from visterm.collection.store.active_model import ActiveModel
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.versions import ENCODED
from visterm.index import Index
from visterm.index.score import best, scores

FREQUENCY = 0.02
"""How many pictures in one show a word of which nothing is known."""
SEPARATION = 1.5
"""How many deviations pictures that show a word lie above others, as for any unmeasured word."""


def knows_any_word(active: ActiveModel) -> bool:
    """Whether pictures are described by an encoder, whose texts can be any."""
    return active.version.extractor.startswith(ENCODED)


def with_unseen(catalogue: Catalogue, active: ActiveModel, words: Sequence[str]) -> SightIndex:
    """The index, and after its columns one of log-probabilities for each of these words."""
    version = active.index.version
    known = {word: active.unseen.get((version, word)) for word in words}
    found = {word: column for word, column in known.items() if column is not None}
    if new := [word for word in known if word not in found]:
        for word, column in zip(new, _columns(catalogue, active, new).T, strict=True):
            found[word] = np.ascontiguousarray(column)
            active.unseen.keep((version, word), found[word])
    return SightIndex(active.index, [found[word] for word in words])


def _columns(
    catalogue: Catalogue, active: ActiveModel, words: Sequence[str]
) -> NDArray[np.float32]:
    """Log-probabilities of words for all pictures, by how far each lies above the others."""
    from visterm.collection.feedback.feature_matrix import feature_matrix
    from visterm.encoders import open_encoder
    from visterm.features.encoder_vectors import encoder_of
    from visterm.starter.encoder_starter import LEAST_SPREAD, usual_values

    key = active.version.extractor
    encoder = encoder_of(key)
    assert encoder is not None
    rows = open_encoder(encoder[0], digest=encoder[1]).word_rows(words)
    values = feature_matrix(catalogue, key).products(rows, active.index.ids())
    if not len(values):
        return values
    means, deviations = usual_values(values)
    slopes = SEPARATION / np.maximum(deviations, LEAST_SPREAD)
    intercepts = np.log(FREQUENCY) - 0.5 * SEPARATION**2 - slopes * means
    odds = values * slopes.astype(np.float32) + intercepts.astype(np.float32)
    return log_logistic(odds).astype(np.float32, copy=False)


@dataclass(frozen=True, eq=False)
class SightIndex:
    """What pictures show: an index, and columns after those of its words."""

    index: Index
    columns: Sequence[NDArray[np.float32]]

    @property
    def words(self) -> int:
        return self.index.words + len(self.columns)

    def ids(self) -> NDArray[np.int64]:
        return self.index.ids()

    def holds(self, ids: ArrayLike) -> NDArray[np.bool_]:
        return self.index.holds(ids)

    def values(self, words: ArrayLike, ids: ArrayLike) -> NDArray[np.float32]:
        """As `Index.values`."""
        return self._with_columns(words, ids, self.index.values)

    def bounds(
        self, words: ArrayLike, ids: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """As `Index.bounds`."""
        lows, highs = (
            self._with_columns(words, ids, lambda *asked, n=n: self.index.bounds(*asked)[n])
            for n in (0, 1)
        )
        return lows, highs

    def _with_columns(
        self,
        words: ArrayLike,
        ids: ArrayLike,
        of_index: Callable[..., NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        chosen, pictures = np.asarray(words, np.int64), np.asarray(ids, np.int64)
        own = chosen < self.index.words
        found = np.empty((pictures.size, chosen.size), np.float32)
        found[:, own] = of_index(chosen[own], pictures)
        if not own.all():
            at = np.searchsorted(self.ids(), pictures)
            for place in np.flatnonzero(~own).tolist():
                found[:, place] = self.columns[int(chosen[place]) - self.index.words][at]
        return found

    def search(
        self,
        query: tuple[NDArray[np.int64], NDArray[np.float32]],
        k: int,
        *,
        allow: npt.NDArray | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """As `Index.search`; with columns of its own every picture is scored."""
        if self._knows(query):
            return self.index.search(query, k, allow=allow)
        return best(*self._scored(query, allow), k)

    def count(
        self,
        query: tuple[NDArray[np.int64], NDArray[np.float32]],
        least: float,
        *,
        allow: npt.NDArray | None = None,
    ) -> int:
        """As `Index.count`."""
        if self._knows(query):
            return self.index.count(query, least, allow=allow)
        return self.candidates(query, least, allow=allow).size

    def candidates(
        self,
        query: tuple[NDArray[np.int64], NDArray[np.float32]],
        least: float,
        *,
        allow: npt.NDArray | None = None,
    ) -> NDArray[np.int64]:
        """As `Index.candidates`."""
        if self._knows(query):
            return self.index.candidates(query, least, allow=allow)
        ids, found = self._scored(query, allow)
        return ids[found >= np.float64(least)]

    def _knows(self, query: tuple[NDArray[np.int64], NDArray[np.float32]]) -> bool:
        """Whether the index can answer without the columns after its own."""
        return not (query[0] >= self.index.words).any()

    def _scored(
        self,
        query: tuple[NDArray[np.int64], NDArray[np.float32]],
        allow: npt.NDArray | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        words, weights = query
        ids = self.ids()
        kept: slice | NDArray[np.int64] = slice(None)
        if allow is not None:
            kept = np.flatnonzero(allow[ids] if allow.dtype == bool else np.isin(ids, allow))
        ids = ids[kept]
        first = self.index.words
        columns = (
            self.columns[word - first][kept]
            if word >= first
            else self.index.values([word], ids)[:, 0]
            for word in words.tolist()
        )
        return ids, scores(weights, columns, ids.size)


@dataclass(frozen=True)
class UnseenCalibration:
    """A calibration for queries whose last words no model has met."""

    known: Calibration
    unseen: int

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        return self.known.probabilities(self._numbers(words), weights, scores)

    def cutoff(self, words: ArrayLike, weights: ArrayLike, best: float) -> float:
        return self.known.cutoff(self._numbers(words), weights, best)

    def odds(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        return self.known.odds(self._numbers(words), weights, scores)

    def shifted(self, shift: float) -> UnseenCalibration:
        return replace(self, known=self.known.shifted(shift))

    def _numbers(self, words: ArrayLike) -> NDArray[np.int64]:
        count = len(self.known.log_frequency)
        return np.append(np.asarray(words, np.int64), np.arange(count - self.unseen, count))


def calibrated(known: Calibration, unseen: int) -> UnseenCalibration:
    """The calibration with so many more words, as usual as `FREQUENCY` says."""
    more = known.with_more_words(unseen)
    more.log_frequency[len(more.log_frequency) - unseen :] = np.log(FREQUENCY)
    return UnseenCalibration(more, unseen)

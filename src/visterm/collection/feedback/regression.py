"""The clicks on some words, gathered from the log and fitted together (`ClickSet`), with the
vectors of their pictures around the mean of all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.calibration import Link, log_logistic
from visterm.collection.store.events import Judgement
from visterm.collection.store.feature_rows import DescribedPictures, FrameRows
from visterm.collection.store.word_model import WordModel
from visterm.text.query import QueryVector

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from visterm.models.feedback import ClickSet, Metric

Floats = NDArray[np.float64]
Directions = Mapping[int, Floats]
Click = tuple[QueryVector, Judgement]


@dataclass(frozen=True, eq=False)
class CentredVectors:
    """Vectors x − m, compared in a metric.

    The mean is taken off products, not off vectors: of the blocks in a picture's vector most are
    nought, and what is nought is not multiplied.
    """

    rows: Floats | csr_array
    mean: Floats
    metric: Metric | None

    def __matmul__(self, direction: Floats) -> Floats:
        """Their products with a direction."""
        products: Floats = self.rows @ direction - self.mean @ direction
        return products

    def products(self) -> Floats:
        """Those of each two, in the metric."""
        with_mean = self.rows @ self.mean
        raw = self.rows @ self.rows.T
        dense = raw if isinstance(raw, np.ndarray) else raw.toarray()
        products: Floats = dense - with_mean[:, None] - with_mean + self.mean @ self.mean
        if self.metric is not None:
            whitened = self.rows @ self.metric.rows.T - self.metric.rows @ self.mean
            products -= whitened @ whitened.T
        return products

    def combined(self, coefficients: Floats) -> Floats:
        """Sums of them in the metric, one for each column of coefficients."""
        sums: Floats = (self.rows.T @ coefficients).T
        sums = sums - np.outer(coefficients.sum(axis=0), self.mean)
        return sums if self.metric is None else self.metric.applied(sums)


def centred(
    vectors: Sequence[NDArray[np.float32]], mean: Floats, metric: Metric | None
) -> CentredVectors:
    """Some vectors as they are stored; they are taken to be sparse where there is no metric, since
    training learns one from all others."""
    rows: Floats | csr_array
    if metric is not None:
        rows = np.array(vectors, np.float64)
    else:
        from scipy.sparse import csr_array

        places = [np.flatnonzero(vector != 0) for vector in vectors]
        pairs = zip(vectors, places, strict=True)
        values = np.concatenate([vector[some] for vector, some in pairs]).astype(np.float64)
        ends = np.cumsum([0, *map(len, places)])
        rows = csr_array((values, np.concatenate(places), ends), shape=(len(vectors), len(mean)))
    return CentredVectors(rows, mean, metric)


@dataclass(frozen=True, eq=False)
class GatheredClicks:
    """Clicks on some words, their pictures met: what is the same however much each counts."""

    words: Sequence[int]
    entries: NDArray[np.int64]
    clicked: ClickSet
    vectors: CentredVectors
    factor: float
    link: Link
    initial: Directions

    def directions(self, entry: int | None = None, step: float = 1.0) -> dict[int, Floats]:
        """What clicks add to the directions of the words, all of it.

        One ``entry`` may be given another ``step`` than it has. The same clicks give the same bits,
        however many threads there are.
        """
        from visterm.threads import one_thread

        weights = np.where(self.entries == entry, step, self.clicked.weights)
        with one_thread():
            coefficients = replace(self.clicked, weights=weights).fitted()
            added = self.vectors.combined(coefficients) * self.factor
        return {
            word: self.initial.get(word, 0.0) + move / self.link.slopes[word]
            for word, move in zip(self.words, added, strict=True)
        }


@dataclass
class ClickRegression:
    """What fits clicks to one version; it remembers the vectors it has met."""

    model: WordModel
    pictures: DescribedPictures | None
    frames: FrameRows
    _vectors: dict[int, NDArray[np.float32] | None] = field(default_factory=dict)

    def finds(self, pictures: Iterable[int]) -> list[bool]:
        """Whether each of some pictures can be found, with a vector."""
        wanted = list(pictures)
        self._read(wanted)
        return [self._vectors[one] is not None for one in wanted]

    def gathered(
        self,
        words: Sequence[int],
        clicks: Sequence[Click],
        now: Directions,
        link: Link,
        initial: Directions | None = None,
    ) -> GatheredClicks | None:
        """Clicks on some words, ready to be fitted; None where none counts.

        Directions of other words stay as they are ``now``; those of ``initial`` words are fitted
        around where these begin.
        """
        from visterm.models.feedback import LATEST, VARIANCE
        from visterm.threads import one_thread

        some = self._about(words, clicks)[-LATEST:]
        if not some:
            return None
        first = initial or {}
        known = (self._vectors[entry.picture] for _, entry in some)
        stored = [one for one in known if one is not None]
        reference = self.model.reference
        vectors = centred(stored, reference.mean, reference.metric)
        with one_thread():
            products = vectors.products()
            scale = reference.square or products.diagonal().mean() or 1.0
            clicked = self._click_set(words, some, vectors, products / scale, now, link)
            for place, word in enumerate(words):
                if word in first:
                    clicked.prior[:, place] += link.slopes[word] * (vectors @ first[word])
        numbers = np.array([entry.id for _, entry in some])
        return GatheredClicks(words, numbers, clicked, vectors, VARIANCE / scale, link, first)

    def _click_set(
        self,
        words: Sequence[int],
        some: Sequence[Click],
        vectors: CentredVectors,
        products: Floats,
        now: Directions,
        link: Link,
    ) -> ClickSet:
        """Clicks as they are fitted, each word of ``words`` a column."""
        from visterm.models.feedback import ClickSet

        every = sorted({*words, *(word for query, _ in some for word in query.numbers.tolist())})
        column = {word: place for place, word in enumerate(every)}
        shares = np.zeros((len(some), len(every)))
        for row, (query, _) in enumerate(some):
            places = [column[word] for word in query.numbers.tolist()]
            shares[row, places] = np.clip(query.weights, -1, 1)
        prior = self._prior(every, [entry.picture for _, entry in some], link)
        odds = prior.copy()
        for word in set(every) & set(now):
            odds[:, column[word]] += link.slopes[word] * (vectors @ now[word])
        asked = [column[word] for word in words]
        rest = np.abs(shares) * log_logistic(np.sign(shares) * odds)
        rest[:, asked] = 0.0
        return ClickSet(
            relevant=np.array([entry.relevant for _, entry in some]),
            weights=np.array([entry.weight for _, entry in some]),
            errors=self._errors([query for query, _ in some]),
            shares=shares[:, asked],
            prior=prior[:, asked],
            rest=rest.sum(axis=1),
            products=products,
        )

    def _about(self, words: Sequence[int], clicks: Sequence[Click]) -> list[Click]:
        """Clicks that count, on queries with any of the words, whose pictures can be found."""
        asked = set(words)
        some = [
            (query, entry)
            for query, entry in clicks
            if entry.weight > 0 and not asked.isdisjoint(query.numbers.tolist())
        ]
        if self.frames:
            some = [(query, self._shown(query, entry, self.frames)) for query, entry in some]
        is_here = self.finds(entry.picture for _, entry in some)
        return [one for one, is_found in zip(some, is_here, strict=True) if is_found]

    def _shown(self, query: QueryVector, entry: Judgement, frames: FrameRows) -> Judgement:
        """The entry, if it is about a video about its frame that answers best: it was shown."""
        rows = frames.rows(np.array([entry.picture]))
        rows = rows[self.finds(rows.tolist())]
        numbers = query.numbers[query.numbers < self.model.words]
        if rows.size < 2 or not numbers.size:
            return entry
        logs = log_logistic(self._odds(numbers, rows.tolist(), self.model.link))
        values = logs @ query.weights[query.numbers < self.model.words]
        return replace(entry, picture=int(rows[values.argmax()]))

    def _errors(self, queries: Sequence[QueryVector]) -> Floats:
        """How likely clicks are wrong: whoever begins a word knows better than anybody."""
        from visterm.models.feedback import ERROR

        begun = [bool((query.numbers >= self.model.words).any()) for query in queries]
        return np.where(begun, 0.0, ERROR)

    def _prior(self, words: Sequence[int], pictures: Sequence[int], link: Link) -> Floats:
        """Log odds of words for pictures, as the model sees them."""
        numbers = np.array(words)
        known = numbers < self.model.words
        odds = np.tile(link.intercepts[numbers], (len(pictures), 1))
        odds[:, known] = self._odds(numbers[known], pictures, link)
        return odds

    def _odds(self, words: NDArray[np.int64], pictures: Sequence[int], link: Link) -> Floats:
        """Log odds of the model's own words for pictures that were met."""
        vectors = [self._vectors[picture] for picture in pictures]
        rows = np.stack([vector for vector in vectors if vector is not None])
        return link.odds(words, self.model.values(rows, words))

    def _read(self, pictures: Sequence[int]) -> None:
        """Meet pictures: read their vectors."""
        new = [one for one in dict.fromkeys(pictures) if one not in self._vectors]
        if not new or self.pictures is None:
            self._vectors |= dict.fromkeys(new)
            return
        positions, is_here = self.pictures.located(np.array(new, np.int64))
        vectors = iter(self.pictures.file.dense(positions))
        for picture, here in zip(new, is_here.tolist(), strict=True):
            self._vectors[picture] = next(vectors) if here else None


def needed_fits(queries: Sequence[frozenset[int]]) -> set[int]:
    """The entries of a log that must be fitted for the last directions of all words.

    ``queries`` are the words of each entry, none where it fits nothing. Its fit depends on the
    directions that other words have by then, of earlier queries with any of its words.

    >>> sorted(needed_fits([frozenset(some) for some in ({1}, {1}, {2, 3}, {2}, {1})]))
    [2, 3, 4]
    """
    fits: dict[int, list[int]] = {}
    for place, words in enumerate(queries):
        for word in words:
            fits.setdefault(word, []).append(place)
    needed: set[int] = set()
    waiting = {places[-1] for places in fits.values()}
    while waiting:
        place = waiting.pop()
        needed.add(place)
        words = queries[place]
        shared = (some for some in queries[:place] if not words.isdisjoint(some))
        for word in frozenset().union(*shared) - words:
            before = bisect_left(fits[word], place)
            if before and fits[word][before - 1] not in needed:
                waiting.add(fits[word][before - 1])
    return needed

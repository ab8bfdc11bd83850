"""What a score is worth: the chance that a picture answers a query, and where good matches end.

A score says which of two pictures answers better, not whether either does: scores of frequent and
rare words, of one word and of four, live on different scales. So a score is first measured in the
spreads of its query's words, ``z = (s − Σ q_t μ_t) / √(Σ q_t² σ_t²)``, with μ_t and σ_t the mean
and spread of a word's values over pictures at large; then a logistic function of z, whose place and
slope depend on how rare the words are, how many there are and how well each is told apart, makes
it a probability. Nothing in it depends on which other pictures are looked at.

A match is good when its chance is at least a certain part of the best one's in the collection, but
never below a certain level, nor about what any picture has that is drawn blindly; and a chance that
is high for the query's words is good whatever the best one is. The part and the level are those
with the best F1 on validation queries, one in ten of which finds nothing there.

J. Platt, Probabilistic outputs for support vector machines, 1999, is the idea for one classifier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from visterm.text import Relevance

Floats = NDArray[np.float64]

_LEAST_SLOPE = 0.05
"""A higher score is never less likely to answer."""
_RIDGE = 1.0
_FEW = 5.0
"""A word's own separation counts for as much as the common one once so many pictures show it."""
_PAIRS = 400_000
_PARTS = np.arange(0.2, 0.75, 0.05)
_LEVELS = np.geomspace(0.01, 0.3, 15)
_ENOUGH = 0.3
_TIMES = 3.0
"""The best chance counts as no more than `_ENOUGH`, or so many times what the words have anyway."""
_MORE = 1.5
"""A good match is so many times likelier to answer than any picture."""
_SURE = 0.5
"""What is likelier than not is a good match."""
_IN_VAIN = 0.1
"""How many queries ask for what is not there: what people ask for is not known, this is a guess."""


_ARRAYS = ("means", "spreads", "rarity", "separation", "place", "slope")


class Scale(NamedTuple):
    """One query's way from a score to the logarithm of the odds: ``place + slope · score``."""

    place: float
    slope: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """Chances for the scores of one model.

    Attributes
    ----------
    means, spreads : arrays of shape (T,)
        Of each word's values over pictures at large.
    rarity : array of shape (T,)
        Logarithm of the part of captions that hold the word.
    separation : array of shape (T,)
        How many spreads pictures with the word lie above pictures at large.
    place, slope : arrays of shape (5,)
        What a query's description contributes to the odds, and to how fast they grow with z.
    level : float
        The chance below which no match is good.
    part : float
        The part of the best one's chance that a good match must reach.
    taught : array of bool of shape (T,), optional
        Which words validation pictures said something about.
    elsewhere : Calibration, optional
        What to go by for a query with other words than these: they may be rarer than any that was
        looked at, and told apart far worse.

    Examples
    --------
    >>> told = Calibration(
    ...     np.zeros(2), np.ones(2), np.log([0.5, 0.1]), np.full(2, 2.0),
    ...     np.array([-2.0, 0, 0, 0, 0]), np.array([2.0, 0, 0, 0, 0]), 0.02, 0.4,
    ... )
    >>> told.chances([0], [1.0], [1.0, 3.0]).round(2).tolist()
    [0.5, 0.98]
    >>> round(told.least([0], [1.0], best=3.0), 2)
    1.0
    """

    means: Floats
    spreads: Floats
    rarity: Floats
    separation: Floats
    place: Floats
    slope: Floats
    level: float
    part: float
    taught: NDArray[np.bool_] | None = None
    elsewhere: Calibration | None = None

    def chances(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        """The probability that each of the pictures with these scores answers the query."""
        scale = self.scale(words, weights)
        return _logistic(scale.place + scale.slope * np.asarray(scores, np.float64))

    def least(self, words: ArrayLike, weights: ArrayLike, best: float) -> float:
        """The score from which a match is good, where ``best`` is the highest in the collection."""
        told = self._told(words)
        scale = told.scale(words, weights)
        highest = _logistic(np.array([scale.place + scale.slope * best]))
        usual = np.exp(told._about(np.asarray(words, np.int64), np.asarray(weights, float))[1])
        least = float(line(highest, usual, told.part, told.level)[0])
        return (float(np.log(least / (1 - least))) - scale.place) / scale.slope

    def of_words(self, values: ArrayLike) -> Floats:
        """The probability that a picture shows each word, from its row in the text space.

        Rows of many pictures give as many rows.

        >>> told = Calibration(
        ...     np.zeros(2), np.ones(2), np.log([0.5, 0.1]), np.full(2, 2.0),
        ...     np.array([0.0, 1, 0, 0, 0]), np.array([2.0, 0, 0, 0, 0]), 0.02, 0.4,
        ... )
        >>> told.of_words([1.0, 1.0]).round(2).tolist()
        [0.79, 0.42]
        """
        row = np.asarray(values, np.float64)
        scales = [self.scale([word], [1.0]) for word in range(row.shape[-1])]
        place, slope = np.array(scales).reshape(-1, 2).T
        return _logistic(place + slope * row)

    def scale(self, words: ArrayLike, weights: ArrayLike) -> Scale:
        """How scores of one query become odds."""
        if (told := self._told(words)) is not self:
            return told.scale(words, weights)
        chosen = np.asarray(words, np.int64)
        q = np.asarray(weights, np.float64)
        about = self._about(chosen, q)
        slope = max(float(about @ self.slope), _LEAST_SLOPE)
        mean = float(q @ self.means[chosen])
        spread = float(np.sqrt(np.square(q) @ np.square(self.spreads[chosen]))) or 1.0
        return Scale(float(about @ self.place) - slope * mean / spread, slope / spread)

    def with_values(self, means: Floats, spreads: Floats) -> Calibration:
        """The same for another model's values, as for the model that learnt from all captions."""
        return replace(self, means=means, spreads=spreads)

    def with_others(self, taught: NDArray[np.bool_], elsewhere: Calibration) -> Calibration:
        """The same, but for queries with words that were not ``taught``."""
        return replace(self, taught=taught, elsewhere=elsewhere)

    def to_json(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        stored = arrays | {"level": self.level, "part": self.part}
        if self.taught is not None and self.elsewhere is not None:
            stored["taught"] = np.flatnonzero(self.taught).tolist()
            stored["elsewhere"] = self.elsewhere.to_json()
        return stored

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Calibration:
        means, spreads, rarity, separation, place, slope = (
            np.asarray(stored[name], float) for name in _ARRAYS
        )
        level, part = float(stored["level"]), float(stored["part"])
        told = cls(means, spreads, rarity, separation, place, slope, level, part)
        if "elsewhere" not in stored:
            return told
        taught = np.zeros(len(means), dtype=bool)
        taught[np.asarray(stored["taught"], np.int64)] = True
        return told.with_others(taught, cls.from_json(stored["elsewhere"]))

    def _told(self, words: ArrayLike) -> Calibration:
        """Which of the two knows about all of these words."""
        if self.elsewhere is None or self.taught is None:
            return self
        return self if self.taught[np.asarray(words, np.int64)].all() else self.elsewhere

    def _about(self, words: NDArray[np.int64], q: Floats) -> Floats:
        return _about(words, q, self.rarity, self.separation)


def values_at_large(rows: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Mean and spread of each word's values over pictures × words.

    >>> [found.tolist() for found in values_at_large(np.array([[0.0, 5.0], [2.0, 5.0]]))]
    [[1.0, 5.0], [1.0, 1.0]]
    """
    spreads = rows.std(axis=0, dtype=np.float64)
    return rows.mean(axis=0, dtype=np.float64), np.where(spreads > 0, spreads, 1.0)


def calibrate(
    rows: NDArray[np.floating], relevance: Relevance, frequency: ArrayLike, *, seed: int = 0
) -> Calibration:
    """Learn chances from pictures that the model did not learn from.

    Parameters
    ----------
    rows : array of shape (n, T)
        The validation pictures in the text space.
    relevance : Relevance
        Queries, and which of these pictures answer them.
    frequency : array of shape (T,)
        The part of captions that hold each word.
    """
    means, spreads = values_at_large(rows)
    rarity = np.log(np.clip(np.asarray(frequency, float), 1e-6, 1.0))
    separation = _separation(rows, relevance, means, spreads)
    queries = relevance.queries.tocsr()
    asked = [
        (queries.indices[first:stop].astype(np.int64), queries.data[first:stop].astype(float))
        for first, stop in zip(queries.indptr[:-1], queries.indptr[1:], strict=True)
    ]
    about = np.array([_about(words, q, rarity, separation) for words, q in asked])
    plain = Calibration(means, spreads, rarity, separation, _first(0.0), _first(1.0), 0.5, 0.5)
    scales = np.array([plain.scale(words, q) for words, q in asked])
    z = scales[:, :1] + scales[:, 1:] * np.asarray(queries @ rows.T, np.float64)
    answers = relevance.pictures.toarray() > 0
    chosen = _chosen(answers, np.random.default_rng(seed))
    place, slope = _fit(about, z, answers, chosen)
    steep = np.maximum(about @ slope, _LEAST_SLOPE)[:, None]
    chances = _logistic((about @ place)[:, None] + steep * z)
    part, level = _best_line(chances, np.exp(about[:, 1]), answers)
    return Calibration(means, spreads, rarity, separation, place, slope, level, part)


def line(highest: ArrayLike, usual: ArrayLike, part: float, level: float) -> Floats:
    """The chance from which a match is good, for the best chances of some queries.

    ``usual`` is how many pictures in one have all words of the query, as far as their number says.

    >>> line([0.9, 0.1, 0.01, 0.8], [0.01, 0.01, 0.01, 0.3], 0.5, 0.02).round(2).tolist()
    [0.15, 0.05, 0.02, 0.45]
    """
    blindly = np.asarray(usual, float)
    wanted = part * np.minimum(highest, np.maximum(_ENOUGH, _TIMES * blindly))
    return np.minimum(np.maximum(np.maximum(level, _MORE * blindly), wanted), _SURE)


def _best_line(chances: Floats, usual: Floats, answers: NDArray[np.bool_]) -> tuple[float, float]:
    """The part and the level with the best F1, when some queries find nothing there to find."""
    emptied = np.where(answers, 0.0, chances)
    best, found = -1.0, (0.5, 0.05)
    for part in _PARTS:
        for level in _LEVELS:
            shown = chances >= line(chances.max(axis=1), usual, part, level)[:, None]
            in_vain = float((emptied.max(axis=1) < level).mean())
            worth = (1 - _IN_VAIN) * mean_f1(shown, answers) + _IN_VAIN * in_vain
            if worth > best:
                best, found = worth, (float(part), float(level))
    return found


def mean_f1(shown: NDArray[np.bool_], answers: NDArray[np.bool_]) -> float:
    """F1 of what is shown (queries × pictures), averaged over queries.

    >>> mean_f1(np.array([[True, True], [False, False]]), np.array([[True, False], [True, True]]))
    0.3333333333333333
    """
    hits = (shown & answers).sum(axis=1)
    both = shown.sum(axis=1) + answers.sum(axis=1)
    return float(np.mean(2 * hits / np.maximum(both, 1)))


def _about(words: NDArray[np.int64], q: Floats, rarity: Floats, separation: Floats) -> Floats:
    """A query's description: one, rarity of the words wanted, how many, how well told apart."""
    wanted = words[q > 0]
    apart = float(np.square(q) @ separation[words]) / (float(q @ q) or 1.0)
    return np.array([1.0, float(rarity[wanted].sum()), len(wanted) - 1.0, apart, apart * apart])


def _separation(
    rows: NDArray[np.floating], relevance: Relevance, means: Floats, spreads: Floats
) -> Floats:
    """How far above the mean the pictures of each word lie, drawn to what is usual where few."""
    single = np.flatnonzero(np.diff(relevance.queries.indptr) == 1)
    words = relevance.queries.indices[relevance.queries.indptr[single]]
    held = relevance.pictures[single]
    counts = np.zeros(len(means))
    sums = np.zeros(len(means))
    answers = (held > 0).astype(np.float64)
    z = (rows[:, words] - means[words]) / spreads[words]
    counts[words] = np.asarray(answers.sum(axis=1)).ravel()
    sums[words] = np.einsum("wp,pw->w", answers.toarray(), z)
    usual = sums.sum() / max(counts.sum(), 1.0)
    return (sums + _FEW * usual) / (counts + _FEW)


def _chosen(answers: NDArray[np.bool_], random: np.random.Generator) -> tuple[Floats, Any]:
    """Pairs of query and picture to learn from, with weights: all answers, some of the others."""
    others = np.flatnonzero(~answers)
    count = min(len(others), _PAIRS)
    some = random.choice(others, count, replace=False) if count < len(others) else others
    hits = np.flatnonzero(answers)
    weight = np.concatenate([np.ones(len(hits)), np.full(count, len(others) / max(count, 1))])
    return weight, np.concatenate([hits, some])


def _fit(
    about: Floats, z: Floats, answers: NDArray[np.bool_], chosen: tuple[Floats, Any]
) -> tuple[Floats, Floats]:
    """Logistic regression on the description and on the description times z, by Newton's steps."""
    weight, pairs = chosen
    query = pairs // z.shape[1]
    seen, height = about[query], z.ravel()[pairs][:, None]
    features = np.concatenate([seen, seen * height], axis=1)
    size = np.abs(features).max(axis=0)
    features = features / np.where(size > 0, size, 1.0)
    target = answers.ravel()[pairs].astype(float)
    # With few pictures to learn from, stay near what two Gaussians of one spread would give:
    # log odds = rarity + z·apart − apart²/2.
    usual = np.array([0, 1, 0, 0, -0.5, 0, 0, 0, 1, 0.0]) * np.where(size > 0, size, 1.0)
    found = usual.copy()
    for _ in range(30):
        chance = _logistic(features @ found)
        slope = features.T @ (weight * (target - chance)) - _RIDGE * (found - usual)
        bend = (features * (weight * chance * (1 - chance))[:, None]).T @ features
        step = np.linalg.solve(bend + _RIDGE * np.eye(len(found)), slope)
        found = found + step * min(1.0, 5.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-8:
            break
    found = found / np.where(size > 0, size, 1.0)
    return found[: about.shape[1]], found[about.shape[1] :]


def _first(value: float) -> Floats:
    return np.array([value, 0.0, 0.0, 0.0, 0.0])


def _logistic(odds: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(0.5 * odds))

"""Scores of labels for pictures, in three ways, and which labels to give.

Neighbours are the nearest pictures in the space of CCA where pictures with like labels meet;
balanced (Y. Verma and C. V. Jawahar, ECCV 2012), the few nearest pictures of every label, so that
rare labels are among them as often as frequent ones. Each way also scores the training pictures as
if they were not known: neighbours by five folds, kernel ridge without their own labels, where with
``ŷ(p) = Yᵀ (K + λI)⁻¹ k(p)`` and ``α = (K + λI)⁻¹ Y`` training picture i would be estimated at
``y_i − α_i / (K + λI)⁻¹_ii`` (G. Cawley and N. Talbot, Neural Networks 2004). Scores are
standardised, label by label, by those.

Labels are given so that F1 of mean precision and mean recall is best. Means over labels count rare
labels as much as frequent ones. Where m pictures are annotated, let ``g`` of them have a label and
``n`` be given it, a share ``P`` rightly, as far as can be expected. One more picture, which has it
with probability p, then adds ``p s(g)`` to the recall of the label and ``p s(n) − P (s(n) − e⁻ⁿ)``
to its precision, where ``s(x) = (1 − e⁻ˣ) / x`` is the mean of ``1 / (1 + k)`` over Poisson's k,
about 1 / x for many pictures and 1 for none. F1 owes a part to each. So a label is worth ``a p −
b``; a and b depend on what is given, and are found by rounds, on training pictures whose labels
were estimated from others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import spotri
from scipy.special import expit, logit

from visterm.kernels import RBF
from visterm.models import Cca

Rows = NDArray[np.float32]
Labels = NDArray[np.float64]
"""A number for each label."""

_SHRINKAGE = 30.0
_CALIBRATING, _VALUING = 12, 30  # rounds


class LabelChoice(NamedTuple):
    """``a σ(slope·score + offset) − b`` of each label."""

    slope: Labels
    offset: Labels
    gain: Labels
    cost: Labels

    def probabilities(self, scores: Rows) -> Rows:
        return np.asarray(expit(scores * self.slope + self.offset), np.float32)

    def values(self, scores: Rows) -> Rows:
        """The largest are to be given."""
        return np.asarray(self.probabilities(scores) * self.gain - self.cost, np.float32)


def learn_choice(
    scores: Rows, labels: Rows, *, words: int = 5, among: int | None = None
) -> LabelChoice:
    """From scores of pictures, estimated without their own labels, and those labels as 0 and 1.

    ``words`` labels will be given to each of ``among`` pictures; as many as these by default.

    >>> scores = np.float32([[2, 0, 0], [2, 1, 0], [2, 0, 1], [2, 0, 0]])
    >>> labels = np.float32([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]])
    >>> learn_choice(scores, labels, words=1).values(scores).argmax(axis=1).tolist()
    [0, 1, 2, 0]
    """
    slope, offset = _calibrated(scores, labels)
    probabilities = np.asarray(expit(scores * slope + offset), np.float32)
    return LabelChoice(slope, offset, *_valued(probabilities, labels, words, among or len(labels)))


def _calibrated(scores: Rows, labels: Rows) -> tuple[Labels, Labels]:
    """Platt's slope and offset of each label, drawn towards what suits all labels best.

    Rare labels have too few pictures for two numbers of their own. Common are a slope, an offset
    and how much the share of pictures that have the label counts.
    """
    count = len(scores)
    prior = logit((labels.sum(axis=0, dtype=np.float64) + 0.5) / (count + 1))
    shared = np.array([1.0, 0.0, 1.0])
    for _ in range(_CALIBRATING):
        slope, offset = np.full(len(prior), shared[0]), shared[1] + shared[2] * prior
        (r, rz), (w, wz, wzz) = _moments(scores, labels, slope, offset)
        gradient = np.array([rz.sum(), r.sum(), prior @ r])
        curvature = np.array(
            [
                [wzz.sum(), wz.sum(), prior @ wz],
                [wz.sum(), w.sum(), prior @ w],
                [prior @ wz, prior @ w, prior**2 @ w],
            ]
        )
        curvature += 1e-6 * count * np.eye(3)
        shared -= np.clip(np.linalg.solve(curvature, gradient), -0.5, 0.5)
    slope, offset = np.full(len(prior), shared[0]), shared[1] + shared[2] * prior
    own = np.zeros((2, len(prior)))
    for _ in range(_CALIBRATING):
        (r, rz), (w, wz, wzz) = _moments(scores, labels, slope + own[0], offset + own[1])
        rz, r = rz + 2 * _SHRINKAGE * own[0], r + 2 * _SHRINKAGE * own[1]
        wzz, w = wzz + 2 * _SHRINKAGE, w + 2 * _SHRINKAGE
        step = np.array([w * rz - wz * r, wzz * r - wz * rz]) / (wzz * w - wz**2)
        own -= np.clip(step, -0.5, 0.5)
    return slope + own[0], offset + own[1]


def _moments(
    scores: Rows, labels: Rows, slope: Labels, offset: Labels
) -> tuple[tuple[Labels, Labels], tuple[Labels, Labels, Labels]]:
    """Of the logistic loss: its slope by offset and slope, and its curvature by both, by label."""
    probabilities = expit(scores * slope.astype(np.float32) + offset.astype(np.float32))
    wrong, weights = probabilities - labels, probabilities * (1 - probabilities)
    first, second = (
        [part.sum(axis=0, dtype=np.float64) for part in parts]
        for parts in ((wrong, wrong * scores), (weights, weights * scores, weights * scores**2))
    )
    return (first[0], first[1]), (second[0], second[1], second[2])


def _valued(probabilities: Rows, labels: Rows, words: int, among: int) -> tuple[Labels, Labels]:
    """``a`` and ``b`` of the round whose choice had the best F1."""
    share = min(1.0, among / len(labels))
    having: Labels = np.asarray(share * labels.sum(axis=0), np.float64)
    gain, cost = _mean_share(having), np.zeros(len(having))
    best, kept = -1.0, (gain, cost)
    for _ in range(_VALUING):
        values = probabilities * gain.astype(np.float32) - cost.astype(np.float32)
        given = np.argpartition(-values, words - 1, axis=1)[:, :words]
        p, r = _mean_measures(given, labels, among)
        if (f1 := 2 * p * r / max(p + r, 1e-12)) > best:
            best, kept = f1, (gain, cost)
        times = np.bincount(given.ravel(), minlength=len(having))
        hits = np.take_along_axis(labels, given, axis=1)
        precision = np.bincount(given.ravel(), hits.ravel(), len(having)) / np.maximum(times, 1)
        by_precision, by_recall = (2 * side**2 / max(p + r, 1e-12) ** 2 for side in (r, p))
        spread = _mean_share(np.asarray(share * times, np.float64))
        wanted = (
            by_recall * _mean_share(having) + by_precision * spread,
            by_precision * precision * (spread - np.exp(-share * times)) * -np.expm1(-having),
        )
        # All the way at once, labels would come and go from round to round.
        gain, cost = (0.7 * old + 0.3 * new for old, new in zip((gain, cost), wanted, strict=True))
    return kept


def _mean_share(count: Labels) -> Labels:
    """``(1 − e⁻ˣ) / x``."""
    many = np.maximum(count, 1e-9)
    return -np.expm1(-many) / many


def _mean_measures(given: NDArray[np.int64], labels: Rows, among: int) -> tuple[float, float]:
    """Mean precision and recall, ``among`` pictures at a time."""
    width, parts = labels.shape[1], max(1, round(len(labels) / among))
    part = (np.arange(len(labels)) % parts)[:, None]
    cells = (part * width + given).ravel()
    hits = np.take_along_axis(labels, given, axis=1).ravel()
    right = np.bincount(cells, hits, parts * width)
    times = np.bincount(cells, minlength=parts * width)
    having = np.stack([labels[part[:, 0] == one].sum(axis=0) for one in range(parts)]).ravel()
    there = having > 0
    return (
        float(np.mean(right[there] / np.maximum(times[there], 1))),
        float(np.mean(right[there] / having[there])),
    )


WAYS: dict[str, dict[str, tuple[float, ...]]] = {
    "neighbours": {"sharpness": (20.0,), "neighbours": (100,)},
    "balanced neighbours": {"sharpness": (20.0,), "neighbours": (2, 5)},
    "kernel ridge": {"gamma": (2.0,), "ridge": (0.1, 0.3, 1.0)},
}
"""A way's parameters, and the values that validation pictures choose from."""
_FOLDS = 5
_COMPONENTS = 1024
"""Of the vectors, before CCA: it is fitted six times, and takes as long as their width cubed."""
_BATCH = 2048  # pictures whose neighbours are found at a time
_FLOOR = 1e-3  # of a share, before its logarithm
_EXACT, _LANDMARKS = 24_000, 4096
"""So many pictures are compared with each other; more of them with so many landmarks."""


class Estimates(NamedTuple):
    """Pictures × labels: of pictures that are asked about, and of training pictures by the rest."""

    asked: Rows
    left_out: Rows


@dataclass(frozen=True, eq=False)
class Annotators:
    """What pictures with labels (pictures × labels) tell of the labels of others."""

    pictures: Rows
    labels: Rows
    seed: int = 0

    def scores(self, way: str, asked: Rows, settings: dict[str, Any]) -> Estimates:
        """Of mean 0 and standard deviation 1 where training pictures are left out."""
        if way == "kernel ridge":
            found = ridge_estimates(self.pictures, self.labels, asked, seed=self.seed, **settings)
        else:
            found = self._near(asked, settings | {"balanced": way.startswith("balanced")})
        mean, deviation = found.left_out.mean(axis=0), found.left_out.std(axis=0)
        return Estimates(*((rows - mean) / np.maximum(deviation, 1e-6) for rows in found))

    def _near(self, asked: Rows, settings: dict[str, Any]) -> Estimates:
        left_out = np.empty_like(self.labels)
        for fold, others in self._folds:
            left_out[fold] = others.scores(self._rows[fold], **settings)
        return Estimates(self._all.scores(asked @ self._directions, **settings), left_out)

    @cached_property
    def _directions(self) -> Rows:
        """Principal components; all numbers as they are where these or the pictures are few."""
        if min(self.pictures.shape) <= _COMPONENTS:
            return np.eye(self.pictures.shape[1], dtype=np.float32)
        centred = self.pictures - self.pictures.mean(axis=0)
        _, directions = np.linalg.eigh(centred.T @ centred)
        return np.ascontiguousarray(directions[:, -_COMPONENTS:])

    @cached_property
    def _rows(self) -> Rows:
        return self.pictures @ self._directions

    @cached_property
    def _all(self) -> LabelNeighbours:
        return LabelNeighbours.fit(self._rows, self.labels)

    @cached_property
    def _folds(self) -> list[tuple[np.ndarray, LabelNeighbours]]:
        """Some pictures at a time, and what the others know."""
        order = np.random.default_rng(self.seed).permutation(len(self.pictures))
        parts = [(fold, np.setdiff1d(order, fold)) for fold in np.array_split(order, _FOLDS)]
        return [
            (fold, LabelNeighbours.fit(self._rows[rest], self.labels[rest])) for fold, rest in parts
        ]


def fused(parts: list[Estimates], weights: tuple[float, ...]) -> Estimates:
    """Sums of what several ways estimate."""
    asked, left_out = (
        sum(weight * rows for weight, rows in zip(weights, side, strict=True))
        for side in zip(*parts, strict=True)
    )
    return Estimates(asked, left_out)


def choices(way: str) -> Iterator[dict[str, Any]]:
    """All settings of a way.

    >>> len(list(choices("kernel ridge")))
    3
    """
    grid = WAYS[way]
    return (dict(zip(grid, values, strict=True)) for values in product(*grid.values()))


class LabelNeighbours(NamedTuple):
    """Pictures in their space, and the labels (pictures × labels) that they have."""

    space: Cca
    rows: Rows
    labels: Rows

    @classmethod
    def fit(cls, pictures: Rows, labels: Rows) -> LabelNeighbours:
        space = Cca(ridge=0.03, text_ridge=0.3, scaling=0.5).fit(pictures, labels)
        return cls(space, space.picture_rows(pictures), labels)

    def scores(self, asked: Rows, sharpness: float, neighbours: int, *, balanced: bool) -> Rows:
        """Logarithms of weighted shares of the neighbours that have a label."""
        wanted = self.space.picture_rows(asked)
        starts = range(0, len(wanted), _BATCH)
        parts = (wanted[a : a + _BATCH] @ self.rows.T for a in starts)
        return np.concatenate(
            [self._shares(part, sharpness, neighbours, balanced) for part in parts]
        )

    def _shares(self, cosines: Rows, sharpness: float, neighbours: int, balanced: bool) -> Rows:
        kept = np.zeros(cosines.shape, dtype=bool)
        for having in self._groups(balanced):
            most = min(neighbours, len(having))
            if most:
                best = np.argpartition(-cosines[:, having], most - 1, axis=1)[:, :most]
                np.put_along_axis(kept, having[best], True, axis=1)
        weights = np.exp(sharpness * (cosines - 1)) * kept
        shares = weights @ self.labels / np.maximum(weights.sum(axis=1, keepdims=True), 1e-30)
        return np.asarray(np.log(shares + _FLOOR), np.float32)

    def _groups(self, balanced: bool) -> Iterator[NDArray[np.int64]]:
        if not balanced:
            return iter([np.arange(len(self.labels))])
        return (np.flatnonzero(column) for column in self.labels.T)


def ridge_estimates(
    pictures: Rows, labels: Rows, asked: Rows, *, gamma: float, ridge: float, seed: int = 0
) -> Estimates:
    """Estimates by an RBF kernel.

    >>> pictures, labels = np.float32([[0], [0.1], [5]]), np.float32([[1], [1], [0]])
    >>> found = ridge_estimates(pictures, labels, pictures[:1], gamma=1.0, ridge=0.1)
    >>> bool(found.asked[0, 0] > found.left_out[0, 0] > 0.8)
    True
    """
    kernel = RBF(gamma).fit(pictures)
    if len(pictures) <= _EXACT:
        weights, left_out = _exact(kernel(pictures), labels, ridge)
        return Estimates(kernel(asked, pictures) @ weights, left_out)
    order = np.random.default_rng(seed).permutation(len(pictures))
    landmarks = pictures[np.sort(order[:_LANDMARKS])]
    weights, left_out = _on_landmarks(
        kernel(pictures, landmarks), ridge * kernel(landmarks), labels
    )
    return Estimates(kernel(asked, landmarks) @ weights, left_out)


def _exact(table: Rows, labels: Rows, ridge: float) -> tuple[Rows, Rows]:
    """Weights of the pictures, and left-out estimates; the table is spent."""
    table[np.diag_indices_from(table)] += np.float32(ridge)
    # A symmetric table is its own transpose, which is how LAPACK wants it: nothing is copied.
    factor, lower = cho_factor(table.T, lower=True, overwrite_a=True, check_finite=False)
    weights = np.asarray(cho_solve((factor, lower), labels, check_finite=False), np.float32)
    inverse, _ = spotri(factor, lower=1, overwrite_c=1)
    return weights, np.asarray(labels - weights / np.diag(inverse)[:, None], np.float32)


def _on_landmarks(known: Rows, penalty: Rows, labels: Rows) -> tuple[Rows, Rows]:
    system = known.T @ known + penalty
    system[np.diag_indices_from(system)] += 1e-5 * np.trace(system) / len(system)
    factor = cho_factor(system, check_finite=False)
    weights = np.asarray(cho_solve(factor, known.T @ labels), np.float32)
    own = np.einsum("ij,ji->i", known, cho_solve(factor, known.T))
    left_out = labels - (labels - known @ weights) / (1 - own)[:, None]
    return weights, np.asarray(left_out, np.float32)

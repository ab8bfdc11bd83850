"""Which labels to give a picture, so that F1 of mean precision and mean recall is best.

Means over labels count rare labels as much as frequent ones. Where m pictures are annotated, let
``g`` of them have a label and ``n`` be given it, a share ``P`` rightly, as far as can be expected.
One more picture, which has it with probability p, then adds ``p s(g)`` to the recall of the label
and ``p s(n) − P (s(n) − e⁻ⁿ)`` to its precision, where ``s(x) = (1 − e⁻ˣ) / x`` is the mean of
``1 / (1 + k)`` over Poisson's k, about 1 / x for many pictures and 1 for none. F1 owes a part to
each. So a label is worth ``a p − b``; a and b depend on what is given, and are found by rounds, on
training pictures whose labels were estimated from others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

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

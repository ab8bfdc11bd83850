"""Relevance feedback: clicks, one person's yes and no, as PAMIR's own updates of any model.

For a query q of unit length, pairs (better, worse) of pictures ask ``F(q, b) ≥ F(q, w) + ε``. One
by one, each pair that is not so moves the weights by the smallest step that mends it, at most C:
``l = max(0, ε − q·W(b − w))``, ``τ = min(C, l / ‖b − w‖²)``, ``W += q ⊗ τ(b − w)``.

Scores of different models live on different scales, so ε and C are given in *units*, the standard
deviation of a word's values over pictures: ε is `MARGIN` units, and C is so that no step moves a
pair apart by more than `STEP` units. All steps together are ``W += q ⊗ v`` with v a sum of the
pictures' own vectors, so the products between a few vectors are all there is to compute, and any
model can learn so: it is asked for scores only.

Five clicks say little in a thousand dimensions, and what pictures differ in most, day and night or
plain and busy, is mostly not what was meant. So lengths and products are taken in a metric M that
makes less of the directions in which pictures vary most (`Metric`), and steps go along
``M(b − w)``: the passive-aggressive step of whitened vectors.

K. Crammer et al., Online passive-aggressive algorithms, JMLR 7, 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.models.pamir.update import step_size

STEP = 0.2
"""The most that one pair may be moved apart, in units."""
MARGIN = 2.0
"""How far apart a pair should be, in units."""
OTHERS = 30
"""Pictures drawn among its rivals for a yes to be compared with."""
HIGHER = 3
"""Pictures that rank high, drawn for a no to be compared with."""
RANK = 256
"""Directions of which a metric makes less."""
_SAMPLE = 1000
"""Pictures that a metric is learnt from."""
MOST_HARM = 0.02
"""AvgP that the clicks on a word may cost captioned pictures that nobody learnt from."""
_HALVINGS = 4

Pair = tuple[int, int]


def pairs_of(
    clicked: int, relevant: bool, yes: Sequence[int], no: Sequence[int], others: Sequence[int]
) -> list[Pair]:
    """What a click says about the order of pictures: (better, worse), as rows of a matrix.

    A yes is better than whatever got a no and than pictures drawn among those that rank high; a no
    is worse than whatever got a yes and than what was drawn because it ranks highest.

    >>> pairs_of(0, True, yes=[], no=[1], others=[2])
    [(0, 1), (0, 2)]
    >>> pairs_of(0, False, yes=[1], no=[], others=[2])
    [(1, 0), (2, 0)]
    """
    if relevant:
        return [(clicked, other) for other in (*no, *others)]
    return [(other, clicked) for other in (*yes, *others)]


@dataclass(frozen=True, eq=False)
class Metric:
    """``M = I − Σ_k u_k u_kᵀ e_k / (e_k + 1)``: whitening, softly.

    u_k are the directions in which they vary most, e_k how much more than the mean over all
    directions. ``rows`` holds ``u_k √(e_k / (e_k + 1))``; none of them make M the identity.
    """

    rows: NDArray[np.floating]

    @classmethod
    def of(cls, vectors: NDArray[np.floating], rank: int = RANK) -> Metric:
        """Learn it from the vectors of some pictures.

        >>> random = np.random.default_rng(0)
        >>> vectors = random.standard_normal((1000, 3)) * [5.0, 1.0, 1.0]
        >>> Metric.of(vectors).applied(np.eye(3)).diagonal().round(1).tolist()
        [0.3, 0.9, 0.9]
        """
        some = np.asarray(vectors[:_SAMPLE], np.float64)
        centred = some - some.mean(axis=0)
        # Products between pictures have the same spreads as those between numbers.
        spread, mixtures = np.linalg.eigh(centred @ centred.T / len(centred))
        mean = max(spread.sum(), 0.0) / centred.shape[1]
        kept = np.flatnonzero(spread > 1e-6 * mean)[::-1][:rank]
        directions = mixtures.T[kept] @ centred / np.sqrt(len(centred) * spread[kept])[:, None]
        most = spread[kept] / (mean or 1.0)
        return cls((directions * np.sqrt(most / (most + 1))[:, None]).astype(np.float32))

    @classmethod
    def plain(cls, width: int) -> Metric:
        """The usual lengths and products."""
        return cls(np.zeros((0, width), np.float32))

    def applied(self, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
        """``M x`` for each row x."""
        known = np.asarray(vectors, np.float64)
        return known - (known @ self.rows.T) @ self.rows


class Compared:
    """A few pictures that steps are made of: their vectors, and products in a metric, made once.

    Parameters
    ----------
    vectors : array of shape (n, d)
    metric : Metric, optional
        Else the usual one.

    Examples
    --------
    >>> pictures = Compared(np.eye(2))
    >>> pictures.learn(np.zeros(2), [(0, 1)], unit=10.0).tolist()
    [1.0, -1.0]
    >>> pictures.learn(np.array([20.0, 0.0]), [(0, 1)], unit=10.0).tolist()  # it is so already
    [0.0, 0.0]
    """

    def __init__(self, vectors: NDArray[np.floating], metric: Metric | None = None) -> None:
        known = np.asarray(vectors, np.float64)
        self._towards = known if metric is None else metric.applied(known)
        self._products = self._towards @ known.T

    def learn(
        self, scores: NDArray[np.floating], pairs: Sequence[Pair], *, unit: float = 1.0
    ) -> NDArray[np.float64]:
        """The direction v in which a query's weights should move, and how far.

        Parameters
        ----------
        scores : array of shape (n,)
            The pictures' scores for the query now.
        pairs : sequence of (better, worse)
            Numbers of pictures; each pair is learnt once, in this order.
        unit : float
            The standard deviation of a word's values over pictures.
        """
        now = np.asarray(scores, np.float64).copy()
        gains = np.zeros(len(now))
        for better, worse in pairs:
            apart = self._products[better] - self._products[worse]
            square = apart[better] - apart[worse]
            loss = MARGIN * unit - now[better] + now[worse]
            if square <= 1e-12:
                continue  # they look the same, and no weights tell them apart
            step = step_size(loss, square, STEP * unit / square)
            gains[better] += step
            gains[worse] -= step
            now += step * apart
        return np.asarray(gains @ self._towards)


def bounded(harm: Callable[[float], float], most: float = MOST_HARM) -> float:
    """The part of a step, 1, ½, ¼ … or 0, that costs no more than ``most``.

    ``harm`` says what a part would cost.

    >>> bounded(lambda part: part * 0.03, most=0.02)
    0.5
    >>> bounded(lambda part: 1.0)
    0.0
    """
    part = 1.0
    for _ in range(_HALVINGS):
        if harm(part) <= most:
            return part
        part /= 2
    return 0.0

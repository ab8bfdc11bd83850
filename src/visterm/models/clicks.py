"""Clicks: one person's yes and no as PAMIR's own steps from the model that is there.

For a query q of unit length, pairs (better, worse) of pictures ask ``F(q, b) ≥ F(q, w) + ε``. One
by one, each pair that is not so moves the weights by the smallest step that mends it, at most C:
``l = max(0, ε − q·W(b − w))``, ``τ = min(C, l / ‖b − w‖²)``, ``W += q ⊗ τ(b − w)``.

Scores of different models live on different scales, so ε and C are given in *units*, the usual
spread of a word's values over pictures: ε is `MARGIN` units, and C is so that no step moves a pair
apart by more than `STEP` units. All steps together are ``W += q ⊗ v`` with v a sum of the pictures'
own vectors, so the products between a few vectors are all there is to compute, and any model can
learn so: it is asked for scores only.

K. Crammer et al., Online passive-aggressive algorithms, JMLR 7, 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

STEP = 0.2
"""The most that one pair may be moved apart, in units."""
MARGIN = 2.0
"""How far apart a pair should be, in units."""
OTHERS = 30
"""Pictures drawn at random for a yes to be compared with."""
HIGHER = 3
"""Pictures that rank high, drawn for a no to be compared with."""
MOST_HARM = 0.02
"""AvgP that the clicks on a word may cost captioned pictures that nobody learnt from."""
_HALVINGS = 4

Pair = tuple[int, int]


def pairs_of(
    clicked: int, relevant: bool, yes: Sequence[int], no: Sequence[int], others: Sequence[int]
) -> list[Pair]:
    """What a click says about the order of pictures: (better, worse), as rows of a matrix.

    A yes is better than whatever got a no and than pictures drawn at random; a no is worse than
    whatever got a yes and than what was drawn because it ranks higher.

    >>> pairs_of(0, True, yes=[], no=[1], others=[2])
    [(0, 1), (0, 2)]
    >>> pairs_of(0, False, yes=[1], no=[], others=[2])
    [(1, 0), (2, 0)]
    """
    if relevant:
        return [(clicked, other) for other in (*no, *others)]
    return [(other, clicked) for other in (*yes, *others)]


def learn(
    vectors: NDArray[np.floating],
    scores: NDArray[np.floating],
    pairs: Sequence[Pair],
    *,
    unit: float = 1.0,
) -> NDArray[np.float64]:
    """How much of each picture's vector the query's weights should gain.

    Parameters
    ----------
    vectors : array of shape (n, d)
    scores : array of shape (n,)
        The pictures' scores for the query now.
    pairs : sequence of (better, worse)
        Rows of ``vectors``; each is learnt once, in this order.
    unit : float
        The usual spread of a word's values over pictures.

    Returns
    -------
    array of shape (n,)
        Coefficients a; ``a @ vectors`` is v.

    Examples
    --------
    >>> learn(np.eye(2), np.zeros(2), [(0, 1)], unit=10.0).tolist()
    [1.0, -1.0]
    >>> learn(np.eye(2), np.array([20.0, 0.0]), [(0, 1)], unit=10.0).tolist()  # it is so already
    [0.0, 0.0]
    """
    known = np.asarray(vectors, np.float64)
    products = known @ known.T
    now = np.asarray(scores, np.float64).copy()
    gains = np.zeros(len(known))
    for better, worse in pairs:
        apart = products[better] - products[worse]
        square = apart[better] - apart[worse]
        loss = MARGIN * unit - now[better] + now[worse]
        if loss <= 0 or square <= 1e-12:
            continue  # it is so already; or they look the same, and no weights tell them apart
        step = min(STEP * unit, loss) / square
        gains[better] += step
        gains[worse] -= step
        now += step * apart
    return gains


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

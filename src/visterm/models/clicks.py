"""Clicks: one person's yes and no as PAMIR's own steps from the model that is there.

For a query q of unit length, pairs (better, worse) of pictures ask ``F(q, b) ≥ F(q, w) + ε``. The
smallest change of the weights that grants them, each by a step of at most C, is ``W += q ⊗ v`` with
``v = Σ α_bw (b − w)`` and ``0 ≤ α ≤ C``. Going over the pairs once, α from zero, is PAMIR's
passive-aggressive step for each; going over them again comes closer to the change that is least for
all of them together (dual coordinate ascent on the same loss).

v is a sum of the pictures' own vectors, so a few coefficients and the products between a few
vectors are all there is to compute, whatever the model is: it is asked for scores only.

K. Crammer et al., Online passive-aggressive algorithms, JMLR 7, 2006; C.-J. Hsieh et al., A dual
coordinate descent method for large-scale linear SVM, ICML 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

STEP = 0.1
"""C: the most that one pair may move the query's weights, in multiples of its difference."""
MARGIN = 1.0
PASSES = 1
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
    step: float = STEP,
    margin: float = MARGIN,
    passes: int = PASSES,
) -> NDArray[np.float64]:
    """How much of each picture's vector the query's weights should gain.

    Parameters
    ----------
    vectors : array of shape (n, d)
    scores : array of shape (n,)
        The pictures' scores for the query now.
    pairs : sequence of (better, worse)
        Rows of ``vectors``.
    step : float
        C, the bound of each α.

    Returns
    -------
    array of shape (n,)
        Coefficients a; ``a @ vectors`` is v.

    Examples
    --------
    >>> learn(np.eye(2), np.zeros(2), [(0, 1)], step=1.0, passes=1).tolist()
    [0.5, -0.5]
    >>> learn(np.eye(2), np.array([1.0, 0.0]), [(0, 1)]).tolist()  # it is so already
    [0.0, 0.0]
    """
    known = np.asarray(vectors, np.float64)
    products = known @ known.T
    now = np.asarray(scores, np.float64).copy()
    gains = np.zeros(len(known))
    alphas = np.zeros(len(pairs))
    for _ in range(passes):
        for number, (better, worse) in enumerate(pairs):
            apart = products[better] - products[worse]
            square = apart[better] - apart[worse]
            if square <= 1e-12:
                continue  # two pictures that look the same cannot be put in order
            wished = alphas[number] + (margin - now[better] + now[worse]) / square
            moved = min(step, max(0.0, wished)) - alphas[number]
            if moved:
                alphas[number] += moved
                gains[better] += moved
                gains[worse] -= moved
                now += moved * apart
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

"""What a ranking is worth: one small function a measure, each a formula over the relevant ranks.

Every function takes the ranks of one query's relevant pictures, counted from 1 and ascending. A
query without relevant pictures cannot be measured; callers leave it out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.evaluation.ranking import relevant_ranks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ranks = NDArray[np.int64]
Gains = NDArray[np.float32]


def average_precision(ranks: Ranks) -> float:
    """AvgP = 1/R · Σ_i i / rank_i: precision at each relevant picture, averaged.

    >>> average_precision(np.array([1, 4]))
    0.75
    """
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks))


def break_even_point(ranks: Ranks) -> float:
    """BEP: precision among the R best pictures, where precision and recall are the same.

    >>> break_even_point(np.array([1, 4]))
    0.5
    """
    return float(np.mean(ranks <= len(ranks)))


def precision_at(ranks: Ranks, k: int) -> float:
    """P@k: the fraction of relevant pictures among the k best, out of k even where fewer exist.

    >>> precision_at(np.array([1, 4]), 10)
    0.2
    """
    return float(np.sum(ranks <= k) / k)


def recall_at(ranks: Ranks, k: int) -> float:
    """R@k: the fraction of the relevant pictures that stand among the k best.

    >>> recall_at(np.array([1, 4]), 3)
    0.5
    """
    return float(np.mean(ranks <= k))


def ndcg_at(ranks: Ranks, gains: Gains, k: int) -> float:
    """nDCG@k: Σ gain / log₂(1 + rank) over the k best, as a fraction of the best possible order.

    >>> round(ndcg_at(np.array([1, 3]), np.array([1, 1]), 10), 4)
    0.9197
    """
    kept = ranks <= k
    weights = np.asarray(gains, dtype=np.float64)
    gained = np.sum(weights[kept] / np.log2(ranks[kept] + 1.0))
    ideal = -np.sort(-weights)[:k]
    return float(gained / np.sum(ideal / np.log2(np.arange(2.0, len(ideal) + 2))))


def first_rank(ranks: Ranks) -> float:
    """The rank of the first relevant picture.

    >>> first_rank(np.array([3, 4]))
    3.0
    """
    return float(ranks[0])


def reciprocal_rank(ranks: Ranks) -> float:
    """RR: one over the rank of the first relevant picture.

    >>> reciprocal_rank(np.array([4, 7]))
    0.25
    """
    return 1.0 / float(ranks[0])


@dataclass(frozen=True)
class Measure:
    """A measure with its name, what it says in one sentence, and where it comes from.

    Call it with the ranks and gains of one query; ``summarise`` makes one number of many queries.
    What ``is_rank`` is no fraction, and lower is better.
    """

    name: str
    description: str
    citation: str
    of: Callable[[Ranks, Gains], float]
    is_rank: bool = False

    @property
    def higher_is_better(self) -> bool:
        return not self.is_rank

    def __call__(self, ranks: Ranks, gains: Gains) -> float:
        return self.of(ranks, gains)

    def summarise(self, values: NDArray[np.float64]) -> float:
        """The mean over queries, or the median for a rank; NaN where there is no query."""
        if not len(values):
            return float("nan")
        return float(np.median(values) if self.is_rank else np.mean(values))


_BUCKLEY = "Buckley and Voorhees, Retrieval system evaluation, in TREC, MIT Press, 2005"
_MEASURES = {
    "AvgP": Measure(
        "AvgP",
        "Average precision: precision at the rank of each relevant picture, averaged over them.",
        _BUCKLEY,
        lambda ranks, gains: average_precision(ranks),
    ),
    "BEP": Measure(
        "BEP",
        "Break-even point: precision among as many best pictures as there are relevant ones.",
        _BUCKLEY,
        lambda ranks, gains: break_even_point(ranks),
    ),
    "RR": Measure(
        "RR",
        "Reciprocal rank: one over the rank of the first relevant picture.",
        "Voorhees, The TREC-8 question answering track report, TREC 1999",
        lambda ranks, gains: reciprocal_rank(ranks),
    ),
    "median rank": Measure(
        "median rank",
        "The median over queries of the rank of the first relevant picture.",
        "Hodosh, Young and Hockenmaier, Framing image description as a ranking task, JAIR 2013",
        lambda ranks, gains: first_rank(ranks),
        is_rank=True,
    ),
}
_WITH_CUTOFF: dict[str, tuple[str, str, Callable[[Ranks, Gains, int], float]]] = {
    "P": (
        "Precision at {k}: the fraction of relevant pictures among the {k} best.",
        _BUCKLEY,
        lambda ranks, gains, k: precision_at(ranks, k),
    ),
    "R": (
        "Recall at {k}: the fraction of the relevant pictures found among the {k} best.",
        _BUCKLEY,
        lambda ranks, gains, k: recall_at(ranks, k),
    ),
    "nDCG": (
        "Discounted gain of the {k} best pictures, as a fraction of the best possible order.",
        "Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002",
        ndcg_at,
    ),
}


def measure(name: str) -> Measure:
    """The measure of that name: AvgP, BEP, RR, median rank, P@k, R@k or nDCG@k.

    Examples
    --------
    >>> measure("P@10").description
    'Precision at 10: the fraction of relevant pictures among the 10 best.'
    >>> measure("median rank").higher_is_better
    False
    """
    if name in _MEASURES:
        return _MEASURES[name]
    parsed = re.fullmatch(r"(\w+)@([1-9][0-9]*)", name)
    if parsed is None or parsed[1] not in _WITH_CUTOFF:
        known = ", ".join([*_MEASURES, *(f"{family}@k" for family in _WITH_CUTOFF)])
        raise BadInput(f"no measure is called {name!r}; there are {known} (k a whole number ≥ 1)")
    description, citation, of = _WITH_CUTOFF[parsed[1]]
    k = int(parsed[2])
    return Measure(
        name, description.format(k=k), citation, lambda ranks, gains: of(ranks, gains, k)
    )


def mean_average_precision(scores: ArrayLike, pictures: csr_array) -> float:
    """Mean AvgP over the queries that have a relevant picture: what fitting watches.

    Parameters
    ----------
    scores : array of shape (Q, n)
        Dense; float32 needs no copy.
    pictures : csr_array of shape (Q, n)
        Gains, positive where a picture is relevant.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> mean_average_precision([[0.1, 0.9], [0.8, 0.2]], csr_array([[1, 0], [1, 0]]))
    0.75
    """
    from visterm.evaluation import _kernels

    ranked = relevant_ranks(scores, pictures)
    averages = np.zeros(len(ranked))
    _kernels.average_precisions(ranked.starts, ranked.ranks, averages)
    measured = int(np.count_nonzero(ranked.relevant))
    if not measured:
        raise BadInput("no query has a relevant picture, so there is nothing to measure")
    return float(averages.sum() / measured)

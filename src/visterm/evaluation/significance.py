"""Whether one model is above another by more than chance, query by query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.evaluation.evaluation import Evaluation
from visterm.evaluation.measures import measure as measure_called


@dataclass(frozen=True)
class Comparison:
    """One evaluation beside a baseline on the same queries.

    Attributes
    ----------
    difference : float
        The summary of the measure minus the baseline's: negative is better for ``median rank``.
    p_value : float
        Of the two-sided Wilcoxon signed-rank test; 1 where no query differs.
    better, worse : int
        Queries on which the evaluation is better or worse than the baseline.
    significant : bool
        Whether ``p_value`` is below 1 − confidence, in either direction.
    above : bool
        Whether the difference is significant and speaks for the evaluation, by the signed ranks
        and by the summary both: a higher mean owed to a few queries is not enough.
    """

    difference: float
    p_value: float
    better: int
    worse: int
    significant: bool
    above: bool


def compare(
    evaluation: Evaluation, baseline: Evaluation, measure: str = "AvgP", confidence: float = 0.95
) -> Comparison:
    """Test an evaluation against a baseline with the Wilcoxon signed-rank test over the queries.

    Queries on which both give the same drop out of the test, as Wilcoxon (1945) has it.

    Examples
    --------
    >>> ones, queries = np.ones(8, dtype=int), np.arange(8)
    >>> low = Evaluation({"AvgP": queries / 20}, ones, ones)
    >>> high = Evaluation({"AvgP": queries / 10 + 0.1}, ones, ones)
    >>> result = compare(high, low)
    >>> result.better, result.worse, round(result.p_value, 4), result.above
    (8, 0, 0.0078, True)
    """
    if not 0 < confidence < 1:
        raise BadInput(f"confidence is a fraction between 0 and 1, such as 0.95; got {confidence}")
    kind = measure_called(measure)
    ours, theirs = _paired(evaluation, baseline, kind.name)
    difference = kind.summarise(ours) - kind.summarise(theirs)
    sign = 1.0 if kind.higher_is_better else -1.0
    # Equal differences must tie when the test ranks them; the last bits of a mean would part them.
    gains = np.round(sign * (ours - theirs), 12)
    p_value, favour = _signed_ranks(gains)
    significant = p_value < 1 - confidence
    return Comparison(
        difference=difference,
        p_value=p_value,
        better=int(np.count_nonzero(gains > 0)),
        worse=int(np.count_nonzero(gains < 0)),
        significant=significant,
        above=significant and favour > 0 and sign * difference > 0,
    )


def best_of(
    evaluations: Mapping[str, Evaluation], measure: str = "AvgP", confidence: float = 0.95
) -> str | None:
    """The name of the evaluation significantly above every other one: what papers print bold.

    None where no such one exists, and where there is nothing to be above.
    """
    if len(evaluations) < 2:
        return None
    for name, evaluation in evaluations.items():
        others = (other for rival, other in evaluations.items() if rival != name)
        if all(compare(evaluation, other, measure, confidence).above for other in others):
            return name
    return None


def _paired(
    evaluation: Evaluation, baseline: Evaluation, name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    same = np.array_equal(evaluation.relevant, baseline.relevant)
    if evaluation.words is not None and baseline.words is not None:
        same = same and np.array_equal(evaluation.words, baseline.words)
    if not same:
        raise BadInput(
            f"the two evaluations are of different queries ({len(evaluation)} and "
            f"{len(baseline)}); compare models on the same relevance"
        )
    for one in (evaluation, baseline):
        if name not in one.per_query:
            known = ", ".join(one.per_query)
            raise BadInput(f"{name} was not measured (only {known}); evaluate with it first")
    kept = evaluation.measured
    return evaluation.per_query[name][kept], baseline.per_query[name][kept]


def _signed_ranks(gains: NDArray[np.float64]) -> tuple[float, float]:
    """The p-value, and the sum of ranks for minus the sum of ranks against."""
    from scipy.stats import rankdata, wilcoxon

    moved = gains[gains != 0]
    if not len(moved):
        return 1.0, 0.0
    favour = float(np.sum(np.sign(moved) * rankdata(np.abs(moved))))
    return float(wilcoxon(moved).pvalue), favour

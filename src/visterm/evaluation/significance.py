"""Whether one model is above another by more than chance: over queries, and over pictures.

Queries made from captions share their pictures, so that a test over queries, as the papers have it
(`compare`), takes thousands of them for as many observations. Resampling pictures does not
(`resampled_means`; B. Efron, Bootstrap methods, Annals of Statistics 7(1), 1979).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.evaluation.evaluation import Evaluation
from visterm.evaluation.measures import measure as measure_called

if TYPE_CHECKING:
    from visterm.text.relevance import Relevance


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


SAMPLES = 200
"""How often pictures are drawn: the standard error of a mean is then known to a twentieth."""


def resampled_means(
    rows: NDArray[np.floating], relevance: Relevance, samples: int = SAMPLES
) -> NDArray[np.float64]:
    """Mean average precision of all queries, each time on other pictures drawn from these.

    Pictures are drawn with replacement, always the same draws for as many pictures, so that the
    results of several models are paired. A query without a relevant picture in a draw is left out.

    >>> from scipy.sparse import csr_array
    >>> from visterm.text import Relevance
    >>> pictures = csr_array(np.float32([[1, 0, 1, 0]]))
    >>> asked = Relevance(csr_array(np.float32([[1.0]])), pictures)
    >>> found = resampled_means(np.array([[4.0], [3.0], [2.0], [1.0]]), asked)
    >>> found.shape, bool(found.min() < 5 / 6 < found.max())
    ((200,), True)
    """
    from visterm.evaluation._kernels import resampled_precision

    count = len(rows)
    rng = np.random.default_rng(0)
    weights = rng.multinomial(count, np.full(count, 1 / count), size=samples).astype(np.float32)
    sums, counts = np.zeros(samples), np.zeros(samples, np.int64)
    columns = np.ascontiguousarray(np.asarray(rows, np.float32).T)
    queries, gains = relevance.queries.astype(np.float32), relevance.pictures
    for query in range(len(relevance)):
        scores = np.asarray(queries[[query]] @ columns)[0]
        relevant = np.zeros(count, bool)
        relevant[gains.indices[gains.indptr[query] : gains.indptr[query + 1]]] = True
        order = np.argsort(-scores, kind="stable")
        resampled_precision(order, relevant, weights, sums, counts)
    return sums / np.maximum(counts, 1)


def interval(mean: float, resampled: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % confidence interval of a mean: 1.96 times the deviation of its resampled ones, whose
    own mean is a little higher, as copies of a picture stand side by side.

    >>> low, high = interval(0.3, np.array([0.31, 0.33, 0.35]))
    >>> round(low, 4), round(high, 4)
    (0.2608, 0.3392)
    """
    error = 1.96 * float(resampled.std(ddof=1))
    return mean - error, mean + error


def resampled_p_value(means: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The two-sided p-value of two models' mean AvgP on the same drawn pictures: their difference
    is taken to be normal, with the deviation that it has over the draws.

    >>> round(resampled_p_value(np.array([0.3, 0.4, 0.5]), np.array([0.2, 0.4, 0.3])), 3)
    0.317
    """
    from scipy.stats import norm

    gains = means - others
    deviation = float(gains.std(ddof=1))
    if not deviation:
        return 1.0 if not gains.any() else 0.0
    return float(2 * norm.sf(abs(float(gains.mean())) / deviation))


def against_best(
    means: Mapping[str, float], resampled: Mapping[str, NDArray[np.float64]]
) -> dict[str, float]:
    """The p-values of all models but the one with the highest mean, against that one, with Holm's
    correction.

    >>> means, drawn = {"a": 0.3, "b": 0.2}, {"a": np.arange(9.0), "b": np.arange(9.0) - 1}
    >>> against_best(means, drawn)
    {'b': 0.0}
    """
    best = max(means, key=means.__getitem__)
    rest = [name for name in means if name != best]
    return holm({name: resampled_p_value(resampled[best], resampled[name]) for name in rest})


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """The p-values of several tests, corrected so that one of them is wrong as seldom as a single
    one (S. Holm, Scandinavian Journal of Statistics 6(2), 1979).

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    found: dict[str, float] = {}
    largest = 0.0
    for done, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[name]))
        found[name] = largest
    return found


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

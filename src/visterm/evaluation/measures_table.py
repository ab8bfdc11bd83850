"""Models side by side on their measures, beside what a paper published."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from visterm.errors import BadInput
from visterm.evaluation.evaluation import Evaluation
from visterm.evaluation.measures import measure
from visterm.evaluation.significance import best_of
from visterm.evaluation.tables import Table


def measures_table(
    title: str,
    evaluations: Mapping[str, Evaluation],
    published: Mapping[str, Mapping[str, float]] | None = None,
) -> Table:
    """Measures down, models across; bold is significantly above every other model we measured.

    Parameters
    ----------
    title : str
    evaluations : mapping of str to Evaluation
        Ours, by model.
    published : mapping of model to measures, optional
        Figures of a paper as fractions. Each model then has two columns, ``published`` and
        ``ours``; a model or measure that only one side has leaves the other cells missing.

    Examples
    --------
    >>> import numpy as np
    >>> ours = {"PAMIR": Evaluation({"AvgP": np.array([0.2, 0.4])}, np.ones(2), np.ones(2))}
    >>> print(measures_table("Corel", ours, {"PAMIR": {"AvgP": 0.263}}).to_text())
    Corel
          PAMIR published   PAMIR ours
    AvgP             26.3         30.0
    """
    means = {model: evaluation.mean() for model, evaluation in evaluations.items()}
    theirs = published or {}
    names = list(dict.fromkeys(chain(*means.values(), *theirs.values())))
    columns: dict[str, Mapping[str, float]] = {}
    ours: dict[str, str] = {}
    for model in dict.fromkeys([*theirs, *means]):
        if published is not None:
            columns[f"{model} published"] = theirs.get(model, {})
        ours[model] = model if published is None else f"{model} ours"
        columns[ours[model]] = means.get(model, {})
    bold = [
        (name, ours[best])
        for name in names
        if all(name in mean for mean in means.values())
        and (best := best_of(evaluations, name)) is not None
    ]
    plain = [name for name in names if _is_rank(name)]
    rows = {name: [column.get(name) for column in columns.values()] for name in names}
    return Table(title, list(columns), rows, bold=bold, plain=plain)


def _is_rank(name: str) -> bool:
    try:
        return measure(name).is_rank
    except BadInput:  # papers have measures that we have not, and all of them are fractions
        return False

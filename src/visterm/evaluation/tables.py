"""Results as tables for a terminal, a web page, a paper and a program.

`measures_table` has models side by side, beside what a paper published.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from numbers import Integral, Real

from visterm.errors import BadInput
from visterm.evaluation.evaluation import Evaluation
from visterm.evaluation.measures import measure
from visterm.evaluation.significance import best_of

Value = float | int | str | None
MISSING = "–"


@dataclass(frozen=True)
class Table:
    """Named rows under named columns; fractions are shown as percentages with one decimal.

    Attributes
    ----------
    title : str
    columns : sequence of str
        Headings of the values, without the one over the row names.
    rows : mapping of str to sequence
        Values by row name. A float is a fraction, an int or a str is shown as it is, and None or
        NaN is a missing cell, shown as ``–``.
    bold : collection of (row, column) names
        Cells to stand out; as text they end in ``*``.
    plain : collection of row or column names
        Floats there are no fractions (a median rank, seconds) and are shown as they are.
    spread : mapping of (row, column) names to float
        Standard deviations over seeds, in the unit of their cells: ``28.3 ± 0.2``.
    p_values : mapping of (row, column) names to float
        Of a cell against the best one beside it: a superscript, in brackets as text.
    heading : str
        What stands over the row names.

    Examples
    --------
    >>> table = Table(
    ...     "Corel test",
    ...     ["CMRM", "PAMIR"],
    ...     {"AvgP": [0.192, 0.263], "queries": [2241, None]},
    ...     bold=[("AvgP", "PAMIR")],
    ... )
    >>> print(table)
    Corel test
             CMRM   PAMIR
    AvgP     19.2    26.3*
    queries  2241       –
    """

    title: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[Value]]
    bold: Collection[tuple[str, str]] = ()
    plain: Collection[str] = ()
    heading: str = ""
    spread: Mapping[tuple[str, str], float] = field(default_factory=dict)
    p_values: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns):
            raise BadInput(f"two columns of {self.title!r} share a name: {list(self.columns)}")
        for name, values in self.rows.items():
            if isinstance(values, str) or len(values) != len(self.columns):
                raise BadInput(
                    f"row {name!r} of {self.title!r} needs one value for each of the "
                    f"{len(self.columns)} columns"
                )
        for row, column in chain(self.bold, self.spread, self.p_values):
            if row not in self.rows or column not in self.columns:
                raise BadInput(f"{self.title!r} has no cell ({row!r}, {column!r}) to mark")
        unknown = set(self.plain) - set(self.rows) - set(self.columns)
        if unknown:
            raise BadInput(f"{self.title!r} has no row or column called {sorted(unknown)}")

    def __str__(self) -> str:
        return self.to_text()

    def _repr_markdown_(self) -> str:
        """What notebooks show."""
        return self.to_markdown()

    def to_text(self) -> str:
        """Aligned plain text; a bold cell ends in ``*``, which hangs so that the digits align."""
        lines = [[self.heading, *(f"{column} " for column in self.columns)]]
        for name in self.rows:
            lines.append([name])
            for shown, bold, p in self._cells(name):
                lines[-1].append(shown + (f" ({p})" if p else "") + ("*" if bold else " "))
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        drawn = [
            "  ".join(
                [line[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *drawn])

    def to_markdown(self) -> str:
        """A GitHub-flavoured table under its title.

        >>> print(Table("T", ["ours"], {"AvgP": [0.5]}, bold=[("AvgP", "ours")]).to_markdown())
        **T**
        <BLANKLINE>
        | | ours |
        | :-- | --: |
        | AvgP | **50.0** |
        """
        lines = [
            _piped([_markdown(self.heading), *map(_markdown, self.columns)]),
            _piped([":--", *["--:"] * len(self.columns)]),
        ]
        for name in self.rows:
            cells = [
                (f"**{_markdown(shown)}**" if bold else _markdown(shown))
                + (f"<sup>{escape(p)}</sup>" if p else "")
                for shown, bold, p in self._cells(name)
            ]
            lines.append(_piped([_markdown(name), *cells]))
        return "\n".join([f"**{_markdown(self.title)}**", "", *lines])

    def to_latex(self) -> str:
        r"""A ``table`` environment that needs no package.

        >>> print(Table("T & U", ["ours"], {"P@10": [0.1]}).to_latex())
        \begin{table}
        \centering
        \caption{T \& U}
        \begin{tabular}{lr}
        \hline
         & ours \\
        \hline
        P@10 & 10.0 \\
        \hline
        \end{tabular}
        \end{table}
        """
        head = " & ".join([_latex(self.heading), *map(_latex, self.columns)])
        body = []
        for name in self.rows:
            cells = [
                (rf"\textbf{{{_latex(shown)}}}" if bold else _latex(shown))
                + (f"$^{{{p}}}$" if p else "")
                for shown, bold, p in self._cells(name)
            ]
            body.append(" & ".join([_latex(name), *cells]) + r" \\")
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{_latex(self.title)}}}",
                rf"\begin{{tabular}}{{l{'r' * len(self.columns)}}}",
                r"\hline",
                rf"{head} \\",
                r"\hline",
                *body,
                r"\hline",
                r"\end{tabular}",
                r"\end{table}",
            ]
        )

    def to_json(self) -> str:
        """One object; numbers in the table's unit (percent), but to four decimals.

        >>> print(Table("T", ["ours"], {"AvgP": [0.263]}).to_json())
        {"title": "T", "columns": ["ours"], "rows": {"AvgP": {"ours": 26.3}}, "bold": []}
        """
        rows = {
            name: {
                column: self._number(name, column, value)
                for column, value in zip(self.columns, values, strict=True)
            }
            for name, values in self.rows.items()
        }
        whole = {
            "title": self.title,
            "columns": list(self.columns),
            "rows": rows,
            "bold": sorted(map(list, self.bold)),
        }
        return json.dumps(whole, ensure_ascii=False, allow_nan=False)

    def number(self, row: str, column: str) -> Value:
        """A cell in the table's unit: percent, or as it is where it is plain; None if missing.

        >>> Table("T", ["ours"], {"AvgP": [0.263]}).number("AvgP", "ours")
        26.3
        """
        return self._number(row, column, self.rows[row][list(self.columns).index(column)])

    def _cells(self, row: str) -> list[tuple[str, bool, str]]:
        """What each cell shows, whether it is bold, and its p-value."""
        marked = set(self.bold)
        found = []
        for column, value in zip(self.columns, self.rows[row], strict=True):
            p = self.p_values.get((row, column))
            said = "" if p is None else ("< 0.001" if p < 0.001 else f"{p:.3f}")
            found.append((self._shown(row, column, value), (row, column) in marked, said))
        return found

    def _number(self, row: str, column: str, value: Value) -> Value:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, Integral):
            return int(value)
        if not isinstance(value, Real):
            raise BadInput(f"cell ({row!r}, {column!r}) of {self.title!r} holds {value!r}")
        if not math.isfinite(value):
            return None
        fraction = row not in self.plain and column not in self.plain
        return round(float(value) * (100 if fraction else 1), 4)

    def _shown(self, row: str, column: str, value: Value) -> str:
        number = self._number(row, column, value)
        if number is None:
            return MISSING
        if not isinstance(number, float):
            return str(number)
        spread = self._number(row, column, self.spread.get((row, column)))
        return f"{number:.1f}" + ("" if spread is None else f" ± {spread:.1f}")


def _piped(cells: Sequence[str]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def _markdown(text: str) -> str:
    return re.sub(r"([\\|*_`<\[\]])", r"\\\1", " ".join(text.split()))


_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "–": "--",
    "±": r"$\pm$",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


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

"""Tables as pictures: published figures and ours as bars beside each other."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from visterm.errors import BadInput, needs_extra
from visterm.evaluation.tables import Table
from visterm.files import write_whole

PUBLISHED, OURS = "published", "ours"
_COLOURS = {PUBLISHED: "#cfc8b8", OURS: "#2c6a4c"}
_LOG_FROM = 30
"""Panels whose largest figure is so many times the smallest are drawn on a logarithmic axis."""
_UNDATED = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""What each format is told so that the same table is the same file."""


@dataclass(frozen=True)
class Panel:
    """One group of bars: figures by series (published, ours), then by category, as a table shows
    them; ``bold`` are the categories whose figure of ours stands out.
    """

    title: str
    bars: Mapping[str, Mapping[str, float]]
    bold: frozenset[str]
    percent: bool

    @property
    def logarithmic(self) -> bool:
        numbers = [number for values in self.bars.values() for number in values.values()]
        return not self.percent and min(numbers) > 0 and max(numbers) > _LOG_FROM * min(numbers)

    @property
    def heading(self) -> str:
        if self.percent:
            return f"{self.title} (%)".strip()
        return f"{self.title}{', logarithmic' if self.logarithmic else ''}"


def draw_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Draw a table's figures as bars into a PNG, SVG or PDF file.

    Each row is a panel of bars, one or two for each model; a table whose columns are just
    ``published`` and ``ours`` is one panel, with its rows as categories. A table with a model's
    figures in rows (``CCA, published`` over ``CCA, ours``) has a panel for each column.

    Needs matplotlib, which the extra ``research`` brings.
    """
    kind = check_figure_name(path)
    with needs_extra("research", "figures need matplotlib"):
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    panels = panels_of(table)
    categories = list(dict.fromkeys(c for p in panels for bars in p.bars.values() for c in bars))
    across = min(4, len(panels))
    down = math.ceil(len(panels) / across)
    figure = Figure(
        (2 + 2.2 * across, 0.9 + down * (0.5 + 0.3 * len(categories))), layout="constrained"
    )
    figure.suptitle(table.title, x=0.012, ha="left", fontsize=11)
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    for ax in axes.ravel()[len(panels) :]:
        ax.axis("off")
    for ax, panel in zip(axes.ravel(), panels, strict=False):
        width = 0.8 / len(panel.bars)
        for number, (series, bars) in enumerate(panel.bars.items()):
            at = [categories.index(name) + (number + 0.5) * width - 0.4 for name in bars]
            drawn = ax.barh(at, list(bars.values()), width * 0.94, color=_COLOURS[series])
            bold = panel.bold if series == OURS else ()
            texts = [f"{_shown(bars[name])}{'*' if name in bold else ''}" for name in bars]
            ax.bar_label(drawn, texts, padding=2, fontsize=7)
        ax.set_title(panel.heading, loc="left", fontsize=9.5)
        ax.set_xscale("log" if panel.logarithmic else "linear")
        ax.set_yticks(np.arange(len(categories)), categories, fontsize=8.5)
        ax.set_xticks([])
        ax.set_xticks([], minor=True)
        ax.margins(x=0.2)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
    axes[0, 0].invert_yaxis()
    series_shown = dict.fromkeys(series for panel in panels for series in panel.bars)
    handles = [Patch(color=_COLOURS[series], label=series) for series in series_shown]
    figure.legend(handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize=9)
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=160, metadata=_UNDATED[kind])
    write_whole(path, file.getvalue())


def check_figure_name(path: str | os.PathLike[str]) -> str:
    """The kind of figure that a file's name asks for.

    >>> check_figure_name("table.svg")
    'svg'
    """
    kind = Path(path).suffix.lstrip(".").lower()
    if kind not in _UNDATED:
        raise BadInput(
            f"a figure's name ends in .{', .'.join(_UNDATED)}; {Path(path).name!r} does not"
        )
    return kind


def panels_of(table: Table) -> list[Panel]:
    """What a table's figure shows.

    >>> table = Table("T", ["CMRM published", "CMRM ours"], {"AvgP": [0.192, None]})
    >>> [panel.bars for panel in panels_of(table)]
    [{'published': {'CMRM': 19.2}}]
    """
    rows, columns = list(table.rows), list(table.columns)
    in_rows = any(row.endswith((f", {PUBLISHED}", f", {OURS}")) for row in rows)
    if set(columns) <= {PUBLISHED, OURS}:
        groups = {"": [(row, column, row, column) for row in rows for column in columns]}
    elif in_rows:
        groups = {c: [(row, c, *_split(row)) for row in rows] for c in columns}
    else:
        groups = {row: [(row, c, *_split(c)) for c in columns] for row in rows}
    panels = []
    for title, cells in groups.items():
        bars: dict[str, dict[str, float]] = {PUBLISHED: {}, OURS: {}}
        for row, column, category, series in cells:
            number = table.number(row, column)
            if isinstance(number, int | float) and math.isfinite(number):
                bars[series][category] = float(number)
        bold = frozenset(category for row, c, category, _ in cells if (row, c) in table.bold)
        plain = all(row in table.plain or column in table.plain for row, column, *_ in cells)
        shown = {series: values for series, values in bars.items() if values}
        if shown:
            panels.append(Panel(title, shown, bold, percent=not plain))
    if not panels:
        raise BadInput(f"{table.title!r} holds no numbers to draw")
    return panels


def _split(name: str) -> tuple[str, str]:
    """Which model a column or row is of, and whose figures; ours where it does not say."""
    for series in (PUBLISHED, OURS):
        if name.endswith(f" {series}"):
            return name.removesuffix(f" {series}").removesuffix(","), series
    return name, OURS


def _shown(number: float) -> str:
    """Three digits that matter."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"

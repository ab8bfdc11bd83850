"""Tables as pictures: published figures and ours as bars beside each other."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.errors import BadInput, MissingExtra
from visterm.evaluation.tables import Table
from visterm.files import write_whole

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
PUBLISHED, OURS = "published", "ours"

_INK, _QUIET, _RULE = "#24211c", "#6b655a", "#d8d2c4"
_COLOURS = {PUBLISHED: "#cfc8b8", OURS: "#2c6a4c"}
_LOG_FROM = 30
"""Panels whose largest figure is so many times the smallest are drawn on a logarithmic axis."""


@dataclass(frozen=True)
class Panel:
    """One group of bars: figures by who gave them and by what they are of.

    Attributes
    ----------
    bars : mapping of series to mapping of category to number
        As the table shows numbers: percentages, or plain ones.
    bold : set of categories whose figure of ours stands out
    """

    title: str
    bars: Mapping[str, Mapping[str, float]]
    bold: frozenset[str]
    percent: bool

    @property
    def categories(self) -> list[str]:
        return list(dict.fromkeys(name for values in self.bars.values() for name in values))

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
    ``published`` and ``ours`` is one panel, with its rows as categories.

    Needs matplotlib, which the extra ``research`` brings.
    """
    kind = check_figure_name(path)
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise MissingExtra("figures need matplotlib: pip install 'visterm[research]'") from None
    panels = panels_of(table)
    widths = [max(2, len(panel.categories)) for panel in panels]
    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08)
    figure = Figure(figsize=(1.4 + 0.82 * sum(widths), 3.6), layout=layout)
    figure.suptitle(table.title, x=0.012, ha="left", fontsize=11, color=_INK)
    axes = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        _draw_panel(ax, panel)
    _draw_legend(figure, panels)
    drawn = io.BytesIO()
    # Without a date the same table is the same file.
    figure.savefig(drawn, format=kind, dpi=160, metadata=_UNDATED[kind])
    write_whole(path, drawn.getvalue())


def check_figure_name(path: str | os.PathLike[str]) -> str:
    """The kind of figure that a file's name asks for.

    >>> check_figure_name("table.svg")
    'svg'
    """
    kind = Path(path).suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise BadInput(
            f"a figure's name ends in .{', .'.join(FORMATS)}; {Path(path).name!r} does not"
        )
    return kind


def panels_of(table: Table) -> list[Panel]:
    """What a table's figure shows.

    >>> table = Table("T", ["CMRM published", "CMRM ours"], {"AvgP": [0.192, None]})
    >>> [panel.bars for panel in panels_of(table)]
    [{'published': {'CMRM': 19.2}}]
    """
    marked = set(table.bold)
    if set(table.columns) <= {PUBLISHED, OURS}:
        bars = {
            series: _numbers({row: table.number(row, series) for row in table.rows})
            for series in table.columns
        }
        bold = frozenset(row for row, _ in marked)
        found = [Panel("", _filled(bars), bold, percent=not set(table.rows) & set(table.plain))]
    else:
        found = [_row_panel(table, row, marked) for row in table.rows]
    found = [panel for panel in found if panel.bars]
    if not found:
        raise BadInput(f"{table.title!r} holds no numbers to draw")
    return found


def _row_panel(table: Table, row: str, marked: set[tuple[str, str]]) -> Panel:
    bars: dict[str, dict[str, float]] = {PUBLISHED: {}, OURS: {}}
    for column in table.columns:
        category, series = _split(column)
        bars[series] |= _numbers({category: table.number(row, column)})
    bold = frozenset(_split(column)[0] for name, column in marked if name == row)
    plain = row in table.plain or set(table.columns) <= set(table.plain)
    return Panel(row, _filled(bars), bold, percent=not plain)


def _split(column: str) -> tuple[str, str]:
    """A column's model, and whose figures it holds; ours where it does not say."""
    for series in (PUBLISHED, OURS):
        if column.endswith(f" {series}"):
            return column.removesuffix(f" {series}"), series
    return column, OURS


def _numbers(cells: Mapping[str, object]) -> dict[str, float]:
    return {
        name: float(cell)
        for name, cell in cells.items()
        if isinstance(cell, int | float) and math.isfinite(cell)
    }


def _filled(bars: Mapping[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {series: values for series, values in bars.items() if values}


def _draw_legend(figure: Figure, panels: list[Panel]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = list(dict.fromkeys(series for panel in panels for series in panel.bars))
    handles: list[Artist] = [Patch(color=_COLOURS[series], label=series) for series in shown]
    if any(panel.bold for panel in panels):
        meaning = "* above every other of ours (Wilcoxon test, 95 %)"
        handles.append(Line2D([], [], linestyle="none", label=meaning))
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=len(handles),
        frameon=False,
        fontsize=9,
        labelcolor=_QUIET,
    )


def _draw_panel(ax: Axes, panel: Panel) -> None:
    categories = panel.categories
    width = 0.8 / len(panel.bars)
    for place, (series, values) in enumerate(panel.bars.items()):
        shift = (place - (len(panel.bars) - 1) / 2) * width
        at = [categories.index(name) + shift for name in values]
        ax.bar(at, list(values.values()), width * 0.94, color=_COLOURS[series], label=series)
        for x, (name, number) in zip(at, values.items(), strict=True):
            stands_out = series == OURS and name in panel.bold
            ax.annotate(
                f"{_shown(number)}{'*' if stands_out else ''}",
                (x, number),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                color=_INK if series == OURS else _QUIET,
                fontweight="bold" if stands_out else "normal",
            )
    if panel.logarithmic:
        ax.set_yscale("log")
    ax.set_title(panel.heading, loc="left", fontsize=9.5, color=_INK)
    ax.set_xticks(range(len(categories)), categories, fontsize=8.5, color=_INK)
    ax.set_yticks([])
    ax.set_yticks([], minor=True)
    ax.margins(x=0.03, y=0.12)
    ax.tick_params(length=0)
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(_RULE)


def _shown(number: float) -> str:
    """Three telling digits."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"


_UNDATED: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}

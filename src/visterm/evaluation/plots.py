"""Tables as pictures: published figures and ours as bars beside each other."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.errors import BadInput, needs_extra
from visterm.evaluation._bars import (
    INK,
    OURS,
    PUBLISHED,
    Panel,
    draw_legend,
    draw_sideways,
    draw_upright,
)
from visterm.evaluation.tables import Table
from visterm.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
_DPI = 160
_ACROSS = 4
"""Panels beside each other, where they are many."""


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
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    panels = panels_of(table)
    figure = Figure(layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08))
    figure.suptitle(table.title, x=0.012, ha="left", fontsize=11, color=INK)
    (_fill_sideways if _has_models_in_rows(table) else _fill_upright)(figure, panels)
    draw_legend(figure, panels)
    drawn = io.BytesIO()
    # Without a date the same table is the same file.
    figure.savefig(drawn, format=kind, dpi=_DPI, metadata=_UNDATED[kind])
    write_whole(path, drawn.getvalue())


def _fill_upright(figure: Figure, panels: list[Panel]) -> None:
    widths = [max(2, len(panel.categories)) for panel in panels]
    figure.set_size_inches(1.4 + 0.82 * sum(widths), 3.6)
    axes = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        draw_upright(ax, panel)


def _fill_sideways(figure: Figure, panels: list[Panel]) -> None:
    across = min(_ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    categories = list(dict.fromkeys(name for panel in panels for name in panel.categories))
    figure.set_size_inches(2 + 2.2 * across, 0.9 + down * (0.5 + 0.3 * len(categories)))
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for number, ax in enumerate(axes):
        if number < len(panels):
            draw_sideways(ax, panels[number], categories, named=number % across == 0)
        else:
            ax.axis("off")


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
    elif _has_models_in_rows(table):
        found = [_column_panel(table, column) for column in table.columns]
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


def _column_panel(table: Table, column: str) -> Panel:
    bars: dict[str, dict[str, float]] = {PUBLISHED: {}, OURS: {}}
    for row in table.rows:
        category, series = _split(row)
        bars[series] |= _numbers({category: table.number(row, column)})
    plain = column in table.plain or set(table.rows) <= set(table.plain)
    return Panel(column, _filled(bars), frozenset(), percent=not plain)


def _has_models_in_rows(table: Table) -> bool:
    return any(row.endswith((f", {PUBLISHED}", f", {OURS}")) for row in table.rows)


def _split(name: str) -> tuple[str, str]:
    """Which model a column or row is of, and whose figures; ours where it does not say."""
    for series in (PUBLISHED, OURS):
        if name.endswith(f" {series}"):
            return name.removesuffix(f" {series}").removesuffix(","), series
    return name, OURS


def _numbers(cells: Mapping[str, object]) -> dict[str, float]:
    return {
        name: float(cell)
        for name, cell in cells.items()
        if isinstance(cell, int | float) and math.isfinite(cell)
    }


def _filled(bars: Mapping[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {series: values for series, values in bars.items() if values}


_UNDATED: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}

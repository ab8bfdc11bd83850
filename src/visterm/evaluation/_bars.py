"""Bars: one panel of a figure, upright or sideways, and what its colours mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PUBLISHED, OURS = "published", "ours"

INK, _QUIET, _RULE = "#24211c", "#6b655a", "#d8d2c4"
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


def draw_legend(figure: Figure, panels: list[Panel]) -> None:
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


def draw_upright(ax: Axes, panel: Panel) -> None:
    categories = panel.categories
    width = 0.8 / len(panel.bars)
    for series, values, at in _placed(panel, categories, width):
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
                color=INK if series == OURS else _QUIET,
                fontweight="bold" if stands_out else "normal",
            )
    if panel.logarithmic:
        ax.set_yscale("log")
    ax.set_title(panel.heading, loc="left", fontsize=9.5, color=INK)
    ax.set_xticks(range(len(categories)), categories, fontsize=8.5, color=INK)
    ax.set_yticks([])
    ax.set_yticks([], minor=True)
    ax.margins(x=0.03, y=0.12)
    _only_the_base(ax, "bottom")


def draw_sideways(ax: Axes, panel: Panel, categories: Sequence[str], *, named: bool) -> None:
    """The bars of these categories from top to bottom; their names too, if ``named``."""
    width = 0.8 / len(panel.bars)
    for series, values, at in _placed(panel, categories, width):
        ax.barh(at, list(values.values()), width * 0.94, color=_COLOURS[series], label=series)
        for y, number in zip(at, values.values(), strict=True):
            ax.annotate(
                _shown(number),
                (number, y),
                xytext=(2, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color=INK if series == OURS else _QUIET,
            )
    if panel.logarithmic:
        ax.set_xscale("log")
    ax.set_title(panel.heading, loc="left", fontsize=9.5, color=INK)
    ax.set_yticks(range(len(categories)), categories if named else [], fontsize=8.5, color=INK)
    ax.set_ylim(len(categories) - 0.4, -0.6)
    ax.set_xticks([])
    ax.set_xticks([], minor=True)
    ax.margins(x=0.16)
    _only_the_base(ax, "left")


def _placed(
    panel: Panel, categories: Sequence[str], width: float
) -> Iterator[tuple[str, Mapping[str, float], list[float]]]:
    """Each series, its figures, and where their bars stand: side by side in their category."""
    for place, (series, values) in enumerate(panel.bars.items()):
        shift = (place - (len(panel.bars) - 1) / 2) * width
        yield series, values, [categories.index(name) + shift for name in values]


def _only_the_base(ax: Axes, base: str) -> None:
    ax.tick_params(length=0)
    for side, spine in ax.spines.items():
        spine.set_visible(side == base)
        spine.set_color(_RULE)


def _shown(number: float) -> str:
    """Three telling digits."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"

"""Figures of the result pages are those that commands wrote, or are said to be typed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from visterm.evaluation import Table

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from docs import figures, hooks  # noqa: E402 - they lie beside the pages


@pytest.mark.parametrize("name", hooks.PAGES)
def test_tables_of_figures_are_written_by_a_command_or_said_to_be_typed(name: str):
    text = (ROOT / "docs" / "results" / f"{name}.md").read_text(encoding="utf-8")
    for command in hooks.RESULTS.findall(text):
        assert hooks.result(command).count("\n|") > 2
    for command, path in hooks.FIGURE.findall(text):
        assert hooks.figure(command, path)
    hooks.check_tables(text, name)


def test_a_page_that_shows_figures_nobody_made_is_refused():
    with pytest.raises(SystemExit, match="run visterm reproduce tpami-99 --seed 3"):
        hooks.on_page_markdown("<!-- results: tpami-99 --seed 3 -->")
    with pytest.raises(SystemExit, match="run visterm reproduce tpami-99"):
        hooks.on_page_markdown("AvgP is {{ tpami-99 | ours.PAMIR.AvgP }}.")
    with pytest.raises(SystemExit, match="found no 'test_sheep'"):
        hooks.on_page_markdown("{{ corel-statistics | test_sheep }}")
    assert hooks.on_page_markdown("{{ corel-statistics | test_pictures }}") == "500"
    assert hooks.on_page_markdown("{{ corel-statistics | mean_relevant }}") == "2.37"
    assert hooks.on_page_markdown("{{ corel-statistics | mean_relevant % }}") == "237.0"
    with pytest.raises(SystemExit, match=r"shows a table that no results\.json holds"):
        hooks.check_tables("Said:\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n", "page")
    hooks.check_tables("<!-- typed -->\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n", "page")
    assert "earlier run" in hooks.on_page_markdown("<!-- typed -->")


def test_figures_are_drawn_of_what_commands_wrote():
    written = Table(
        "T_1",
        ["CMRM published", "PAMIR ours"],
        {"AvgP": [0.192, 0.283], "way": ["a", "b"]},
        bold=[("AvgP", "PAMIR ours")],
        spread={("AvgP", "PAMIR ours"): 0.002},
        p_values={("AvgP", "CMRM published"): 0.0001},
    )
    read = figures.table_of(written.to_markdown())
    assert (read.title, read.columns, list(read.rows)) == ("T_1", list(written.columns), ["AvgP"])
    assert read.rows["AvgP"] == pytest.approx([0.192, 0.283])
    assert read.bold == [("AvgP", "PAMIR ours")]

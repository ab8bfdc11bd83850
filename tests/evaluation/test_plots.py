"""Tables as figures: which bars there are, and files that a viewer opens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.errors import BadInput
from visterm.evaluation import Table
from visterm.evaluation.plots import draw_table, panels_of

COMPARED = Table(
    "Corel",
    ["CMRM published", "CMRM ours", "PAMIR published", "PAMIR ours"],
    {"AvgP": [0.192, 0.21, 0.263, 0.28], "P@10": [None, 0.08, 0.1, 0.105]},
    bold=[("AvgP", "PAMIR ours")],
)


def test_each_row_is_a_panel_with_published_and_our_bars_of_each_model() -> None:
    first, second = panels_of(COMPARED)
    assert first.bars == {
        "published": {"CMRM": 19.2, "PAMIR": 26.3},
        "ours": {"CMRM": 21.0, "PAMIR": 28.0},
    }
    assert (first.bold, second.bold) == ({"PAMIR"}, set())
    assert (first.heading, second.heading) == ("AvgP (%)", "P@10 (%)")


def test_a_missing_cell_has_no_bar() -> None:
    assert panels_of(COMPARED)[1].bars["published"] == {"PAMIR": 10.0}


def test_two_columns_are_one_panel_with_the_rows_as_categories() -> None:
    (panel,) = panels_of(
        Table("sides", ["published", "ours"], {"32": [0.26, 0.27], "64": [0.27, None]})
    )
    assert panel.bars == {"published": {"32": 26.0, "64": 27.0}, "ours": {"32": 27.0}}


def test_models_in_rows_make_a_panel_of_each_column_and_figures_stay_readable(
    tmp_path: Path,
) -> None:
    table = Table(
        "IAPR",
        [*(f"R@{k}" for k in range(1, 6)), "median rank"],
        {
            "CCA, published": [0.1, None, 0.3, 0.4, 0.5, 300.0],
            "CCA, ours": [0.2, 0.3, 0.4, 0.5, 0.6, 3.0],
            "kNN": [0.2, 0.3, 0.4, 0.5, 0.6, 4.0],
        },
        plain=["median rank"],
    )
    panels = panels_of(table)
    assert [panel.title for panel in panels] == list(table.columns)
    assert panels[0].bars == {"published": {"CCA": 10.0}, "ours": {"CCA": 20.0, "kNN": 20.0}}
    assert panels[1].bars == {"ours": {"CCA": 30.0, "kNN": 30.0}}
    assert panels[-1].heading == "median rank, logarithmic"
    draw_table(table, tmp_path / "t.png")
    width, height = Image.open(tmp_path / "t.png").size
    assert width < 2000
    assert height < 1000


def test_plain_figures_far_apart_get_a_logarithmic_axis_and_say_so() -> None:
    def seconds(*spent: float) -> Table:
        return Table("times", ["A ours", "B ours"], {"seconds": spent}, plain=["seconds"])

    near, far = panels_of(seconds(1.0, 20.0))[0], panels_of(seconds(1.0, 687.0))[0]
    assert (near.logarithmic, far.logarithmic) == (False, True)
    assert (near.heading, far.heading) == ("seconds", "seconds, logarithmic")


def test_a_table_without_numbers_is_refused() -> None:
    with pytest.raises(BadInput, match="holds no numbers to draw"):
        panels_of(Table("words", ["published", "ours"], {"vocabulary": ["179", "179"]}))


@pytest.mark.parametrize(
    ("name", "begins"), [("t.png", b"\x89PNG"), ("t.SVG", b"<?xml"), ("t.pdf", b"%PDF")]
)
def test_figures_are_files_of_the_kind_their_name_says(
    tmp_path: Path, name: str, begins: bytes
) -> None:
    draw_table(COMPARED, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_longer_bars_stand_for_larger_figures(tmp_path: Path) -> None:
    table = Table("T", ["A ours", "B ours"], {"AvgP": [0.1, 0.4]})
    draw_table(table, tmp_path / "t.png")
    pixels = np.asarray(Image.open(tmp_path / "t.png").convert("RGB")).astype(int)
    green = np.abs(pixels - [44, 106, 76]).sum(axis=2) < 30
    # The legend's patch is green as well, but short: bars are above it.
    lengths = green[: int(pixels.shape[0] * 0.8)].sum(axis=1)
    bars = lengths[lengths > 5]
    assert bars.max() == pytest.approx(4 * bars.min(), rel=0.05)


def test_other_kinds_of_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"ends in \.png, \.svg, \.pdf; 't\.gif' does not"):
        draw_table(COMPARED, tmp_path / "t.gif")

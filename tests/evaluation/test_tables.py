"""Tables in four forms: alignment, escaping, bold and missing cells, and published beside ours."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from visterm.errors import BadInput
from visterm.evaluation import Evaluation, Table, measures_table


@pytest.fixture
def table() -> Table:
    return Table(
        "Corel_test & more",
        ["CMRM", "PAMIR | ours"],
        {
            "AvgP": [0.192, np.float32(0.2634)],
            "median rank": [3.5, float("nan")],
            "queries": [np.int64(2241), None],
            "100% {a}": ["x_y", 1.0],
        },
        bold=[("AvgP", "PAMIR | ours")],
        plain=["median rank"],
        heading="measure",
    )


def test_text_aligns_the_digits_and_marks_bold_with_a_star(table):
    assert table.to_text().splitlines() == [
        "Corel_test & more",
        "measure      CMRM   PAMIR | ours",
        "AvgP         19.2           26.3*",
        "median rank   3.5              –",
        "queries      2241              –",
        "100% {a}      x_y          100.0",
    ]


def test_markdown_keeps_as_many_cells_a_line_as_there_are_columns(table):
    title, blank, *lines = table.to_markdown().splitlines()
    assert (title, blank) == (r"**Corel\_test & more**", "")
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [4] * 6
    assert lines[0] == r"| measure | CMRM | PAMIR \| ours |"
    assert lines[2] == "| AvgP | 19.2 | **26.3** |"
    assert lines[5] == r"| 100% {a} | x\_y | 100.0 |"


def test_latex_escapes_what_latex_would_read_as_commands(table):
    lines = table.to_latex().splitlines()
    assert r"\caption{Corel\_test \& more}" in lines
    assert r"\begin{tabular}{lrr}" in lines
    assert r"AvgP & 19.2 & \textbf{26.3} \\" in lines
    assert r"queries & 2241 & -- \\" in lines
    assert r"100\% \{a\} & x\_y & 100.0 \\" in lines


@pytest.mark.parametrize(
    ("raw", "escaped"),
    [
        ("\\", r"\textbackslash{}"),
        ("a~b^c", r"a\textasciitilde{}b\textasciicircum{}c"),
        ("$#", r"\$\#"),
        ("≥ 3", r"$\geq$ 3"),
        ("two\nlines", "two lines"),
    ],
)
def test_every_sign_that_latex_knows_is_escaped(raw, escaped):
    assert f"{escaped} & 50.0 \\\\" in Table("t", ["c"], {raw: [0.5]}).to_latex().splitlines()


def test_json_holds_percentages_whole_numbers_words_and_nulls(table):
    read = json.loads(table.to_json())
    assert read["rows"]["AvgP"] == {"CMRM": 19.2, "PAMIR | ours": 26.34}
    assert read["rows"]["median rank"] == {"CMRM": 3.5, "PAMIR | ours": None}
    assert read["rows"]["queries"] == {"CMRM": 2241, "PAMIR | ours": None}
    assert read["rows"]["100% {a}"] == {"CMRM": "x_y", "PAMIR | ours": 100.0}
    assert read["bold"] == [["AvgP", "PAMIR | ours"]]


def test_a_table_without_rows_is_a_heading():
    assert Table("t", ["c"], {}).to_text() == "t\n  c"


@pytest.mark.parametrize(
    ("columns", "rows", "more", "why"),
    [
        (["a", "a"], {}, {}, "share a name"),
        (["a"], {"r": [1, 2]}, {}, "row 'r'"),
        (["a"], {"r": "x"}, {}, "row 'r'"),
        (["a"], {"r": [1]}, {"bold": [("r", "b")]}, "no cell"),
        (["a"], {"r": [1]}, {"plain": ["q"]}, "no row or column"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(columns, rows, more, why):
    with pytest.raises(BadInput, match=why):
        Table("t", columns, rows, **more)


def evaluation_of(**values: np.ndarray) -> Evaluation:
    ones = np.ones(20, dtype=np.int64)
    return Evaluation({name.replace("_", " "): v for name, v in values.items()}, ones, ones)


def test_measures_stand_under_their_models_and_the_significant_best_is_bold():
    low, high = np.arange(20) / 40, np.arange(20) / 20 + 0.05
    evaluations = {
        "CMRM": evaluation_of(AvgP=low, median_rank=np.full(20, 7.0)),
        "PAMIR": evaluation_of(AvgP=high, median_rank=np.full(20, 7.0)),
    }
    table = measures_table("Corel", evaluations)
    assert list(table.columns) == ["CMRM", "PAMIR"]
    assert list(table.bold) == [("AvgP", "PAMIR")]
    assert table.to_text().splitlines()[1:] == [
        "             CMRM   PAMIR",
        "AvgP         23.8    52.5*",
        "median rank   7.0     7.0",
    ]


def test_published_figures_stand_beside_ours_and_what_one_side_lacks_is_missing():
    ours = {"PAMIR": evaluation_of(AvgP=np.full(20, 0.27)), "kNN": evaluation_of(AvgP=np.zeros(20))}
    published = {"CMRM": {"AvgP": 0.192}, "PAMIR": {"AvgP": 0.263, "BLEU-1": 0.3, "median rank": 9}}
    table = measures_table("Corel", ours, published)
    assert json.loads(table.to_json())["rows"] == {
        "AvgP": {
            "CMRM published": 19.2,
            "CMRM ours": None,
            "PAMIR published": 26.3,
            "PAMIR ours": 27.0,
            "kNN published": None,
            "kNN ours": 0.0,
        },
        "BLEU-1": dict.fromkeys(table.columns) | {"PAMIR published": 30.0},
        "median rank": dict.fromkeys(table.columns) | {"PAMIR published": 9},
    }
    assert list(table.bold) == [("AvgP", "PAMIR ours")]


def test_a_table_is_text_in_a_terminal_and_markdown_in_a_notebook():
    table = Table("T", ["ours"], {"AvgP": [0.5]})
    assert str(table) == table.to_text()
    assert table._repr_markdown_() == table.to_markdown()

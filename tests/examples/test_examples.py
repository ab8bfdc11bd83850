"""The examples, run as they are written; each prints what its first line promises."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

PRINTED = {
    "own_arrays": r"snow: #\d+ .*'AvgP': [3-9]\d\.\d.* over all words",
    "own_captions": r"learnt \d\d words from 60 captioned pictures.*scene-\d+\.jpg  \(.*night",
    "compare_models": r"begin\{tabular\}\{lrrrr\}.*AvgP & .*PAMIR − mine: \+.* p = ",
    "click_loop": r"after 0 clicks, [1-5] of.*after 30 clicks, ([6-9]|10) of.*took back \d+ more",
    "own_embedder": r"learnt 30 words.*scene-\d+.*label=colour_cells.*stored 150 .*label=mine",
    "picture_to_text": r"(shows .* words .* caption .*){4}",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints_what_it_found(path: Path, capsys: pytest.CaptureFixture[str]):
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    assert re.search(PRINTED[path.stem], printed, re.DOTALL), printed


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_page_that_the_readme_names(path: Path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 42
    assert f"examples/{path.name}" in (ROOT / "README.md").read_text(encoding="utf-8")

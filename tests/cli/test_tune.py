"""visterm tune as a person meets it: the table, what is left, and wrong use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from visterm.datasets.scenes import draw_scenes

sys.path.insert(0, str(Path(__file__).parent))

from running import visterm  # it lies beside this file


@pytest.fixture(scope="module")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    lines = [
        f"{path.relative_to(folder)}\t{' '.join(words)}\n"
        for path, words in draw_scenes(folder, 40, seed=4)
    ]
    (folder / "captions.tsv").write_text("".join(lines))
    return folder / "captions.tsv"


def test_the_table_is_printed_best_first_and_what_is_left_is_said(captions: Path) -> None:
    study = captions.with_name("study.sqlite")
    features = "blocks(channels=((32, joint, 10),), colours=8)"
    words = [
        "tune",
        str(captions),
        "--features",
        features,
        "--kernel",
        "linear",
        "--study",
        str(study),
    ]
    words += ["--max-iter", "5000", "--C", "0.1", "--workers", "1"]
    nothing = visterm(*words, "--seconds", "0", cwd=captions.parent)
    assert nothing.returncode == 0, nothing.stderr
    assert f"4 of 4 trials are left; run it again to go on ({study})" in nothing.stdout
    whole = visterm(*words, cwd=captions.parent)
    lines = whole.stdout.splitlines()
    assert lines[0] == f"{captions}, AvgP on 3 validation pictures"
    assert [line.split()[0] for line in lines[2:]] == ["1", "2", "3", "4"]
    reached = [float(line.split()[1]) for line in lines[2:]]
    assert reached == sorted(reached, reverse=True)
    assert {"plain", "averaged", "hardest", "warp"} <= set(whole.stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nonsense"], "no dataset called 'nonsense'"),
        (["corel5k", "--features", "tea-leaves"], "no features called 'tea-leaves'"),
        (["corel5k", "--C", "0"], "C must be positive"),
    ],
)
def test_wrong_use_exits_with_2(tmp_path: Path, words: list[str], said: str) -> None:
    ran = visterm("tune", *words, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr

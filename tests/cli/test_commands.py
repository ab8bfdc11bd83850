"""The command line as a person or a script meets it: real output, exit codes, whole processes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from visterm import __version__
from visterm.cli.app import app
from visterm.cli.train import NAMES
from visterm.collection import Collection
from visterm.datasets import read_tsv
from visterm.models import MODELS, model_of

sys.path.insert(0, str(Path(__file__).parent))

from running import visterm as visterm_here  # it lies beside this file


def visterm(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "visterm", *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_version_is_printed() -> None:
    assert visterm("--version").stdout == f"visterm {__version__}\n"


def test_help_lists_the_commands_with_what_they_do() -> None:
    shown = visterm_here("--help", cwd=Path())
    assert shown.returncode == 0
    for command in ("demo", "evaluate", "reproduce"):
        assert f"\n  {command} " in shown.stdout


def _commands(command: Any, *above: str) -> Iterator[tuple[str, ...]]:
    """All commands that there are, those in groups too, and the groups themselves."""
    yield above
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, *above, name)


ALL_COMMANDS = list(_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("words", ALL_COMMANDS, ids=" ".join)
def test_the_help_of_every_command_has_an_example(words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name="visterm")
    assert shown.exit_code == 0
    assert re.search(rf"Example: .*visterm {' '.join(words)}", shown.output), shown.output
    assert "..." not in shown.output.partition("Commands:")[2], "a summary is cut off"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reproduce", "nonsense"], "no table called 'nonsense'; there are bbnn-2"),
        (["evaluate", "nonsense"], "no dataset called 'nonsense'"),
        (["train", "--model", "pamir(max_iter"], "is no name with parameters"),
        (["train", "--model", "pamir(force=1)"], "pamir has no parameter 'force'"),
        (["evaluate", "corel5k", "--data", "nowhere"], "no corel5k data at nowhere"),
        (["reproduce", "tpami-9", "--layout", "pdf"], "no layout called 'pdf'"),
        (["reproduce", "tpami-9", "--figure", "x.gif"], "a figure's name ends in .png, .svg, .pdf"),
        (
            ["reproduce", "tpami-9", "tpami-10", "--figure", "x.png"],
            "need a folder for their",
        ),
        (["reproduce", "bitr-1", "bitr-fig6", "--page", "x.html"], "need a folder for their pages"),
        (["demo", "--pictures", "3"], "60"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_use_says_what_is_wrong_and_exits_with_2(
    tmp_path: Path, words: list[str], said: str
) -> None:
    Collection.open(tmp_path).close()
    ran = visterm_here(*words, cwd=tmp_path)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""


def test_a_missing_model_or_feature_is_named(tmp_path: Path) -> None:
    table = tmp_path / "captions.tsv"
    table.write_text("".join(f"{i}.jpg\ttree snow\n" for i in range(30)))
    ran = visterm_here("evaluate", table, "--model", "oracle", cwd=tmp_path)
    assert (ran.returncode, "no model called 'oracle'; there are" in ran.stderr) == (2, True)
    ran = visterm_here("evaluate", table, "--features", "tea-leaves", cwd=tmp_path)
    assert (ran.returncode, "no features called 'tea-leaves'" in ran.stderr) == (2, True)


def test_a_process_ends_with_the_code_and_the_line_of_its_error() -> None:
    ran = visterm("reproduce", "nonsense")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("visterm: no table called 'nonsense'")


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    code = (
        "import sys, visterm.cli.app; "
        "print([m for m in ('numpy', 'scipy', 'numba', 'sklearn', 'PIL', 'faiss', 'torch', "
        "'onnxruntime') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("demo")
    ran = visterm_here("demo", "--pictures", "120", "--json", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return folder, json.loads(ran.stdout)


def test_demo_teaches_a_word_by_three_pictures_and_finds_others(demo: tuple[Path, dict]) -> None:
    folder, found = demo
    table = read_tsv(folder / "demo" / "pictures" / "captions.tsv")
    shown = {Path(path).name for path in found["examples"]}
    assert len(shown) == 3
    others = {path.name for path, caption in table if found["word"] in caption.split()} - shown
    before, after = (
        {Path(one["path"]).name for one in search["response"]["results"]}
        for search in found["searches"][-2:]
    )
    assert shown <= after
    assert len(others & after) > len(others & before)


def test_demo_shows_each_search_and_what_to_do_next(demo: tuple[Path, dict]) -> None:
    folder, _ = demo
    ran = visterm_here("demo", "--pictures", "120", "--no-serve", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert "120 pictures in demo/pictures; none has a caption." in ran.stdout
    assert "$ cd demo/pictures\n" in ran.stdout
    assert '$ visterm search "forest -snow"\n' in ran.stdout
    assert re.search(r"^ +\d+ %  scene-\d+\.jpg$", ran.stdout, re.MULTILINE)
    assert "visterm feedback" not in ran.stdout, "it was taught the first time"
    assert ran.stdout.endswith("visterm serve demo/pictures\n")


def test_demo_draws_pictures_where_no_photographs_can_be_fetched(tmp_path: Path) -> None:
    ran = visterm_here("demo", "--json", cwd=tmp_path, environment={"PATH": str(tmp_path)})
    assert ran.returncode == 0, ran.stderr
    assert "no photographs, so pictures are drawn instead: they lie in Debian" in ran.stderr
    assert json.loads(ran.stdout)["pictures"] == 200


def test_evaluate_reads_any_table_of_captions(demo: tuple[Path, dict]) -> None:
    folder, _ = demo
    table = folder / "demo" / "pictures" / "captions.tsv"
    features = "blocks(channels=((32, joint, 200), (32, colours, 100)))"
    model = "pamir(max_iter=60000, C=(0.1, 0.3, 1.0))"
    ran = visterm_here(
        "evaluate",
        table,
        "--features",
        features,
        "--model",
        model,
        "--workers",
        "1",
        "--json",
        cwd=folder,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["AvgP"] > 20
    assert set(found["slices"]) == {"single", "multi", "easy", "difficult", "seen", "unseen"}
    assert found["seconds"]["total"] > 0
    assert found["chosen"]["C"] in (0.1, 0.3, 1.0)


@pytest.mark.parametrize("words", [["--help"], ["reproduce", "--help"]])
def test_output_that_nobody_reads_any_more_is_no_error(tmp_path: Path, words: list[str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "visterm", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()  # as `head` does when it has seen enough
        assert running.stderr.read() == ""


def test_the_models_that_help_lists_are_those_there_are() -> None:
    assert {model_of(name) for name in NAMES} == set(MODELS.values())

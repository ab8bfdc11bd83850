"""The page for newcomers, run as it is written, on drawn scenes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "first-minutes.md"


def blocks() -> list[str]:
    """The page's commands, but for those that install."""
    found = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [block for block in found if "pip install" not in block]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    folder = tmp_path_factory.mktemp("newcomer")
    tools = folder / "bin"
    tools.mkdir()
    for name, module in (("python", ""), ("visterm", "-m visterm")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        (tools / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    commands = "\n".join(
        f"echo '# block {number}'\n{block}" for number, block in enumerate(blocks())
    )
    return subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def said(ran: subprocess.CompletedProcess[str], command: str) -> str:
    """What the block that holds a command printed."""
    number = next(number for number, block in enumerate(blocks()) if command in block)
    return ran.stdout.split(f"# block {number}\n")[1].split("# block")[0]


@pytest.mark.skipif(os.name == "nt", reason="the page is written for a POSIX shell")
class TestPage:
    def test_every_command_works(self, ran: subprocess.CompletedProcess[str]):
        assert ran.returncode == 0, ran.stderr[-2000:]
        assert len(blocks()) >= 6

    def test_the_first_search_answers_without_a_caption(
        self, ran: subprocess.CompletedProcess[str]
    ):
        assert len(re.findall(r"scene-\d+\.jpg", said(ran, 'search "beach"'))) == 5
        assert "indexing" in ran.stderr

    def test_the_answer_says_what_a_word_was_taken_for(self, ran: subprocess.CompletedProcess[str]):
        assert "'ocean' is taken for sea" in ran.stderr

    def test_training_and_words_of_ones_own_are_told(self, ran: subprocess.CompletedProcess[str]):
        assert "learnt" in said(ran, "visterm train")
        assert len(re.findall(r"scene-\d+\.jpg", said(ran, 'search "favourite view"'))) == 8
        assert "pamir" in said(ran, "visterm status")

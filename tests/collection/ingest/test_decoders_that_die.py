"""A picture that crashes its decoder costs itself, in a command of a few pictures too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.readers import reading_by

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.pictures.sandbox import CRASHES, HANGS, Readers

# A child of an interpreter that loads this ends at a picture of that name, as by a bug in C.
_DEADLY = """
import os, sys
def dies(event, arguments):
    if event == "open" and "deadly" in str(arguments[0]):
        os.abort()
if "visterm.pictures.sandbox" in str(sys.orig_argv):
    sys.addaudithook(dies)
"""


@pytest.fixture
def deadly(tmp_path: Path) -> dict[str, str]:
    """Where a picture is called deadly, and what lets it be so."""
    draw_scenes(tmp_path / "pictures", 6, size=(48, 32))
    (tmp_path / "pictures" / "scene-0002.jpg").rename(tmp_path / "pictures" / "deadly.jpg")
    (tmp_path / "sitecustomize.py").write_text(_DEADLY)
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}


def test_a_picture_that_crashes_its_decoder_costs_itself(
    tmp_path: Path, deadly: dict[str, str]
) -> None:
    add = [sys.executable, "-m", "visterm", "add", "--features", "blocks", "pictures"]
    ran = subprocess.run(add, cwd=tmp_path, env=deadly, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert f"deadly.jpg: {CRASHES}" in ran.stderr
    with Collection.open(tmp_path / "pictures", create=False) as found:
        assert len(found) == 5


def test_of_a_decoder_that_never_starts_no_picture_is_said_to_be_broken(tmp_path: Path) -> None:
    draw_scenes(tmp_path, 3, size=(48, 32))
    with Collection.open(tmp_path) as collection:
        collection.add(features="blocks")
        draw_scenes(tmp_path / "more", 3, seed=1, size=(48, 32))
        with reading_by(Readers(1, command=("false",))):
            assert len(collection.add().skipped) == 3
        assert collection.add().new == 3


def test_a_picture_that_never_decodes_costs_its_time_once(tmp_path: Path) -> None:
    draw_scenes(tmp_path, 3, size=(48, 32))
    hanging = ("sh", "-c", "echo {}; exec sleep 60")
    with Collection.open(tmp_path) as collection:
        collection.add(features="blocks")
        draw_scenes(tmp_path / "more", 1, seed=1, size=(48, 32))
        with reading_by(Readers(1, 0.1, hanging)):
            ((path, reason),) = collection.add().skipped
            assert reason.startswith(HANGS)
        with reading_by(Readers(1, command=("false",))):
            assert collection.add().skipped == [], "it is not even tried"
        assert collection.add().new == 0
        assert collection.add([tmp_path / path]).new == 1, "unless it is named"


def test_where_no_picture_decodes_each_costs_its_time_once(tmp_path: Path) -> None:
    draw_scenes(tmp_path, 2, size=(48, 32))
    with Collection.open(tmp_path) as collection:
        with reading_by(Readers(2, 0.1, ("sh", "-c", "echo {}; exec sleep 60"))):
            report = collection.add(features="blocks")
        assert [reason.startswith(HANGS) for _, reason in report.skipped] == [True, True]
        with reading_by(Readers(1, command=("false",))):
            assert collection.add(features="blocks").skipped == [], "they are not even tried"

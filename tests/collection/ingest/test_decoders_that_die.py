"""A picture that crashes its decoder costs itself, in a command of a few pictures too."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.pictures.decoding import isolation
from visterm.pictures.decoding.decoder_process import CRASHES, DecoderProcesses
from visterm.pictures.decoding.isolation import decoders, decoding_elsewhere

# A child of an interpreter that loads this ends at a picture of that name, as by a bug in C.
_DEADLY = """
import os, sys
def dies(event, arguments):
    if event == "open" and "deadly" in str(arguments[0]):
        os.abort()
if "decoder_process" in str(sys.orig_argv):
    sys.addaudithook(dies)
"""


@pytest.fixture
def deadly(tmp_path: Path) -> dict[str, str]:
    """Where a picture is called deadly, and what lets it be so."""
    draw_scenes(tmp_path / "pictures", 6, size=(48, 32))
    (tmp_path / "pictures" / "scene-0002.jpg").rename(tmp_path / "pictures" / "deadly.jpg")
    (tmp_path / "sitecustomize.py").write_text(_DEADLY)
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}


@pytest.mark.skipif(os.name == "nt", reason="pipes cannot be waited for there")
def test_a_picture_that_crashes_its_decoder_costs_itself(
    tmp_path: Path, deadly: dict[str, str]
) -> None:
    add = [sys.executable, "-m", "visterm", "add", "--features", "blocks", "pictures"]
    ran = subprocess.run(add, cwd=tmp_path, env=deadly, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert f"deadly.jpg: {CRASHES}" in ran.stderr
    with Collection.open(tmp_path / "pictures", create=False) as found:
        assert len(found) == 5


@pytest.mark.skipif(os.name == "nt", reason="pipes cannot be waited for there")
@pytest.mark.parametrize("command", ["false", "echo {}; exec sleep 60"])
def test_of_a_decoder_that_never_starts_or_answers_no_picture_is_said_to_be_broken(
    tmp_path: Path, command: str
) -> None:
    draw_scenes(tmp_path, 3, size=(48, 32))
    with Collection.open(tmp_path) as collection:
        collection.add(features="blocks")
        draw_scenes(tmp_path / "more", 3, seed=1, size=(48, 32))
        with decoding_elsewhere(DecoderProcesses(1, 0.2, ("sh", "-c", command))):
            assert len(collection.add().skipped) == 3
        assert collection.add().new == 3


def test_without_a_collection_files_are_decoded_in_this_process(tmp_path: Path) -> None:
    gc.collect()  # may end collections that somebody forgot to close
    before = isolation._users
    with Collection.open(tmp_path):
        assert isolation._users == before + 1
        assert decoders() is not None or os.name == "nt"
    assert isolation._users == before

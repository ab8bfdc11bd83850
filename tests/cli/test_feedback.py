"""Yes and no by commands, and good matches only."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))

from running import visterm  # it lies beside this file

# A small codebook: with the usual one, so few small pictures have hardly a visterm in common.
FEATURES = "blocks(channels=((16, joint, 60), (8, colours, 40)), colours=20)"


def told(*words: str, cwd: Path) -> Any:
    ran = visterm(*words, "--json", cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough captioned pictures that some are held out, and that are easily told apart."""
    found = tmp_path_factory.mktemp("Pictures")
    random = np.random.default_rng(0)
    for name, colour in (
        ("forest", (30, 110, 40)),
        ("city", (120, 120, 125)),
        ("sea", (30, 60, 190)),
    ):
        for number in range(45):
            noise = random.normal(0, 12, (32, 48, 3)) + random.normal(0, 8, 3) + colour
            path = found / f"{name}{number}.png"
            Image.fromarray(np.clip(noise, 0, 255).astype(np.uint8)).save(path)
            path.with_suffix(".txt").write_text(name)
    assert visterm("add", "--features", FEATURES, cwd=found).returncode == 0
    assert visterm("train", cwd=found).returncode == 0
    return found


def test_a_yes_and_a_no_are_learnt_listed_and_taken_back(folder: Path) -> None:
    assert visterm("feedback", cwd=folder).stdout == "nothing was said yet\n"
    before = told("search", "sea", "-k", "135", cwd=folder)["results"]
    low, high = before[100]["path"], before[0]["path"]
    said = told("feedback", "yes", "sea", low, cwd=folder)["yes"]
    assert [(one["query"], one["relevant"], one["path"]) for one in said] == [("sea", True, low)]
    assert told("feedback", "no", "sea", high, cwd=folder)["no"][0]["relevant"] is False
    after = [one["path"] for one in told("search", "sea", "-k", "135", cwd=folder)["results"]]
    assert after.index(low) < 100
    listed = visterm("feedback", "list", cwd=folder).stdout.splitlines()
    assert [line.split()[1:3] for line in listed] == [["yes", "sea"], ["no", "sea"]]
    first = str(said[0]["id"])
    assert told("feedback", "undo", first, cwd=folder)["undo"][0]["path"] == low
    assert visterm("feedback", "reset", cwd=folder).stdout.endswith("1 taken back\n")
    assert told("search", "sea", "-k", "135", cwd=folder)["results"] == before


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("yes", "sea"), "name a query and a picture"),
        (("yes", "sea", "nowhere.jpg"), "not in the collection"),
        (("no", "unheardof", "sea1.png"), "nobody knows 'unheardof' yet"),
        (("undo",), "nothing to undo"),
        (("undo", "last"), "undo takes one number"),
        (("list", "all"), "takes nothing more"),
        (("maybe", "sea", "sea1.png"), "maybe"),
    ],
)
def test_wrong_use_is_explained(folder: Path, words: tuple[str, ...], reason: str) -> None:
    ran = visterm("feedback", *words, cwd=folder)
    assert ran.returncode == 2
    assert reason in ran.stderr


def test_good_matches_end_at_the_cutoff(folder: Path) -> None:
    whole = told("search", "sea", "-k", "135", cwd=folder)
    good = told("search", "sea", "-k", "135", "--good", cwd=folder)
    assert 0 < whole["cutoff"] < 60
    assert good["results"] == whole["results"][: whole["cutoff"]]
    chances = [one["probability"] for one in whole["results"]]
    assert chances == sorted(chances, reverse=True)

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
    assert visterm("feedback", cwd=folder).stdout == "no answers yet\n"
    before = told("search", "sea", "-k", "135", cwd=folder)["results"]
    low, high = before[100]["path"], before[0]["path"]
    assert told("feedback", "yes", "sea", low, cwd=folder) == {"yes": 1}
    assert told("feedback", "no", "sea", high, cwd=folder) == {"no": 1}
    said = told("feedback", cwd=folder)["list"]
    assert [(one["query"], one["relevant"], one["path"]) for one in said] == [
        ("sea", True, low),
        ("sea", False, high),
    ]
    after = [one["path"] for one in told("search", "sea", "-k", "135", cwd=folder)["results"]]
    assert after.index(low) < 100
    listed = visterm("feedback", "list", cwd=folder).stdout.splitlines()
    assert [line.split()[1:3] for line in listed] == [["yes", "sea"], ["no", "sea"]]
    first = str(said[0]["id"])
    assert told("feedback", "undo", first, cwd=folder)["undo"][0]["path"] == low
    assert visterm("feedback", "reset", cwd=folder).stdout.endswith("1 answer taken back\n")
    assert told("search", "sea", "-k", "135", cwd=folder)["results"] == before


def test_several_answers_are_one_step(folder: Path) -> None:
    refused = visterm("feedback", "yes", "sea", "sea1.png", "nowhere.png", cwd=folder)
    assert refused.returncode == 2
    assert told("feedback", cwd=folder)["list"] == [], "nothing of what was refused is kept"
    ran = visterm("feedback", "yes", "sea", "sea1.png", "sea2.png", cwd=folder)
    assert ran.stdout == "2 answers given; visterm undo takes this back\n"
    assert told("undo", cwd=folder)["pictures"] == 2
    assert told("feedback", cwd=folder)["list"] == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("yes", "sea"), "name a query and a picture"),
        (("yes", "sea", "nowhere.jpg"), "not in the collection"),
        (("no", "unheardof", "sea1.png"), "not known yet: 'unheardof'"),
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


def test_a_search_says_where_good_matches_end_and_how_many_more_there_are(folder: Path) -> None:
    whole = told("search", "sea", "-k", "135", cwd=folder)
    good = whole["cutoff"]
    few = visterm("search", "sea", "-k", str(good - 1), "--good", cwd=folder)
    assert few.stderr.splitlines()[-1] == f"visterm: 1 more good match; -k {good} shows all"
    one = visterm("search", "sea", "-k", "1", cwd=folder)
    assert f"{good - 1} more good matches; -k {good} shows all" in one.stderr
    ran = visterm("search", "sea", "-k", "135", cwd=folder)
    assert "good matches end here" in ran.stderr
    percentages = [line.split("%")[0].strip("<> ") for line in ran.stdout.splitlines()]
    assert all(text.isdigit() for text in percentages), "no raw scores"


def test_an_explanation_speaks_in_percentages_and_factors(folder: Path) -> None:
    best = told("search", "sea", "-k", "1", cwd=folder)["results"][0]
    about = told("explain", best["path"], "sea", cwd=folder)
    assert about["score"] == pytest.approx(best["score"], abs=1e-5)
    first, says, *others = visterm("explain", best["path"], "sea", cwd=folder).stdout.splitlines()
    assert first.split("%")[1].strip() == Path(best["path"]).name
    assert says == "  caption: sea"
    assert others[0].startswith("  captions: ")
    assert "  sea: " in "\n".join(others)
    assert "times as likely" in "\n".join(others)


def test_one_thing_or_another_takes_no_answer(folder: Path) -> None:
    ran = visterm("feedback", "yes", "sea OR city", "sea1.png", cwd=folder)
    assert ran.returncode == 2
    assert "without OR" in ran.stderr


def test_a_word_of_ones_own_says_why_no_chance_is_shown(folder: Path) -> None:
    assert (
        visterm("feedback", "yes", "Atlantic", "sea1.png", "sea2.png", cwd=folder).returncode == 0
    )
    ran = visterm("search", "Atlantic", "-k", "5", cwd=folder)
    assert "%" not in ran.stdout
    assert "your yes to 2 pictures" in ran.stderr
    assert (
        visterm("undo", cwd=folder).stdout == "took back the answer to 'atlantic' of 2 pictures\n"
    )


def test_an_answer_to_a_word_that_is_read_as_another_says_so(folder: Path) -> None:
    ran = visterm("feedback", "yes", "Wald", "forest1.png", cwd=folder)
    assert "'wald' is read as forest" in ran.stderr
    assert visterm("undo", cwd=folder).returncode == 0
    ran = visterm("feedback", "yes", "sea Fido", "sea1.png", cwd=folder)
    assert "not known yet: 'fido'" in ran.stderr
    assert visterm("undo", cwd=folder).returncode == 0


def test_a_quoted_or_given_name_is_taught_as_itself(folder: Path) -> None:
    for name in ("Rosa", '"Wald"'):
        ran = visterm("feedback", "yes", name, "sea1.png", cwd=folder)
        assert ran.returncode == 0
        assert "is read as" not in ran.stderr
        found = told("search", name, "-k", "1", cwd=folder)
        assert found["replaced"] == {}
        assert Path(found["results"][0]["path"]).name == "sea1.png"
        assert visterm("undo", cwd=folder).returncode == 0
    assert told("search", "Wald", "-k", "1", cwd=folder)["replaced"] == {"wald": ["forest"]}

"""visterm evaluate on tables of one's own: given parts, several models, one's own among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from visterm.cli.app import app
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput

SMALL = "blocks(channels=((32, joint, 20),), colours=8)"
OWN_MODEL = """
import numpy as np

class Ridge:
    def __init__(self, strength=1.0):
        self.strength = strength

    def fit(self, X, Y):
        X, Y = X.toarray(), Y.toarray()
        self.weights = np.linalg.solve(X.T @ X + self.strength * np.eye(X.shape[1]), X.T @ Y)
        return self

    def transform(self, X):
        return X @ self.weights
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn scenes with two captions each, in tables of 50, 15 and 25 pictures."""
    folder = tmp_path_factory.mktemp("scenes")
    scenes = draw_scenes(folder, 90, seed=6)
    for name, part in (("train", scenes[:50]), ("held", scenes[50:65]), ("test", scenes[65:])):
        rows = [
            f"{path.name}\t{' '.join(words[at::2])}\n" for path, words in part for at in range(2)
        ]
        (folder / f"{name}.tsv").write_text("".join(rows))
    (folder / "my_ridge.py").write_text(OWN_MODEL)
    return folder


def evaluate(folder: Path, *words: str) -> str:
    given = ["--train", "train.tsv", "--validation", "held.tsv", "--test", "test.tsv"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ran = CliRunner().invoke(app, ["evaluate", *given, "--workers", "1", *words])
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    assert ran.exit_code == 0
    return ran.stdout


def test_the_best_model_is_measured_on_other_features(tables: Path) -> None:
    found = json.loads(evaluate(tables, "--preset", "best", "--features", SMALL, "--json"))
    assert (found["model"], found["features"]) == ("kernel-ridge", SMALL)
    assert found["AvgP"] > 0


def test_models_are_compared_in_one_table_ones_own_included(tables: Path) -> None:
    models = ["--model", "cca", "--model", "cmrm", "--model", "my_ridge:Ridge(strength=0.1)"]
    shown = evaluate(tables, "--features", SMALL, *models, "--layout", "latex")
    assert r"\begin{tabular}" in shown
    for name in ("cca", "cmrm", "Ridge(strength=0.1)"):
        assert name in shown
    found = json.loads(
        evaluate(tables, "--features", SMALL, *models, "--seeds", "2", "--ranks", "--json")
    )
    assert set(found["models"]) == {"cca", "cmrm", "my_ridge:Ridge(strength=0.1)"}
    best = found["models"][found["best"]]
    for name, one in found["models"].items():
        assert one["interval_95"][0] < one["AvgP"] < one["interval_95"][1]
        assert one["AvgP"] <= best["AvgP"]
        assert (one["p_value"] is None) == (name == found["best"])
        assert len(one["AvgP_by_seed"]) == len(one["runs"]) == 2
        ranks = one["runs"][0]["ranks"]
        # Each of the 50 captions asks for one of 25 pictures; each picture for one of 50 captions.
        assert 1 <= ranks["image retrieval median rank"] <= 25
        assert ranks["image retrieval R@1"] <= ranks["image retrieval R@10"]
        assert ranks["annotation R@1"] <= ranks["annotation R@10"] <= 100


def test_one_model_prints_its_slices_and_queries_follow_the_options(tables: Path) -> None:
    words = ["--features", SMALL, "--model", "cca", "--json"]
    every = json.loads(evaluate(tables, *words))
    assert every["dataset"] == "train"
    assert every["model"] == "cca"
    (tables / "words.txt").write_text("sky\nsea\ntree\n")
    single = ["--vocabulary", str(tables / "words.txt"), "--max-words", "1"]
    few = json.loads(evaluate(tables, *words, *single))
    assert few["queries"] <= 3 < every["queries"]


def test_wrong_models_and_tables_are_refused_with_advice(tables: Path) -> None:
    with pytest.raises(BadInput, match="my_ridge:Wave cannot be made"):
        evaluate(tables, "--model", "my_ridge:Wave")
    with pytest.raises(BadInput, match="either a data set or --train"):
        evaluate(tables, "corel5k")


def test_unreadable_pictures_of_a_table_are_named(tables: Path) -> None:
    (tables / "broken.jpg").write_bytes(b"no picture")
    rows = (tables / "train.tsv").read_text() + "broken.jpg\tsea\ngone.jpg\tsky\n"
    (tables / "broken.tsv").write_text(rows)
    with pytest.raises(BadInput, match=r"2 pictures of broken cannot be read: .*broken\.jpg.*gone"):
        evaluate(tables, "--train", "broken.tsv", "--features", SMALL)


def test_pictures_that_lose_pixels_are_not_shrunk_silently(tables: Path) -> None:
    words = ["evaluate", str(tables / "train.tsv"), "--model", "cca", "--workers", "1"]
    ran = CliRunner().invoke(app, [*words, "--features", f"{SMALL[:-1]}, max_side=96)"])
    assert "192 × 128 pixels, are shrunk to 96 on the long side" in ran.stderr
    assert "blocks(max_side=192) sees them all" in ran.stderr
    assert "shrunk" not in CliRunner().invoke(app, [*words, "--features", SMALL]).stderr

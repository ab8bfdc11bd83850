"""Every table of the papers, made small on drawn scenes; what a command keeps; what is refused."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import papers.bitr2017.timings as timings
import pytest
from typer.testing import CliRunner

from visterm.cli.app import app
from visterm.datasets import read_iaprtc12
from visterm.errors import BadInput
from visterm.experiments import tables
from visterm.experiments.tables import entry, maker_of, reproduce, result_key

PAPERS = Path(__file__).parents[2] / "papers"
NAMES = [
    name
    for file in sorted(PAPERS.glob("*/tables.toml"))
    for name in tomllib.loads(file.read_text(encoding="utf-8"))["tables"]
]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timings, "PAIRS", (60,))
    monkeypatch.setattr(timings, "WIDTHS", (4,))
    monkeypatch.setattr(timings, "SAMPLES", (10, 100))
    monkeypatch.setattr(timings, "_BLOCK", 10)


@pytest.mark.parametrize("table", NAMES)
def test_every_entry_names_code_that_there_is_and_a_title(table: str) -> None:
    found = entry(table)
    assert callable(maker_of(found))
    assert found.table["title"]
    if "experiment" in found.table:
        assert found.experiment["data"] in ("corel5k", "iaprtc12")
        assert "models" in found.experiment or "rows" in found.experiment


@pytest.mark.parametrize(
    ("table", "method"),
    [
        ("bitr-2", "BITR-C (CTR)"),
        ("bitr-6", "kernel ridge + balanced neighbours (three CNNs)"),
        ("bitr-7", "contrastive, CNN + words + sentences"),
    ],
)
def test_cross_modal_tables_hold_every_method(table: str, method: str, root: Path) -> None:
    found = reproduce(table, root, partitions=0).to_json()
    assert found["partitions"] == ["given split"]
    assert {*found["published"], method} <= set(found["ours"])
    assert ("BITR-C (CTR), mean texts" in found["ours"]) == (table == "bitr-6")
    assert json.dumps(found)


def test_the_words_of_captions_that_are_found_are_compared(root: Path) -> None:
    report = reproduce("bitr-3", root, partitions=0)
    row = report.table.rows["BITR-C (CTR), ours"]
    assert [c.split(" ")[0] for c in report.table.columns] == [
        "BLEU-1", "BLEU-2", "BLEU-3", "ROUGE-1"
    ]  # fmt: skip
    assert all(0 < float(value or 0) <= 1 for value in row)


def test_labels_as_published_hold_the_papers_methods_and_show_f_alone(root: Path) -> None:
    report = reproduce("bitr-6", root, partitions=0, as_published=True)
    found = report.to_json()
    assert set(found["published"]) <= set(found["ours"])
    assert not [name for name in found["ours"] if "mean texts" in name or "three CNNs" in name]
    assert "P@5 with prior → text" in report.table.columns
    assert "most frequent labels" in report.table.rows  # the prior alone


def test_what_one_data_set_teaches_is_tested_on_the_other(root: Path) -> None:
    found = reproduce("bitr-4", root).found
    assert found["words"] > 5
    for quality in found["AvgP"].values():
        assert len(quality) == 4
        assert all(0 < value <= 1 for value in quality)
    with pytest.raises(BadInput, match="learns on one data set and tests on another"):
        reproduce("bitr-4", read_iaprtc12(root))


def test_captions_are_learnt_on_one_data_set_and_tested_on_another(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ("CCA", "WSABIE (TR)")  # tables 2 and 7 run them all
    paper = entry("bitr-exp2").paper
    some = {
        group: {name: one for name, one in paper["methods"][group].items() if name in wanted}
        for group in ("topics", "cnn")
    }
    monkeypatch.setitem(paper, "methods", some)
    found = reproduce("bitr-exp2", root / "flickr8k").to_json()
    assert set(found["ours"]) == {"IAPR → Flickr8k", "Flickr8k → IAPR"}
    for measured in found["ours"].values():
        assert set(measured) == {"random order", "CCA", "WSABIE (TR)", "CCA (CNN)"}
        for ways in measured.values():
            assert all(0 <= way["R@1"] <= way["R@50"] <= 1 for way in ways.values())
    assert reproduce("bitr-exp2", root).to_json() == found  # the folder above is as good
    with pytest.raises(BadInput, match="learns on one data set and tests on another"):
        reproduce("bitr-exp2", read_iaprtc12(root))


def test_examples_show_five_answers_both_ways(root: Path) -> None:
    pytest.importorskip("HanTa")
    report = reproduce("bitr-fig6", root)
    assert len(report.found) == 4
    for ways in report.found.values():
        for one in (one for every in ways.values() for one in every):
            assert 0 < len(one["answers"]) <= 5
    assert report.page is not None
    assert b"data:image/jpeg" in report.page


def test_the_data_sets_there_are_are_counted(root: Path) -> None:
    found = reproduce("bitr-1", root).to_json()["ours"]
    assert found["flickr8k"]["captions_a_picture"] == 2
    assert found["corel5k"]["samples"] == 100
    assert set(reproduce("bitr-1", root / "iaprtc12").to_json()["ours"]) == {"iaprtc12"}


def test_sentences_find_pictures_on_the_split_of_flickr8k(root: Path) -> None:
    report = reproduce("flickr8k", root)
    found = report.to_json()
    ways = found["flickr8k"]
    assert 0 <= ways["image_retrieval"]["r1"] <= ways["image_retrieval"]["r10"] <= 100
    assert ways["annotation"]["r10"] > 50  # of 20 pictures
    assert {"CCA, CNN + LSA", "contrastive"} < set(found["ours"])
    best = max(one["R@1"] for one in found["published"].values())
    ahead = ways["image_retrieval"]["r1"] / 100 > best
    assert (("contrastive, mean of 2 seeds", "image retrieval R@1") in report.table.bold) == ahead


def test_annotation_is_measured_in_every_way_on_both_data_sets(root: Path) -> None:
    report = reproduce("annotation", root)
    found = report.to_json()["annotation"]
    for name in ("corel5k", "iaprtc12"):
        assert len(found[name]["ways"]) == 4
        assert found[name]["f1"] == found[name]["ways"][found[name]["chosen"]]["f1"]
        assert 0 < found[name]["n_plus"] <= found[name]["labels"]
    assert not [cell for cell in report.table.bold if cell[1] == "N+"]  # ties and less are not bold
    alone = reproduce("annotation", root / "corel5k").to_json()["annotation"]
    assert alone == {"corel5k": found["corel5k"]}


@pytest.mark.parametrize("figure", ["bitr-fig3", "bitr-fig4"])
def test_timings_are_measured_on_drawn_pairs(figure: str) -> None:
    seconds = reproduce(figure).to_json()["seconds"]
    ours = [row for name, row in seconds.items() if not name.endswith("published")]
    assert ours
    assert all(row[0] >= 0 for row in ours)


def test_a_command_keeps_what_it_found_with_its_source_seed_and_date(root: Path) -> None:
    words = ["reproduce", "corel-statistics", "--data", str(root), "--json"]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    file = tables.results_file(entry("corel-statistics"))
    kept = json.loads(file.read_text())["corel-statistics"]
    assert set(kept) == {"date", "source", "seconds", "options", "table", "found"}
    assert kept["found"] == json.loads(ran.stdout)
    assert kept["options"] == {"seed": 0}
    assert kept["source"] == tables.code_digest()[:16]
    assert kept["table"].startswith("**TPAMI table 1")


def test_other_pictures_and_options_are_not_kept_under_the_papers_names(root: Path) -> None:
    file = tables.results_file(entry("tpami-2"))
    before = file.read_text() if file.exists() else ""
    corel = root / "corel5k"
    words = ["--train", str(corel / "train.tsv"), "--test", str(corel / "test.tsv")]
    ran = CliRunner().invoke(app, ["reproduce", "corel-statistics", *words])
    assert ran.exit_code == 0, ran.output
    assert (file.read_text() if file.exists() else "") == before
    assert result_key("bitr-2", {"seed": 3, "partitions": 0}) == "bitr-2 --seed 3 --partitions 0"


def test_without_a_name_all_tables_are_listed() -> None:
    ran = CliRunner().invoke(app, ["reproduce"])
    assert ran.exit_code == 0
    assert [line.split(" ")[0] for line in ran.stdout.splitlines()] == NAMES


def test_without_a_checkout_one_says_where_the_papers_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables.visterm, "__file__", str(tmp_path / "a" / "b" / "visterm.py"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="not installed with visterm; get its repository"):
        tables.papers_folder()


def test_what_a_table_does_not_have_is_refused(root: Path) -> None:
    with pytest.raises(BadInput, match="leave partitions out"):
        reproduce("corel-statistics", root, partitions=3)
    with pytest.raises(BadInput, match="leave as-published out"):
        reproduce("tpami-2", root, as_published=True)
    with pytest.raises(BadInput, match="leave seeds out"):
        reproduce("bitr-2", root, seeds=3)
    with pytest.raises(BadInput, match="no table called 'tpami-99'"):
        reproduce("tpami-99", root)

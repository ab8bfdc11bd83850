"""Tables of the papers that take minutes, run small: on drawn scenes instead of their data."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from visterm.datasets import read_iaprtc12
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput
from visterm.experiments.papers.bitr import (
    cnn_methods,
    cross_dataset,
    examples,
    methods,
    partitions,
    published_settings,
    timings,
)
from visterm.experiments.papers.leaderboards import flickr8k
from visterm.experiments.papers.registry import reproduce
from visterm.experiments.runner import caption_vectors
from visterm.text.spaces import Lsa


def write_tables(folder: Path, seed: int) -> None:
    """Drawn pictures in the tables of Corel and of IAPR TC-12: 80 to learn from, 20 to test on."""
    drawn = draw_scenes(folder, 100, seed=seed, size=(48, 32))
    for part, some in (("train", drawn[:80]), ("test", drawn[80:])):
        labels = [f"{path.name}\t{' '.join(words)}\n" for path, words in some]
        said = [
            f"{path.name}\tA {words[0]} near a {words[1]} and a {words[-1]}.\n"
            for path, words in some
        ]
        (folder / f"{part}.tsv").write_text("".join(labels))
        (folder / f"{part}_labels.tsv").write_text("".join(labels))
        (folder / f"{part}_captions.tsv").write_text("".join(said))


def write_flickr8k(root: Path) -> None:
    """IAPR's drawn training pictures in the tables of Flickr8k, with two captions a picture."""
    lines = (root / "iaprtc12" / "train_captions.tsv").read_text().splitlines(keepends=True)
    (root / "flickr8k").mkdir()
    for part, some in {"train": lines[:50], "dev": lines[50:60], "test": lines[60:80]}.items():
        rows = [said for line in some for said in (line, line.replace(" near ", " by "))]
        (root / "flickr8k" / f"{part}_captions.tsv").write_text("".join(rows))
        for line in some:
            name = line.split("\t")[0]
            (root / "flickr8k" / name).write_bytes((root / "iaprtc12" / name).read_bytes())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(("corel5k", "iaprtc12")):
        write_tables(folder / name, seed)
    write_flickr8k(folder)
    return folder


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(timings, "PAIRS", (60,))
    monkeypatch.setattr(timings, "WIDTHS", (4,))
    monkeypatch.setattr(timings, "SAMPLES", (10, 100))
    monkeypatch.setattr(timings, "_BLOCK", 10)
    monkeypatch.setattr(methods, "_STRENGTHS", (10.0, 100.0))
    monkeypatch.setattr(partitions, "TOPICS", 8)
    monkeypatch.setattr(methods, "TOPICS", 8)
    # Word and sentence vectors come with packages of their own, which may not be there.
    monkeypatch.setattr(cnn_methods, "Glove", lambda: Lsa(8, random_state=0))
    sentences = Lsa(4, min_captions=1, random_state=0).fit(["a sun", "a sea", "a tree by a house"])
    monkeypatch.setattr(caption_vectors, "Sentences", lambda: sentences)
    monkeypatch.setitem(cnn_methods.MAPS, "batch_size", 40)


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
    figures = [value for ways in found["ours"].values() for way in ways.values() for value in way]
    assert figures
    assert json.dumps(found)


def test_the_words_of_captions_that_are_found_are_compared(root: Path) -> None:
    found = reproduce("bitr-3", root, partitions=0).to_json()
    assert list(found["ours"]) == ["BLEU-1", "BLEU-2", "BLEU-3", "ROUGE-1"]
    assert all(0 < value <= 1 for value in found["ours"].values())


def test_labels_as_published_hold_the_papers_methods_only(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published_settings, "STRENGTHS", (10.0,))
    monkeypatch.setattr(published_settings, "NORMS", (1.0,))
    monkeypatch.setattr(published_settings, "FOLDS", 2)
    monkeypatch.setattr(published_settings, "TOPICS", 8)
    found = reproduce("bitr-6", root, partitions=0, as_published=True).to_json()
    assert set(found["published"]) <= set(found["ours"])
    assert not [name for name in found["ours"] if "mean texts" in name or "three CNNs" in name]


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
    for name, count in (("paper_methods", 2), ("cnn_caption_methods", 1)):
        every = getattr(cross_dataset, name)
        some = lambda *given, every=every, count=count: islice(every(*given), count)  # noqa: E731
        monkeypatch.setattr(cross_dataset, name, some)  # tables 2 and 7 run them all
    found = reproduce("bitr-exp2", root / "flickr8k").to_json()
    assert set(found["ours"]) == {"IAPR → Flickr8k", "Flickr8k → IAPR"}
    for measured in found["ours"].values():
        assert set(measured) == {"random order", "CCA", "WSABIE (TR)", "CCA (CNN)"}
        for ways in measured.values():
            assert all(0 <= way["R@1"] <= way["R@50"] <= 1 for way in ways.values())
    again = reproduce("bitr-exp2", root).to_json()
    assert again == found  # kept, and the folder above is as good
    with pytest.raises(BadInput, match="learns on one data set and tests on another"):
        reproduce("bitr-exp2", read_iaprtc12(root))


def test_examples_show_five_answers_both_ways(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("HanTa")
    monkeypatch.setattr(examples, "_DIMENSIONS", 8)
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


def test_sentences_find_pictures_on_the_split_of_flickr8k(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flickr8k, "SEEDS", 2)
    monkeypatch.setitem(flickr8k.MAPS, "batch_size", 40)
    monkeypatch.setattr(flickr8k, "Lsa", lambda *_, **__: Lsa(8, random_state=0))
    found = reproduce("flickr8k", root).to_json()
    ways = found["flickr8k"]
    assert 0 <= ways["image_retrieval"]["r1"] <= ways["image_retrieval"]["r10"] <= 100
    assert ways["annotation"]["r10"] > 50  # of 20 pictures
    assert {"CCA, CNN + LSA", "contrastive"} < set(found["ours"])
    assert json.dumps(found)


def test_annotation_is_measured_in_every_way_on_both_data_sets(root: Path) -> None:
    found = reproduce("annotation", root).to_json()["annotation"]
    for name in ("corel5k", "iaprtc12"):
        assert len(found[name]["ways"]) == 4
        assert found[name]["f1"] == found[name]["ways"][found[name]["chosen"]]["f1"]
        assert 0 < found[name]["n_plus"] <= found[name]["labels"]
    alone = reproduce("annotation", root / "corel5k").to_json()["annotation"]
    assert alone == {"corel5k": found["corel5k"]}


@pytest.mark.parametrize("figure", ["bitr-fig3", "bitr-fig4"])
def test_timings_are_measured_on_drawn_pairs(figure: str) -> None:
    seconds = reproduce(figure).to_json()["seconds"]
    ours = [row for name, row in seconds.items() if not name.endswith("published")]
    assert ours
    assert all(row[0] >= 0 for row in ours)


def test_the_sizes_of_any_data_set_are_counted(root: Path) -> None:
    found = reproduce("corel-statistics", read_iaprtc12(root)).found
    assert found["test_queries"] == found["single"] + found["multi"]

"""Every benchmark runs, small, on drawn pictures, and prints one object that holds its answer."""

from __future__ import annotations

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))

from visterm.datasets.scenes import draw_scenes
from visterm.features.picture_batches import BATCH


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn scenes as tables in the form of Corel, of IAPR TC-12 and of Flickr8k.

    No more than a batch of pictures: more would be described by processes of their own.
    """
    root = tmp_path_factory.mktemp("data")
    scenes = draw_scenes(root / "corel5k" / "images" / "train", BATCH, seed=3, size=(96, 64))
    (root / "corel5k" / "images" / "train" / "captions.tsv").unlink()
    shutil.copytree(root / "corel5k", root / "iaprtc12")
    for part, some in (("train", scenes[:24]), ("test", scenes[24:])):
        labels = [f"images/train/{path.name}\t{' '.join(words)}\n" for path, words in some]
        said = [
            f"images/train/{path.name}\tA {words[0]} stands near a {words[-1]}.\n"
            for path, words in some
        ]
        (root / "corel5k" / f"{part}.tsv").write_text("".join(labels))
        (root / "iaprtc12" / f"{part}_labels.tsv").write_text("".join(labels))
        (root / "iaprtc12" / f"{part}_captions.tsv").write_text("".join(said))
    shutil.copytree(root / "corel5k", root / "flickr8k")
    for part, source in (("train", "train"), ("dev", "test"), ("test", "test")):
        lines = (root / "corel5k" / f"{source}.tsv").read_text().splitlines(keepends=True)
        half = {"dev": lines[:4], "test": lines[4:]}.get(part, lines)
        (root / "flickr8k" / f"{part}_captions.tsv").write_text("".join(half))
    first, words = scenes[0]
    (root / "gold.tsv").write_text(f"images/train/{first.name}\t{words[0]} near {words[-1]}\n")
    vectors = np.random.default_rng(0).random((300, 1280), np.float32)
    np.save(root / "photos.npy", vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return root


# Name, arguments ({} stands for the data's folder), and a key that its result must hold.
RUNS = [
    ("bbnn", "--triplets 50 --pictures 4 --training 60 --side 64", "scoring"),
    ("bitr", "--pairs 200 --numbers 6 --samples 500 --width 6", "ranking"),
    ("blocks", "--pictures 6 --rounds 1", "ratio_skimage"),
    ("calibration", "--data {}/corel5k --vectors {} --iterations 2000 --compare", "links"),
    ("clicks", "--data {}/corel5k --vectors {}/vectors.npy --seeds 1 --queries 2", "right"),
    # cluster_add and cluster_search run where a cluster is there: tests/compute/test_cluster.py.
    (
        "cluster_train",
        "--data {}/corel5k --no-ray --seeds 1 --shards 2 --max-iter 800 --vectors {}",
        "avgp_shards",
    ),
    ("cnn", "--data {}/corel5k --pictures 4 --rounds 1 --memory 8", "rounds"),
    ("determinism", "--pictures 20 --features blocks --only again", "again"),
    ("describe", "--data {}/iaprtc12 --collection 16 --rounds 1", "with_words"),
    ("encoder", "--pictures 60 --many 300 --width 64", "unseen"),
    ("filters", "--pictures 2000 --words 20 --queries 2", "ratios"),
    ("few_captions", "--data {} --sets corel5k --draws 1 --sizes 20", "own_vectors"),
    ("first_minute", "--pictures 3 --runs 1", "pictures"),
    # It runs serve, cold_start, pamir and large_collection.
    ("headlines", "--pictures 1000 --seconds 0.3 --triplets 2000 --rounds 1", "headlines"),
    ("hostile_media", "--files 7", "without_reason"),
    ("hybrid", "--data {}/corel5k --vectors {} --iterations 2000", "half_words"),
    ("ingest", "--new 4 --already 50 --words 10 --rounds 1", "features"),
    ("kernels", "--data {}/corel5k --pictures 8 --sample 2", "pictures"),
    ("large_dataset", "--pairs 300 --width 8 --iterations 2000", "within_8_gb"),
    ("networks", "--data {} --training 16 --pictures 2 --rounds 1", "cnn.map"),
    ("other_words", "--limit 4", "outside"),
    ("honest_answers", "--data {} --vectors {} --queries 2 --draws 1", "starter"),
    ("personal_words", "--data {} --vectors {} --draws 1", "in_context"),
    ("postings", "--captions 3000", "w0"),
    ("phrases", "--data {}/iaprtc12 --gold {}/gold.tsv", "all"),
    ("product_load", "--clients 3 --seconds 0.5", "lost_or_wrong"),
    ("size", "", "product"),
    ("sources", "--pictures 6 --rounds 1 --workers 1", "ratio"),
    (
        "starter_alone",
        "--data {}/corel5k --vectors {}/vectors.npy --flickr8k {}/flickr8k --held 1 "
        "--iterations 2000",
        "flickr8k_ap",
    ),
    (
        "teaching",
        "--data {}/corel5k --vectors {} --seeds 1 --words 1 --share 0.5 --least 2 --ways teaching",
        "rise",
    ),
    ("near_duplicates", "--pictures 3", "precision"),
    ("described_words", "--data {}", "p_at_5"),
    ("watching", "--operations 30 --pictures 12 --changes 0", "equal"),
    ("ways", "", "stops"),
]


@pytest.mark.parametrize(("name", "arguments", "key"), RUNS, ids=[run[0] for run in RUNS])
def test_a_benchmark_answers_its_question(
    name: str,
    arguments: str,
    key: str,
    data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("VISTERM_ENCODERS", str(tmp_path))  # not those of who runs the tests
    words = [word.replace("{}", str(data)) for word in arguments.split()]
    monkeypatch.setattr(sys, "argv", [name, *words, "--json"])
    assert not import_module(f"benchmarks.{name}").main()
    assert key in json.loads(capsys.readouterr().out)

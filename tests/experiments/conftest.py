"""Papers and runs on drawn scenes, which are learnt from with far fewer triplets than Corel is.

Entries are made small: codebooks of a few visterms, small grids, few rounds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import papers.leaderboards.annotation
import papers.pair_tables
import papers.pairs
import papers.tpami2008.kernels
import pytest

from visterm.datasets.scenes import draw_scenes
from visterm.experiments import tables
from visterm.features import CNN
from visterm.models.rules import PRESETS
from visterm.text.spaces import Lsa

TRIPLETS = 20_000
BLOCKS = "blocks(channels=((16, joint, 40), (32, edges, 20)), colours=20)"
VIEWS = (CNN(size=96), CNN(network="lite1", size=96))
SMALLER = (
    (r"max_iter=\d+_000_000", f"max_iter={TRIPLETS}"),
    (r"epoch_pairs=100_000, max_iter=12", "epoch_pairs=200, max_iter=1"),
    (r"block_units=100, picture_units=200", "block_units=8, picture_units=8"),
    (r"\(\((\d+), joint, \d+\),\)", r"((\1, joint, 20),), colours=20"),
    (r"visterms=1000", "visterms=20"),
    (r"latent=100", "latent=10"),
    (r"n_components=(50|400)", "n_components=5"),
    (r"n_components=100", "n_components=8"),
    (r"C=\(1\.0, 10\.0, 100\.0, 1e3, 1e4, 1e5\)", "C=(10.0, 100.0)"),
    (r"C=\(1e-5.*?1e5\)", "C=(10.0, 100.0)"),
    (r"max_norm=\(.*?\)", "max_norm=(1.0,)"),
    (r"batch_size=(256|2048)", "batch_size=40"),
    (r"learning_rate=\(0\.003, 0\.03\)", "learning_rate=0.03"),
)


def smaller(value: Any) -> Any:
    """An entry with everything in it made small."""
    if isinstance(value, dict):
        return {name: one if name == "published" else smaller(one) for name, one in value.items()}
    if isinstance(value, list):
        return [smaller(one) for one in value]
    if isinstance(value, str):
        for pattern, small in SMALLER:
            value = re.sub(pattern, small, value)
    return value


def small_entries() -> dict[str, tables.Entry]:
    """All entries, made small; each paper's is one object, as it is in earnest."""
    papers_by_source = {}
    for one in tables.entries().values():
        paper = papers_by_source.setdefault(one.folder, smaller(one.paper))
        for experiment in paper.get("experiments", {}).values():
            if "like" not in experiment and "rows" not in experiment:
                experiment.setdefault("features", BLOCKS)
    return {
        name: tables.Entry(
            name,
            papers_by_source[one.folder]["tables"][name] | SMALL_TABLES.get(name, {}),
            papers_by_source[one.folder],
            one.folder,
        )
        for name, one in tables.entries().items()
    }


SMALL_TABLES: dict[str, dict[str, Any]] = {
    "tpami-3": {"codebooks": [5], "published": {"64": 0.273, "128": 0.223}},
    "tpami-4": {"codebooks": [5]},
    "flickr8k": {"seeds": 2},
}


@pytest.fixture(scope="package", autouse=True)
def small_papers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every entry small, results and cache in a folder of their own."""
    entries, folder = small_entries(), tmp_path_factory.mktemp("results")
    sentences = Lsa(4, min_captions=1, random_state=0)
    sentences.fit(["a sun", "a sea", "a tree by a house"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "entries", lambda: entries)
        patch.setattr(tables, "results_file", lambda one: folder / f"{one.folder.name}.json")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setitem(PRESETS, "pamir", {"max_iter": TRIPLETS})
        patch.setitem(PRESETS, "bbnn", {"block_units": 20, "picture_units": 20, "batch_size": 50,
                                        "epoch_pairs": 500, "max_iter": 2})  # fmt: skip
        patch.setattr(papers.tpami2008.kernels, "MAX_ITER", TRIPLETS)
        patch.setattr(papers.pairs, "TOPICS", 8)
        patch.setattr(papers.pairs, "LSA_DIMENSIONS", 8)
        patch.setattr(papers.pairs, "VIEWS", VIEWS)
        patch.setattr(papers.leaderboards.annotation, "VIEWS", VIEWS)
        patch.setattr(papers.pair_tables, "_FOLDS", 2)
        # A pool of processes takes longer to begin than a hundred small pictures to describe.
        patch.setattr(os, "cpu_count", lambda: 1)
        # Word and sentence vectors come with packages of their own, which may not be there.
        patch.setattr(papers.pairs, "Glove", lambda: Lsa(8, random_state=0))
        patch.setattr(papers.pairs, "Sentences", lambda: sentences)
        yield


def write_tables(folder: Path, seed: int) -> None:
    """Drawn pictures in the tables of Corel and of IAPR TC-12: 80 to learn from, 20 to test on."""
    drawn = draw_scenes(folder, 100, seed=seed, size=(48, 32))
    for number, (part, some) in enumerate({"train": drawn[:80], "test": drawn[80:]}.items()):
        labels = [f"{path.name}\t{' '.join(words)}\n" for path, words in some]
        said = [
            f"{path.name}\tA {words[0]} near a {words[1]} and a {words[-1]}.\n"
            for path, words in some
        ]
        (folder / f"{part}.tsv").write_text("".join(labels))
        (folder / f"{part}_labels.tsv").write_text("".join(labels))
        (folder / f"{part}_captions.tsv").write_text("".join(said))
        tokens = [
            " ".join(str(1 + (37 * (i + number) + 11 * k) % 499) for k in range(9)) + "\n"
            for i in range(len(some))
        ]
        (folder / f"{part}_blobs.txt").write_text("".join(tokens))


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


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds three small data sets under the names of the public ones."""
    folder = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(("corel5k", "iaprtc12")):
        write_tables(folder / name, seed)
    write_flickr8k(folder)
    return folder

"""What one collection has learnt of words serves another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("first")
    scenes = draw_scenes(root, 40, size=(48, 32), seed=1)
    with Collection.open(root) as collection:
        collection.add()
        for path, words in scenes:
            named = "landmark" if "sea" in words else "homeland"
            collection.caption(path, " ".join([*words, named]))
        collection.train(force=True)
        about = collection.export_starter(root / "shared.safetensors")
    assert about["captioned"] == 40
    return root / "shared.safetensors"


def test_another_collection_answers_by_it_and_trains_from_it(
    exported: Path, tmp_path: Path
) -> None:
    scenes = draw_scenes(tmp_path, 20, size=(48, 32), seed=2)
    (tmp_path / "captions.tsv").unlink()
    with Collection.open(tmp_path) as collection:
        collection.add()
        before = collection.search("sky", k=20)
        assert collection.use_starter(exported)["captioned"] == 40
        answer = collection.search("landmark", k=5)
        assert not answer.unknown
        assert answer.results[0].probability is not None
        for path, words in scenes[:8]:
            collection.caption(path, " ".join(words))
        collection.train(force=True)
        assert not collection.search("landmark", k=5).unknown
        assert collection.check().is_well
    with Collection.open(tmp_path, store=tmp_path / "again") as collection:
        collection.add(features="cnn")
        collection.use_starter(exported)
        collection.use_starter(None)
        assert collection.search("sky", k=20) == before, "visterm's own again"


def test_the_file_holds_no_picture_and_no_caption(exported: Path) -> None:
    from safetensors import safe_open

    with safe_open(exported, framework="numpy") as stored:
        assert set(stored.keys()) == {"codes", "scales", "idf"}
        about = json.loads(stored.metadata()["visterm"])
    assert set(about["facts"]) == {"calibration", "avgp", "provenance"}
    assert ".jpg" not in json.dumps(about)


def test_other_files_and_other_vectors_are_refused(exported: Path, tmp_path: Path) -> None:
    draw_scenes(tmp_path, 6, size=(48, 32))
    (tmp_path / "broken").write_bytes(exported.read_bytes()[:1000])
    with Collection.open(tmp_path) as collection:
        collection.add(features="blocks")
        with pytest.raises(BadInput, match="knows vectors of cnn-1"):
            collection.use_starter(exported)
        for name in ("broken", "missing"):
            with pytest.raises(BadInput, match="no starter that can be used"):
                collection.use_starter(tmp_path / name)
        assert not (collection.store / "starter.safetensors").exists()
        with pytest.raises(BadInput, match="nothing answers here yet"):
            collection.export_starter(tmp_path / "none")

"""Stronger features beside those that answer: one switch when all are there, and an undo."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.encoders.tiny_network import SIDE, write_network

from visterm import encoders
from visterm.collection import Collection
from visterm.collection.store.versions import current
from visterm.errors import BadInput, VistermError
from visterm.features import parse_features

QUERIES = ("sky", "sea boat", "tree -sky", "zebracorn")
KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from thumbnails import Thumbnails
from visterm.collection import Collection
from visterm.collection import upgrade
from visterm.features import EXTRACTORS

EXTRACTORS[Thumbnails.name] = Thumbnails
upgrade.TOGETHER = 8

def progress(what, done, total):
    if what.startswith("describing") and done >= 24:
        os.kill(os.getpid(), signal.SIGKILL)

Collection.open(sys.argv[1]).upgrade("tiny", progress=progress)
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A network of drawn weights, installed under this name."""
    monkeypatch.setenv("VISTERM_ENCODERS", str(tmp_path / "installed"))
    source = tmp_path / "source"
    (source / "onnx").mkdir(parents=True)
    write_network(source / "onnx" / "model.onnx")
    encoders.layout.add_output(source / "onnx" / "model.onnx", "tokens")
    recipe = {
        "size": {"height": SIDE, "width": SIDE},
        "image_mean": [0.5] * 3,
        "image_std": [0.25] * 3,
    }
    (source / "preprocessor_config.json").write_text(json.dumps(recipe))
    return encoders.add(str(source), name="tiny").name


def answers(collection: Collection) -> list[list[tuple[int, float]]]:
    """Every picture with its score, for a few queries."""
    found = [collection.search(query, 60).results for query in QUERIES]
    return [[(one.picture, one.score) for one in results] for results in found]


@pytest.fixture
def clicked(learnt: Collection) -> Collection:
    """Captions, clicks on known words, and a word that a click began."""
    learnt.judge("sky", 3, True)
    learnt.judge("sea boat", 5, False)
    learnt.judge("zebracorn", 7, True)
    return learnt


def test_all_pictures_are_described_then_searches_answer_by_the_new_features(
    clicked: Collection, tiny: str
) -> None:
    before = answers(clicked)
    done = clicked.upgrade(tiny)
    version = current(clicked.catalogue)
    assert version is not None
    assert version.extractor == parse_features(tiny).key
    assert (done.pictures, done.extracted, done.switched) == (60, 60, True)
    assert answers(clicked) != before
    assert [one.picture for one in clicked.judgements("zebracorn")] == [7]
    assert 7 in [one.picture for one in clicked.search("zebracorn", 6).results]
    assert not clicked.check().problems
    assert clicked.status().described == 60


def test_searches_clicks_and_captions_go_on_while_pictures_are_described(
    clicked: Collection, tiny: str
) -> None:
    before, seen = answers(clicked), list[bool]()
    said = list[int]()

    def progress(what: str, done: int, total: int) -> None:
        if what.startswith("describing"):
            with Collection.open(clicked.root) as other:
                seen.append(answers(other) == before)
                if not said:
                    other.submit("judge", query="tree", picture=9, relevant=True)
                    said.append(len(other.judgements("tree")))
                    before[:] = answers(other)

    clicked.upgrade(tiny, progress=progress)
    assert len(seen) > 1
    assert all(seen)
    assert said == [1]
    assert [one.picture for one in clicked.judgements("tree")] == [9]


def test_whoever_is_killed_goes_on_where_it_ended(clicked: Collection, tiny: str) -> None:
    before = answers(clicked)
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(clicked.root), str(here)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    with Collection.open(clicked.root) as opened:
        assert answers(opened) == before
        assert opened.status().features == "thumbnails-1"
        assert opened.upgrade(tiny).extracted == 36
        assert not opened.check().problems
        assert opened.status().features == parse_features(tiny).key
        there = answers(opened)
    with Collection.open(clicked.root) as again:
        assert answers(again) == there


def test_an_undo_brings_the_features_of_before_back_bit_for_bit(
    clicked: Collection, tiny: str
) -> None:
    clicked.caption(2, "a purple caption that nobody has learnt yet")
    before = answers(clicked)
    clicked.upgrade(tiny)
    clicked.judge("sky", 11, True)
    assert clicked.undo_last().what == "answer to 'sky'"
    undone = clicked.undo_last()
    assert (undone.what, undone.pictures) == ("upgrade", 60)
    assert answers(clicked) == before
    with Collection.open(clicked.root) as opened:
        assert answers(opened) == before
        assert not opened.check().problems
        assert opened.undo_last().what == "caption"


def test_a_picture_that_came_since_is_described_by_the_features_of_before(
    clicked: Collection, tiny: str
) -> None:
    from PIL import Image

    clicked.upgrade(tiny)
    Image.new("RGB", (40, 30), (20, 90, 200)).save(clicked.root / "new.png")
    clicked.add()
    clicked.undo_last()
    assert clicked.has_news
    clicked.add()
    assert len(clicked.search("sky", 61).results) == 61


def test_vectors_of_before_are_dropped_and_then_nothing_is_there_to_undo(
    clicked: Collection, tiny: str
) -> None:
    kept = clicked.upgrade(tiny)
    there = answers(clicked)
    dropped = clicked.upgrade(tiny, drop=True)
    assert (kept.dropped, dropped.dropped) == ((), ("thumbnails-1",))
    assert not dropped.switched
    assert answers(clicked) == there
    assert not (clicked.store / "features" / "thumbnails-1" / "1").exists()
    assert clicked.undo_last().what == "answer to 'zebracorn'"
    assert clicked.status().features == parse_features(tiny).key
    assert not clicked.check().problems


def test_features_whose_words_nobody_knows_are_refused_before_anything_is_described(
    collection: Collection, tiny: str
) -> None:
    with pytest.raises(BadInput, match="no picture has a caption yet"):
        collection.upgrade(tiny)
    assert collection.status().features == "thumbnails-1"


def test_pictures_that_cannot_be_read_now_keep_the_features_of_before(
    clicked: Collection, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, skipped = answers(clicked), list[str]()
    monkeypatch.setattr(Collection, "add", lambda *_, **__: None)  # it would see that it has gone
    path = sorted(clicked.root.glob("*.jpg"))[4]
    path.rename(path.with_suffix(".away"))
    with pytest.raises(VistermError, match="1 of the pictures cannot be described"):
        clicked.upgrade(tiny, on_skip=lambda path, _: skipped.append(path))
    assert path.name in skipped
    assert answers(clicked) == before
    path.with_suffix(".away").rename(path)
    assert clicked.upgrade(tiny).extracted == 1


def test_sentences_are_learnt_again_from_the_new_features(clicked: Collection, tiny: str) -> None:
    clicked.train_space("lsa")
    clicked.upgrade(tiny, drop=True)
    version: Any = current(clicked.catalogue, "lsa")
    assert version.extractor == parse_features(tiny).key
    assert clicked.search("a boat on the sea", 5, space="lsa").results

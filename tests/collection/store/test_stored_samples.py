"""Collections of earlier editions still open, answer as they did, and can be written to."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.collection.store.versions import current

SAMPLES = Path(__file__, "..", "samples").resolve()


def unpacked(name: str, place: Path) -> Path:
    with tarfile.open(SAMPLES / f"{name}.tar.xz") as tar:
        tar.extractall(place, filter="data")
    return place / name


@pytest.fixture
def folder(tmp_path):
    return unpacked("first-edition", tmp_path)


@pytest.fixture
def release(tmp_path):
    """24 pictures of 0.2.0, captioned, trained and clicked, and one click that waits."""
    return unpacked("release-0.2.0", tmp_path)


@pytest.mark.parametrize("name", ["first-edition", "release-0.2.0"])
def test_a_stored_collection_answers_as_it_did(tmp_path, name):
    folder = unpacked(name, tmp_path)
    expected = json.loads((folder / "answers.json").read_text())
    with Collection.open(folder) as collection:
        for query in expected:
            if query.startswith("lsa: "):
                continue  # its text space has given way to a version
            now = collection.search(query, k=10).results
            assert [one.picture for one in now] == [picture for picture, *_ in expected[query]]
            for one, (_, score, probability) in zip(now, expected[query], strict=True):
                assert one.score == pytest.approx(score, rel=1e-4, abs=1e-5)
                assert one.probability == pytest.approx(probability)


def test_the_sample_of_0_2_0_is_of_todays_formats(release):
    """When they change, it stays as it is, and a new one is put beside it."""
    store = release / ".visterm"
    assert json.loads((store / "index" / "1" / "manifest.json").read_text())["format"] == 2
    with closing(sqlite3.connect(store / "catalogue.sqlite")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (9,)
        assert db.execute("SELECT count(*) FROM queue").fetchone() == (1,)


def test_a_collection_of_0_2_0_goes_on_where_it_was(release):
    with Collection.open(release) as collection:
        assert collection.check().is_well
        before = [one.picture for one in collection.search("sea", k=24).results]
        last = before[-1]
        collection.judge("sea", last, True)
        said = [(one.query, one.picture, one.relevant) for one in collection.judgements()]
        assert said == [
            *(("sky", 3, True), ("sea", 5, False), ("dodo", 7, True)),
            *(("snow", 9, True), ("sea", last, True)),  # the first of these had waited
        ]
        assert collection.search("sea", k=24).results[-1].picture != last
        assert collection.undo().picture == last
        assert [one.picture for one in collection.search("sea", k=24).results] == before
        assert collection.add().new == 0
        assert collection.train(C=0.1, max_iter=500, force=True).version == 2
        assert collection.check().is_well
        assert collection.search("dodo", k=1).results[0].picture == 7


def test_a_backup_of_0_2_0_brings_everything_back(release):
    shutil.rmtree(release / ".visterm")
    with Collection.open(release) as collection:
        collection.add(features="thumbnails")
        report = collection.restore(release / "backup.jsonl")
        assert (report.captions, report.judgements, report.unknown) == (25, 3, [])
        assert collection.captions(release / "scene-0002.jpg")["person"] == "a quiet harbour"
        assert [one.query for one in collection.judgements()] == ["sky", "sea", "dodo"]


def test_the_next_writer_brings_the_index_to_log_probabilities_and_keeps_clicks_and_words(folder):
    with Collection.open(folder) as collection:
        before = {query: collection.search(query, k=1000) for query in ("sky", "sea")}
        said, earlier = collection.judgements(), current(collection.catalogue)
        with collection.catalogue.writing("forgetting"), collection.catalogue.transaction() as db:
            db.execute("DELETE FROM captions")  # which did not count before
        collection.add()
        version = current(collection.catalogue)
        assert version is not None
        assert earlier is not None
        assert version.id == earlier.id + 1
        assert version.link() is not None
        assert collection.check().is_well
        assert collection.judgements() == said
        for query, old in before.items():
            now = {
                one.picture: math.exp(one.score) for one in collection.search(query, 1000).results
            }
            probabilities = {one.picture: one.probability for one in old.results}
            assert now == pytest.approx(probabilities, abs=1e-5)
        collection.add()
        assert current(collection.catalogue) == version, "once is enough"
        collection.undo()
        assert collection.check().is_well


def test_a_text_space_of_the_first_edition_gives_way_to_a_version(folder):
    assert (folder / ".visterm" / "spaces").is_dir()
    with Collection.open(folder) as collection:
        collection.add()
    assert not (folder / ".visterm" / "spaces").exists()


def test_a_collection_of_the_first_edition_is_sound_and_learns_on(folder):
    with Collection.open(folder) as collection:
        assert not collection.check().problems
        assert [one.query for one in collection.judgements()] == ["sky", "sea"]
        collection.undo()
        assert collection.train(C=0.1, max_iter=2000, force=True).version == 2
        assert collection.search("sky", k=5).results


def test_a_collection_of_the_first_edition_that_nobody_may_write_answers_as_it_did(
    folder, monkeypatch
):
    from visterm.collection.store import catalogue, location

    expected = json.loads((folder / "answers.json").read_text())
    before = (folder / ".visterm" / "catalogue.sqlite").read_bytes()
    for module in (catalogue, location):
        monkeypatch.setattr(module, "may_write", lambda path: False)
    with Collection.open(folder, store=folder / ".visterm") as collection:
        now = collection.search("sea", k=10).results
    assert [one.picture for one in now] == [picture for picture, *_ in expected["sea"]]
    assert (folder / ".visterm" / "catalogue.sqlite").read_bytes() == before

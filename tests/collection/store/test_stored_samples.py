"""Collections of earlier editions still open, answer as they did, and can be written to."""

from __future__ import annotations

import json
import math
import tarfile
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.collection.store.versions import current

SAMPLE = Path(__file__, "..", "samples", "first-edition.tar.xz").resolve()


@pytest.fixture
def folder(tmp_path):
    with tarfile.open(SAMPLE) as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path / "first-edition"


def test_a_collection_of_the_first_edition_answers_as_it_did(folder):
    expected = json.loads((folder / "answers.json").read_text())
    with Collection.open(folder) as collection:
        for query in ("sky", "sea", "sky -sea"):
            now = collection.search(query, k=10).results
            assert [one.picture for one in now] == [picture for picture, *_ in expected[query]]
            for one, (_, score, probability) in zip(now, expected[query], strict=True):
                assert one.score == pytest.approx(score, rel=1e-5)
                assert one.probability == pytest.approx(probability)


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

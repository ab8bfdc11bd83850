"""A new collection answers from its newest pictures while the others are being described."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from visterm.cli.search import SearchOptions, run
from visterm.collection import Collection
from visterm.collection.ingest import pipeline
from visterm.collection.training import pretrained
from visterm.datasets.scenes import draw_scenes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for number, (path, _) in enumerate(draw_scenes(tmp_path, 20, size=(48, 32))):
        os.utime(path, (1e9 + number, 1e9 + number))
    (tmp_path / "captions.tsv").unlink()
    monkeypatch.setattr(pipeline, "BATCH", 8)
    monkeypatch.setattr(pretrained, "WORTH_TWO_ANSWERS", 12)
    return tmp_path


def test_where_few_are_left_nobody_is_told_the_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretrained, "WORTH_TWO_ANSWERS", 13)
    seen: list[int] = []
    with Collection.open(folder) as collection:
        collection.add(on_first=lambda done, total: seen.append(done))
    assert seen == []


def test_the_newest_pictures_can_be_searched_before_the_others_are_described(folder: Path) -> None:
    seen: list[tuple[int, int, set[str]]] = []
    with Collection.open(folder) as collection:

        def first(done: int, total: int) -> None:
            names = {one.path.name for one in collection.search("sky", k=50).results}
            seen.append((done, total, names))

        assert collection.add(on_first=first).new == 20
        assert len(collection.search("sky", k=50).results) == 20
        assert collection.check().is_well
    newest = {f"scene-{number:04d}.jpg" for number in range(13, 21)}
    assert seen == [(8, 20, newest)]


def test_partial_answers_and_ends_and_the_next_search_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(SearchOptions("sky", collection=folder, json=True, partial=True))
    answer = json.loads(capsys.readouterr().out)
    assert answer["partial"] == {"searched": 8, "pictures": 20}
    assert len(answer["results"]) == 8
    run(SearchOptions("sky", collection=folder, json=True, limit=50))
    answer = json.loads(capsys.readouterr().out)
    assert (answer["partial"], len(answer["results"])) == (None, 20)


def test_json_waits_for_all_and_a_person_sees_both_answers(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(SearchOptions("sky", collection=folder, limit=50))
    printed = capsys.readouterr()
    assert printed.out.count("scene-") == 8 + 20
    assert "newest 8 of 20 pictures" in printed.err
    run(SearchOptions("sky", collection=folder, store=folder / "again", limit=50, json=True))
    assert len(json.loads(capsys.readouterr().out)["results"]) == 20

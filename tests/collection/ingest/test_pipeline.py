from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.collection import Collection
from visterm.collection.ingest import pipeline as ingest_module
from visterm.collection.ingest.batches import Added
from visterm.collection.ingest.pipeline import Stopped
from visterm.collection.store.feature_rows import Rows
from visterm.index.feature_file import coded, decoded

Pictures = Callable[[int], Path]


def counts(report: Added) -> dict[str, int]:
    names = ("new", "changed", "moved", "duplicates", "returned", "vanished", "extracted")
    found = {name: getattr(report, name) for name in names} | {"skipped": len(report.skipped)}
    return {name: count for name, count in found.items() if count}


def later(path: Path) -> None:
    """As if the file had been written some time after it was."""
    about = path.stat()
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 5_000_000_000))


def vectors(collection: Collection) -> dict[str, np.ndarray]:
    """Every file's vector, by path."""
    places = collection.catalogue.db.execute(
        "SELECT folder, name, picture FROM places WHERE NOT vanished"
    ).fetchall()
    rows = Rows(collection.catalogue, "thumbnails-1").of([picture for *_, picture in places])
    return {f"{folder}/{name}": rows[picture] for folder, name, picture in places}


def test_new_pictures_are_described_and_the_second_time_costs_nothing(pictures: Pictures) -> None:
    with Collection.open(pictures(12)) as collection:
        assert counts(collection.add(features="thumbnails")) == {"new": 12, "extracted": 12}
        assert counts(collection.add()) == {}
        assert len(collection) == 12
        from thumbnails import Thumbnails

        fitted = Thumbnails().fit()
        for path, vector in vectors(collection).items():
            expected = fitted.transform([collection.root / path.lstrip("/")])
            np.testing.assert_array_equal(vector, decoded(*coded(expected))[0])


def test_a_renamed_and_a_moved_picture_cost_no_extraction_and_keep_their_captions(
    collection: Collection,
) -> None:
    root = collection.root
    for name in ("scene-0001.jpg", "scene-0002.jpg"):
        collection.caption(root / name, f"words of {name}")
    (root / "scene-0001.jpg").rename(root / "renamed.jpg")
    (root / "sub" / "folder").mkdir(parents=True)
    (root / "scene-0002.jpg").rename(root / "sub" / "folder" / "scene-0002.jpg")
    assert counts(collection.add()) == {"moved": 2}
    assert collection.captions(root / "renamed.jpg") == {"person": "words of scene-0001.jpg"}
    moved = root / "sub" / "folder" / "scene-0002.jpg"
    assert collection.captions(moved) == {"person": "words of scene-0002.jpg"}
    assert counts(collection.add()) == {}


def test_a_moved_folder_is_a_moved_folder(collection: Collection) -> None:
    root = collection.root
    (root / "old").mkdir()
    for path in root.glob("*.jpg"):
        path.rename(root / "old" / path.name)
    assert counts(collection.add()) == {"moved": 12}
    (root / "old").rename(root / "new")
    assert counts(collection.add()) == {"moved": 12}
    assert len(collection) == 12


def test_a_changed_file_is_described_again_and_keeps_what_a_person_gave(
    collection: Collection,
) -> None:
    path = collection.root / "scene-0003.jpg"
    collection.caption(path, "a boat")
    before = vectors(collection)["/scene-0003.jpg"]
    Image.open(path).transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(path)
    later(path)
    assert counts(collection.add()) == {"changed": 1, "extracted": 1}
    assert not np.array_equal(vectors(collection)["/scene-0003.jpg"], before)
    assert collection.captions(path) == {"person": "a boat"}


def test_a_touched_file_is_the_same_picture(collection: Collection) -> None:
    later(collection.root / "scene-0003.jpg")
    assert counts(collection.add()) == {}
    assert len(collection) == 12


def test_a_vanished_picture_is_marked_and_comes_back_with_its_captions(
    collection: Collection, tmp_path: Path
) -> None:
    path = collection.root / "scene-0004.jpg"
    collection.caption(path, "a moon")
    away = tmp_path / "away.jpg"
    path.rename(away)
    assert counts(collection.add()) == {"vanished": 1}
    assert len(collection) == 11
    away.rename(path)
    assert counts(collection.add()) == {"returned": 1}
    assert collection.captions(path) == {"person": "a moon"}
    # Gone, and back somewhere else.
    path.rename(away)
    collection.add()
    away.rename(collection.root / "elsewhere.jpg")
    assert counts(collection.add()) == {"moved": 1}
    assert collection.captions(collection.root / "elsewhere.jpg") == {"person": "a moon"}


def test_exact_duplicates_share_one_row_of_features(collection: Collection) -> None:
    for name in ("copy.jpg", "again.jpg"):
        shutil.copy(collection.root / "scene-0001.jpg", collection.root / name)
    assert counts(collection.add()) == {"duplicates": 2}
    assert len(collection) == 12
    assert collection.catalogue.one("SELECT count(*) FROM rows") == 12
    (collection.root / "scene-0001.jpg").unlink()
    assert counts(collection.add()) == {}
    assert len(collection) == 12


def test_new_duplicates_are_described_once(pictures: Pictures) -> None:
    folder = pictures(3)
    shutil.copy(folder / "scene-0001.jpg", folder / "copy.jpg")
    with Collection.open(folder) as collection:
        report = collection.add(features="thumbnails")
    assert counts(report) == {"new": 3, "duplicates": 1, "extracted": 3}


def test_bad_files_are_told_once_and_tried_again_when_they_change(pictures: Pictures) -> None:
    folder = pictures(3)
    (folder / "a.jpg").write_bytes(b"this is no picture")
    (folder / "b.png").write_bytes(b"")
    cut = (folder / "scene-0001.jpg").read_bytes()[:300]
    (folder / "scene-0001.jpg").write_bytes(cut)
    told: list[tuple[str, str]] = []
    with Collection.open(folder) as collection:
        report = collection.add(
            features="thumbnails", on_skip=lambda path, reason: told.append((path, reason))
        )
        assert counts(report) == {"new": 2, "extracted": 2, "skipped": 3}
        assert [path for path, _ in sorted(told)] == ["a.jpg", "b.png", "scene-0001.jpg"]
        assert ("b.png", "the file is empty") in told
        assert collection.status().skipped == 3
        assert counts(collection.add()) == {}
        shutil.copy(folder / "scene-0002.jpg", folder / "a.jpg")
        (folder / "b.png").unlink()
        assert counts(collection.add()) == {"duplicates": 1}
        assert collection.status().skipped == 1


def test_a_folder_of_nothing_but_bad_files_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"this is no picture")
    with Collection.open(tmp_path) as collection:
        report = collection.add(features="blocks")
        assert counts(report) == {"skipped": 1}
        assert len(collection) == 0


def test_a_picture_that_breaks_vanishes_until_it_is_whole_again(collection: Collection) -> None:
    path = collection.root / "scene-0005.jpg"
    whole = path.read_bytes()
    path.write_bytes(b"broken")
    assert counts(collection.add()) == {"skipped": 1}
    path.write_bytes(whole)
    later(path)
    assert counts(collection.add()) == {"returned": 1}


def test_only_what_is_named_is_looked_at(pictures: Pictures) -> None:
    folder = pictures(6)
    (folder / "sub").mkdir()
    (folder / "scene-0001.jpg").rename(folder / "sub" / "one.jpg")
    with Collection.open(folder) as collection:
        assert counts(collection.add([folder / "sub"], features="thumbnails"))["new"] == 1
        assert counts(collection.add([folder / "scene-0002.jpg"]))["new"] == 1
        assert counts(collection.add()) == {}, "only the sub folder was ever asked for"
        assert counts(collection.add([folder]))["new"] == 4
        (folder / "sub" / "one.jpg").unlink()
        (folder / "scene-0002.jpg").unlink()
        assert counts(collection.add([folder / "sub"])) == {"vanished": 1}


def test_removed_pictures_stay_out_until_they_are_named(collection: Collection) -> None:
    root = collection.root
    collection.caption(root / "scene-0001.jpg", "a tree")
    assert collection.remove([root / "scene-0001.jpg"]) == 1
    assert (root / "scene-0001.jpg").exists()
    assert counts(collection.add()) == {}
    assert len(collection) == 11
    report = collection.add([root / "scene-0001.jpg"])
    assert counts(report) == {"returned": 1}
    assert collection.captions(root / "scene-0001.jpg") == {"person": "a tree"}


def test_a_stop_keeps_what_is_done_and_the_next_add_goes_on(
    pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_module, "BATCH", 4)

    def press_ctrl_c(what: str, done: int, total: int) -> None:
        if done >= 8:
            raise KeyboardInterrupt

    with Collection.open(pictures(12)) as collection:
        with pytest.raises(Stopped) as stopped:
            collection.add(features="thumbnails", progress=press_ctrl_c)
        assert 4 <= stopped.value.report.new == len(collection) < 12
        assert collection.has_news
        assert counts(collection.add())["new"] == 12 - stopped.value.report.new
        assert len(collection) == 12


def test_another_extractor_describes_every_picture_anew(collection: Collection) -> None:
    report = collection.add(features="blocks")
    assert counts(report) == {"extracted": 12}
    assert collection.status().features == "blocks-1"
    assert counts(collection.add()) == {}
    assert counts(collection.add(features="thumbnails")) == {}


def test_a_model_of_other_features_is_noticed(learnt: Collection) -> None:
    assert not learnt.needs_training
    learnt.add(features="blocks")
    assert learnt.needs_training
    learnt.train()
    assert not learnt.needs_training
    assert len(learnt.search("sky", 100).results) == 60


def test_the_second_search_after_a_first_add_sees_no_news(pictures: Pictures) -> None:
    with Collection.open(pictures(3)) as collection:
        time.sleep(0.06)  # the store itself has just changed the folder
        collection.add(features="thumbnails")
        assert not collection.has_news
        (collection.root / "scene-0001.jpg").rename(collection.root / "renamed.jpg")
        assert collection.has_news
        collection.add()
        time.sleep(0.06)
        collection.add()
        assert not collection.has_news
        (collection.root / "sub").mkdir()
        assert collection.has_news


def test_a_folder_that_cannot_be_listed_loses_nothing(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = collection.root
    (root / "closed").mkdir()
    for path in sorted(root.glob("*.jpg"))[:5]:
        path.rename(root / "closed" / path.name)
    collection.add()
    listed = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = collection.add()
    assert report.skipped == [("closed", "permission denied")]
    assert len(collection) == 12
    monkeypatch.undo()
    assert counts(collection.add()) == {}


def test_many_small_adds_go_to_the_same_files(pictures: Pictures) -> None:
    folder = pictures(40)
    paths = sorted(folder.glob("*.jpg"))
    with Collection.open(folder) as collection:
        for path in paths:
            collection.add([path], features="thumbnails")
        assert len(vectors(collection)) == 40
        from thumbnails import Thumbnails

        expected = decoded(*coded(Thumbnails().fit().transform(paths)))
        found = vectors(collection)
        for path, vector in zip(paths, expected, strict=True):
            np.testing.assert_array_equal(found[f"/{path.name}"], vector)
        collection.add()
        on_disk = (collection.store / "features" / "thumbnails-1").glob("*/*")
        assert sorted(path.name for path in on_disk) == ["codes", "ids", "scales"]


def test_a_file_that_changes_while_it_is_read_is_left_for_later(
    pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pictures(3)
    from thumbnails import Thumbnails

    rows = Thumbnails.rows

    def rows_while_somebody_writes(self: Thumbnails, some: list[np.ndarray]) -> np.ndarray:
        shutil.copy(folder / "scene-0002.jpg", folder / "scene-0001.jpg")
        later(folder / "scene-0001.jpg")
        return rows(self, some)

    monkeypatch.setattr(Thumbnails, "rows", rows_while_somebody_writes)
    with Collection.open(folder) as collection:
        report = collection.add(features="thumbnails")
        assert report.skipped == [("scene-0001.jpg", "it changes while it is read")]
        monkeypatch.undo()
        assert counts(collection.add()) == {"duplicates": 1}


def test_words_beside_a_file_go_with_it_and_those_beside_its_copies_stay(
    collection: Collection,
) -> None:
    root = collection.root
    first = root / "scene-0001.jpg"
    first.with_suffix(".txt").write_text("a lighthouse")
    collection.add()
    number = collection.number(first)
    assert collection.captions(number) == {"txt": "a lighthouse"}
    shutil.copy(first, root / "copy.jpg")
    collection.add()
    first.unlink()
    collection.add()
    assert collection.captions(number) == {}  # as if the folder were added anew
    (root / "copy.txt").write_text("a harbour")
    shutil.copy(root / "copy.jpg", root / "more.jpg")
    collection.add()
    (root / "copy.txt").unlink()
    (root / "more.txt").write_text("a quay")
    collection.add()
    assert collection.captions(number) == {"txt": "a quay"}
    (root / "more.jpg").rename(root / "moved.jpg")
    (root / "more.txt").rename(root / "moved.txt")
    collection.add()
    assert collection.captions(number) == {"txt": "a quay"}

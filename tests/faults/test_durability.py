"""What docs/explanation/durability.md promises beside kills, full disks and power cuts."""

from __future__ import annotations

import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.collection import Collection
from visterm.collection.store.schema import VERSION
from visterm.errors import BadInput, VistermError
from visterm.features.own_features import use_function


def halves(pictures: list[np.ndarray]) -> np.ndarray:
    """The colours of a picture's upper and lower half."""
    parts = [half.mean(axis=(0, 1)) for one in pictures for half in np.array_split(one, 2)]
    return np.array(parts, np.float32).reshape(len(pictures), 6) / 255


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    """Twelve captioned pictures, trained, with two clicks."""
    use_function(halves)
    root, dice = tmp_path / "pictures", np.random.default_rng(3)
    root.mkdir()
    for number in range(12):
        colours = Image.fromarray(dice.integers(0, 255, (2, 2, 3), np.uint8))
        colours.resize((16, 16)).save(root / f"{number:02d}.png")
    with Collection.open(root) as opened:
        opened.add(features="own:halves")
        for number in range(12):
            opened.caption(root / f"{number:02d}.png", ("sky tree", "sea", "snow sky")[number % 3])
        opened.train()
        opened.judge("sky", root / "01.png", True)
        opened.judge("sea", root / "02.png", False)
        yield opened


def told(collection: Collection) -> object:
    """All that people gave, and what is answered."""
    captions = [collection.captions(number) for number in range(1, 13)]
    clicks = [(one.query, one.picture, one.relevant) for one in collection.judgements()]
    results = collection.search("sky -sea", 12).results
    answers = [(Path(one.path).name, round(one.score, 5)) for one in results]
    return captions, clicks, answers


def test_a_copied_folder_is_the_same_collection_in_another_place(
    collection: Collection, tmp_path: Path
) -> None:
    before = told(collection)
    collection.close()
    shutil.copytree(collection.root, tmp_path / "copy")
    with Collection.open(tmp_path / "copy") as copy:
        assert told(copy) == before
        assert copy.check().is_well
        assert copy.add().new == 0


@pytest.mark.parametrize("lost", ["features/*/*/*", "models/*/*"])
def test_of_a_half_copied_store_what_is_missing_is_named_and_made_again(
    collection: Collection, lost: str
) -> None:
    captions, clicks, answers = told(collection)
    collection.close()
    for path in collection.store.glob(lost):
        path.unlink()
    with Collection.open(collection.root) as copy:
        assert not copy.check().is_well
        assert copy.check(repair=True).is_well
        found = told(copy)
        assert found[:2] == (captions, clicks)
        if "models" not in lost:  # one that was learnt again has parameters of its own
            assert found[2] == answers
        assert len(found[2]) == 12


def test_without_its_catalogue_a_store_is_the_beginning_of_a_new_collection(
    collection: Collection,
) -> None:
    collection.close()
    for path in collection.store.glob("catalogue.sqlite*"):
        path.unlink()
    models = list(collection.store.glob("models/*/*"))
    assert models
    with pytest.raises(BadInput, match="is no collection yet"):
        Collection.open(collection.root, create=False)
    with Collection.open(collection.root) as new:
        assert new.add(features="own:halves").new == 12
        assert new.captions(1) == {}
        assert new.judgements() == []
        assert not any(path.exists() for path in models)


def write_the_log(collection: Collection) -> None:
    """Write SQLite's log into the catalogue, so that the file alone holds all there is."""
    (is_busy, *_) = collection.catalogue.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert not is_busy


def copied_without_log(collection: Collection, folder: Path) -> Path:
    ignored = shutil.ignore_patterns("*-wal", "*-shm")
    return Path(shutil.copytree(collection.root, folder / "copy", ignore=ignored))


def test_a_torn_catalogue_is_refused_and_not_touched(
    collection: Collection, tmp_path: Path
) -> None:
    write_the_log(collection)
    copy = copied_without_log(collection, tmp_path)
    catalogue = copy / ".visterm" / "catalogue.sqlite"
    torn = catalogue.read_bytes()[: catalogue.stat().st_size // 2]
    catalogue.write_bytes(torn)
    what_to_do = r"(malformed|damaged).* put a copy of it back.* visterm import"
    with pytest.raises(VistermError, match=what_to_do), Collection.open(copy) as other:
        other.check(repair=True)
    assert catalogue.read_bytes() == torn
    assert list(copy.glob(".visterm/models/*/*"))


@pytest.mark.parametrize("trains", [False, True])
def test_a_catalogue_that_was_copied_without_its_log_is_an_earlier_state_and_a_whole_one(
    collection: Collection, tmp_path: Path, trains: bool
) -> None:
    """SQLite's log holds the latest transactions until they are written into the file."""
    captions, clicks, answers = told(collection)
    write_the_log(collection)
    collection.caption(1, "the very last words")
    if trains:
        collection.train(force=True)
    with Collection.open(copied_without_log(collection, tmp_path)) as other:
        assert other.check().is_well != trains, "the model of before is gone"
        assert other.check(repair=True).is_well
        found = told(other)
        assert found[:2] == (captions, clicks)
        assert trains or found[2] == answers
    assert collection.captions(1) == {"person": "the very last words"}


@pytest.mark.parametrize("now", [86_400.0, 4e9], ids=["back", "forward"])
def test_a_clock_that_jumps_changes_no_order(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, now: float
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: now)
        first = collection.judge("snow", 5, True)
        assert collection.judgements()[-1] == first
        before = collection.train(force=True).version
    last = collection.judge("snow", 6, True)
    assert collection.judgements()[-2:] == [first, last]
    assert collection.train(force=True).version == before + 1
    assert [collection.undo(), collection.undo()] == [last, first]
    assert collection.check().is_well


def test_another_case_of_letters_is_a_moved_picture(collection: Collection) -> None:
    """As a file system that does not tell them apart shows a renamed file."""
    (collection.root / "03.png").rename(collection.root / "03.PNG")
    report = collection.add()
    assert (report.new, report.moved, report.vanished) == (0, 1, 0)
    assert collection.captions(collection.root / "03.PNG") == {"person": "sky tree"}


def test_a_drive_that_was_pulled_out_takes_no_caption_with_it(
    collection: Collection, tmp_path: Path
) -> None:
    before = told(collection)
    away = [path.rename(tmp_path / path.name) for path in sorted(collection.root.glob("*.png"))]
    collection.add()
    assert collection.search("sky", 12).results == []
    assert len(collection.judgements()) == 2
    for path in away:
        path.rename(collection.root / path.name)
    assert collection.add().returned == 12
    assert told(collection) == before


def test_a_newer_catalogue_is_refused_and_not_touched(collection: Collection) -> None:
    collection.close()
    path = collection.store / "catalogue.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(VistermError, match="written by a newer visterm"):
        Collection.open(collection.root)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [1, VERSION - 1])
def test_an_older_catalogue_is_refused_with_what_to_do(
    collection: Collection, version: int
) -> None:
    collection.close()
    with closing(sqlite3.connect(collection.store / "catalogue.sqlite")) as db:
        db.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(VistermError, match=r"visterm 0\.2 or earlier.*visterm import"):
        Collection.open(collection.root)
    with closing(sqlite3.connect(collection.store / "catalogue.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM captions").fetchone() == (12,)


def test_the_number_of_a_picture_never_means_another_one(collection: Collection) -> None:
    last = collection.root / "11.png"
    collection.remove([last])
    content = last.read_bytes()
    last.unlink()
    (collection.root / "new.png").write_bytes(content + b"another")
    collection.add()
    assert collection.captions(collection.root / "new.png") == {}
    assert collection.search("", like=collection.root / "new.png", k=1).results[0].picture != 12
    numbers = [one.picture for one in collection.search("sky", 20).results]
    assert max(numbers) > 12, "one that was never given"
    assert 12 not in numbers


def test_every_promise_of_the_page_leads_to_a_test_that_there_is() -> None:
    """A promise is a point of a list, and ends in a footnote that names its tests."""
    root = Path(__file__).parents[2]
    page = (root / "docs" / "explanation" / "durability.md").read_text()
    promises = re.findall(r"(?<=\n)- .*", page)
    footnotes = dict(re.findall(r"(?<=\n)\[\^([\w-]+)\]: (.*)", page))
    assert len(promises) > 55
    leads_to = [re.findall(r"\[\^([\w-]+)\]$", promise) for promise in promises]
    assert all(leads_to), "a promise without a footnote"
    assert {name for names in leads_to for name in names} == set(footnotes)
    for line in footnotes.values():
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", line)
        assert named, f"no test: {line}"
        for path, name in named:
            assert f"def {name}(" in (root / path).read_text(), f"{path} has no {name}"

"""What docs/explanation/durability.md promises beside kills, full disks and power cuts."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import sqlite3
import tarfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.collection import Collection
from visterm.collection.store.schema import NEWEST, STEPS, migrate, version_of
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
        opened.train(max_iter=200, C=0.1)
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


@pytest.mark.parametrize("lost", ["features/*/*.npy", "models/*/*", "index/*/*"])
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
        collection.train(max_iter=200, C=0.1, force=True)
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
        before = collection.train(max_iter=200, C=0.1, force=True).version
    last = collection.judge("snow", 6, True)
    assert collection.judgements()[-2:] == [first, last]
    assert collection.train(max_iter=200, C=0.1, force=True).version == before + 1
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
        db.execute(f"PRAGMA user_version = {NEWEST + 1}")
    before = path.read_bytes()
    with pytest.raises(VistermError, match="written by a newer visterm"):
        Collection.open(collection.root)
    assert path.read_bytes() == before


RELEASED = [
    "418baf7f34f5d3c39298d3198d494f01a4f0d633ab771bfac9f411f4dcfc47bf",
    "f8cea30d633876f60189dd4724bc45f64f641d74c9fede1be0a7201112721ccb",
    "7c83c68a7ea00d1ad888a685688e080b262a282ee8e643bf861ce52f964dc3df",
    "0759dfe714ecc68befd1ad6aef7cf8a953f688b838d2828b843baa14dd7b8424",
    "fbde886917b77f33b631073cfa073311090801f11bca216854f1c7225ca3d5ed",
    "4cc3412c2339813f05aa3cc656bead0ea72dac2969fecdeb0de037b4b795dce3",
    "faebe9d383b8d85ec6fbd902039b66ccbb29718e421e3a8302b8241b79de6c2b",
    "9b752fccdc4177af3bc38124c2298d23e25b5159f8691cb00a5ac5f60ed26a35",
    "e6e6b138e03893e5127974988a9a79cf9997b8ea03f67c4f75609bdca2f3da8e",
]
"""Of each step of the tables, the SHA-256: whoever changes tables adds a step, and its hash."""


def test_no_step_of_the_tables_is_edited_once_it_was_released() -> None:
    assert [hashlib.sha256(step.encode()).hexdigest() for step in STEPS] == RELEASED


@pytest.mark.parametrize("kept", range(1, NEWEST))
def test_a_catalogue_of_every_version_of_the_tables_is_brought_up_to_date(
    tmp_path: Path, kept: int
) -> None:
    """Made by the steps of its time, which are never edited, with a caption in it."""
    store = tmp_path / ".visterm"
    store.mkdir()
    with closing(sqlite3.connect(store / "catalogue.sqlite", isolation_level=None)) as db:
        for step in STEPS[:kept]:
            db.executescript(step)
        db.execute(f"PRAGMA user_version = {kept}")
        db.execute("INSERT INTO pictures (hash) VALUES (x'00')")
        db.execute(
            """INSERT INTO places (folder, name, picture, size, mtime_ns, sidecars)
                VALUES ('', 'a.png', 1, 1, 1, '')"""
        )
        db.execute("INSERT INTO captions VALUES (1, 'person', 'a boat')")
    with Collection.open(tmp_path) as opened:
        assert opened.captions(1) == {"person": "a boat"}
        assert opened.check().is_well
    with closing(sqlite3.connect(store / "catalogue.sqlite")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (NEWEST,)


def test_a_kill_while_tables_are_brought_up_to_date_leaves_a_step_done_or_not(
    tmp_path: Path,
) -> None:
    def tables(db: sqlite3.Connection) -> set[tuple[str, ...]]:
        return set(db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))

    expected: list[set[tuple[str, ...]]] = [set()]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for step in STEPS:
            db.executescript(step)
            expected.append(tables(db))
    met, moment = set(), 0
    while NEWEST not in met:
        moment += 1000  # steps of SQLite's own machine
        path = tmp_path / f"{moment}.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = OFF")
            ticks = iter(range(moment // 10))
            db.set_progress_handler(lambda ticks=ticks: next(ticks, None) is None, 10)
            with contextlib.suppress(sqlite3.OperationalError):
                migrate(db)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = OFF")
            met.add(version_of(db))
            assert tables(db) == expected[version_of(db)]
            migrate(db)
            assert tables(db) == expected[NEWEST]
    assert len(met) > NEWEST // 2


def test_the_stored_sample_of_the_first_edition_is_one_of_these(tmp_path: Path) -> None:
    sample = Path(__file__).parents[1] / "collection/store/samples/first-edition.tar.xz"
    with tarfile.open(sample) as tar:
        tar.extractall(tmp_path, filter="data")
    path = tmp_path / "first-edition" / ".visterm" / "catalogue.sqlite"
    with closing(sqlite3.connect(path)) as db:
        assert 1 <= db.execute("PRAGMA user_version").fetchone()[0] < NEWEST


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


def test_every_line_of_the_promise_names_a_test_that_there_is() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "explanation" / "durability.md").read_text()
    rows = re.findall(r"(?<=\n)\| (?!what happens|killed during|---).*", page)
    points = re.findall(r"(?<=\n)- .*(?:\n  .*)*", page)
    assert len(rows) > 30
    assert len(points) > 10
    for line in rows + points:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", line)
        assert named, f"no test: {line}"
        for path, name in named:
            assert f"def {name}(" in (root / path).read_text(), f"{path} has no {name}"

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.location import CATALOGUE
from visterm.collection.store.schema import VERSION
from visterm.errors import VistermError


def test_a_catalogue_from_the_future_is_refused_untouched(tmp_path: Path) -> None:
    Catalogue(tmp_path).close()
    db = sqlite3.connect(tmp_path / CATALOGUE)
    db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    before = (tmp_path / CATALOGUE).read_bytes()
    with pytest.raises(VistermError, match=r"written by a newer visterm .* upgrade visterm"):
        Catalogue(tmp_path)
    assert (tmp_path / CATALOGUE).read_bytes() == before


@pytest.mark.parametrize("version", [1, 9, VERSION - 1])
def test_a_catalogue_of_before_0_3_is_refused_untouched_with_what_to_do(
    tmp_path: Path, version: int
) -> None:
    db = sqlite3.connect(tmp_path / CATALOGUE)
    db.execute("CREATE TABLE captions (picture INTEGER, source TEXT, text TEXT)")
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    before = (tmp_path / CATALOGUE).read_bytes()
    with pytest.raises(VistermError, match=r"visterm 0\.2 or earlier.*export.*visterm import"):
        Catalogue(tmp_path)
    db = sqlite3.connect(tmp_path / CATALOGUE)
    assert db.execute("PRAGMA user_version").fetchone() == (version,)
    assert db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,)
    assert len(before) == (tmp_path / CATALOGUE).stat().st_size


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)

    def fail() -> None:
        with catalogue.transaction():
            catalogue.set("features", "blocks")
            raise ZeroDivisionError

    with catalogue.writing("trying"):
        with pytest.raises(ZeroDivisionError):
            fail()
        assert catalogue.get("features") is None
        with catalogue.transaction():
            catalogue.set("features", "cnn")
    assert Catalogue(tmp_path).get("features") == "cnn"


def test_only_the_holder_of_the_lock_may_change_anything(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    with pytest.raises(VistermError, match="writer's lock"), catalogue.transaction():
        catalogue.set("features", "blocks")


def test_a_reader_sees_the_last_commit_and_never_waits(tmp_path: Path) -> None:
    writer, reader = Catalogue(tmp_path), Catalogue(tmp_path)
    reader.db.execute("PRAGMA busy_timeout = 0")  # waiting would be an error
    with writer.writing("trying"), writer.transaction():
        writer.set("features", "blocks")
        assert reader.get("features") is None
    assert reader.get("features") == "blocks"
    with reader.snapshot():
        assert reader.get("features") == "blocks"
        with writer.writing("trying"), writer.transaction():
            writer.set("features", "cnn")
        assert reader.get("features") == "blocks"
    assert reader.get("features") == "cnn"


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    pages = catalogue.one("PRAGMA page_count")
    before = catalogue.one("SELECT count(*) FROM settings")
    catalogue.db.execute(f"PRAGMA max_page_count = {pages + 2}")

    def fill() -> None:
        with catalogue.writing("trying"), catalogue.transaction():
            for number in range(1000):
                catalogue.set(f"setting {number}", "x" * 1000)

    with pytest.raises(VistermError, match="no space left on the device; free some"):
        fill()
    assert catalogue.one("SELECT count(*) FROM settings") == before
    assert catalogue.problems() == []


def test_a_file_that_is_no_catalogue_is_named(tmp_path: Path) -> None:
    (tmp_path / CATALOGUE).write_bytes(b"not a database at all" * 100)
    with pytest.raises(VistermError, match=r"catalogue\.sqlite: file is not a database"):
        Catalogue(tmp_path)


def test_how_many_files_a_picture_has_is_counted_whatever_happens(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    changes = 0

    def after(change: str) -> int:
        nonlocal changes
        with catalogue.writing("trying"), catalogue.transaction() as db:
            db.execute(change)
        before, changes = changes, int(catalogue.get("place_changes") or 0)
        assert changes > before, "snapshots know by it that other pictures are there"
        return int(catalogue.one("SELECT present FROM pictures WHERE id = 1"))

    with catalogue.writing("trying"), catalogue.transaction() as db:
        db.execute("INSERT INTO pictures (hash) VALUES (x'00')")
    put = """INSERT INTO places (folder, name, picture, size, mtime_ns, sidecars)
        VALUES ('', '{}.jpg', 1, 2, 3, '')"""
    assert after(put.format("a")) == 1
    assert after(put.format("b")) == 2
    assert after("UPDATE places SET vanished = 1 WHERE name = 'a.jpg'") == 1
    assert after("UPDATE places SET vanished = 1") == 0
    assert after("UPDATE places SET vanished = 0 WHERE name = 'b.jpg'") == 1
    assert after("DELETE FROM places WHERE name = 'a.jpg'") == 1
    assert after("DELETE FROM places") == 0

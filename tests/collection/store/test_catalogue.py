from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.location import CATALOGUE
from visterm.collection.store.schema import NEWEST, STEPS
from visterm.errors import VistermError


def old_catalogue(store: Path, version: int) -> None:
    """A catalogue as the first so many steps made it, with one captioned picture."""
    db = sqlite3.connect(store / CATALOGUE)
    for step in STEPS[:version]:
        db.executescript(step)
    db.execute("INSERT INTO pictures (hash) VALUES (x'00')")
    db.execute(
        "INSERT INTO places (folder, name, picture, size, mtime_ns, sidecars)"
        " VALUES ('', 'a.jpg', 1, 2, 3, '')"
    )
    db.execute("INSERT INTO captions VALUES (1, 'person', 'a tree')")
    db.execute(f"PRAGMA user_version = {version}")
    db.commit()
    db.close()


@pytest.mark.parametrize("version", range(1, NEWEST))
def test_an_old_catalogue_is_brought_forward_with_all_it_holds(
    tmp_path: Path, version: int
) -> None:
    old_catalogue(tmp_path, version)
    catalogue = Catalogue(tmp_path)
    assert catalogue.one("PRAGMA user_version") == NEWEST
    assert catalogue.one("SELECT text FROM captions") == "a tree"
    assert catalogue.one("SELECT count(*) FROM folders") == 0
    assert catalogue.problems() == []
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    tables = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    assert catalogue.db.execute(tables).fetchall() == Catalogue(fresh).db.execute(tables).fetchall()


def test_a_catalogue_from_the_future_is_refused_untouched(tmp_path: Path) -> None:
    Catalogue(tmp_path).close()
    db = sqlite3.connect(tmp_path / CATALOGUE)
    db.execute(f"PRAGMA user_version = {NEWEST + 1}")
    db.close()
    before = (tmp_path / CATALOGUE).read_bytes()
    with pytest.raises(VistermError, match=r"written by a newer visterm .* upgrade visterm"):
        Catalogue(tmp_path)
    assert (tmp_path / CATALOGUE).read_bytes() == before


def test_a_step_that_fails_leaves_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_catalogue(tmp_path, 1)
    monkeypatch.setattr(
        "visterm.collection.store.schema.STEPS", (STEPS[0], "CREATE TABLE x (y); SELECT nonsense;")
    )
    with pytest.raises(VistermError, match="nonsense"):
        Catalogue(tmp_path)
    db = sqlite3.connect(tmp_path / CATALOGUE)
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'x'").fetchone() == (0,)


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
    old_catalogue(tmp_path, NEWEST)
    catalogue = Catalogue(tmp_path)

    def after(change: str) -> tuple[int, bool]:
        with catalogue.writing("trying"), catalogue.transaction() as db:
            db.execute("DELETE FROM pending")
            db.execute(change)
            told = bool(db.execute("SELECT 1 FROM pending WHERE picture = 1").fetchone())
            return db.execute("SELECT present FROM pictures WHERE id = 1").fetchone()[0], told

    assert catalogue.one("SELECT present FROM pictures") == 1
    copy = """INSERT INTO places (folder, name, picture, size, mtime_ns, sidecars)
        VALUES ('', 'b.jpg', 1, 2, 3, '')"""
    assert after(copy) == (2, False)
    assert after("UPDATE places SET vanished = 1 WHERE name = 'a.jpg'") == (1, False)
    assert after("UPDATE places SET vanished = 1") == (0, True)
    assert after("UPDATE places SET vanished = 0 WHERE name = 'b.jpg'") == (1, True)
    assert after("DELETE FROM places WHERE name = 'a.jpg'") == (1, False)
    assert after("DELETE FROM places") == (0, True)

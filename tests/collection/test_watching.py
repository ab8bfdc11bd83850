"""A living folder: what comes, goes, moves and changes is noticed; a drive away loses nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from visterm.collection import Collection, Watcher, follow
from visterm.collection.ingest.survey import AWAY
from visterm.collection.watching import is_network_drive


def known(collection: Collection) -> dict[str, bytes]:
    """The files that are there, with the hashes of their contents."""
    found = collection.catalogue.db.execute(
        """SELECT folder || '/' || name, hash FROM places JOIN pictures ON pictures.id = picture
            WHERE NOT vanished"""
    )
    return dict(found.fetchall())


@pytest.mark.parametrize("polling", [False, True])
def test_files_that_come_go_and_move_are_followed(
    pictures: Callable[[int], Path], polling: bool
) -> None:
    folder = pictures(6)
    (folder / "sea").mkdir()
    steps: list[Callable[[], object]] = [
        lambda: (folder / "scene-0001.jpg").rename(folder / "sea" / "moved.jpg"),
        lambda: shutil.copy(folder / "scene-0003.jpg", folder / "scene-0004.jpg"),
        lambda: shutil.rmtree(folder / "sea"),
        lambda: (folder / "scene-0005.jpg").unlink(),
    ]
    watcher = Watcher(folder, polling=polling)
    guard = threading.Timer(60, watcher.stop)  # else a change that is missed is waited for
    guard.start()
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")
        for _ in follow(collection, watcher=watcher):
            there = {str(path.relative_to(folder)) for path in folder.rglob("*.jpg")}
            if {name.lstrip("/") for name in known(collection)} != there:
                continue
            if not steps:
                watcher.stop()
            else:
                steps.pop(0)()
        guard.cancel()
        assert not steps
        with Collection.open(folder, store=folder.parent / "fresh") as fresh:
            fresh.add(features="thumbnails")
            assert known(collection) == known(fresh)


def test_only_what_matters_is_noticed(tmp_path: Path) -> None:
    watcher = Watcher(tmp_path)
    (tmp_path / "a.folder").mkdir()
    told = {
        name: watcher.concerns(str(tmp_path / name))
        for name in (
            "a.jpg",
            "sea",
            "a.folder",
            "a.xmp",
            "notes.pdf",
            ".hidden/a.jpg",
            ".visterm/catalogue",
        )
    }
    assert [name for name, is_told in told.items() if is_told] == [
        "a.jpg",
        "sea",
        "a.folder",
        "a.xmp",
    ]
    paths = [str(tmp_path), str(tmp_path / "sea" / "a.jpg"), str(tmp_path / "a.folder")]
    assert watcher.folders(paths) == {"", "sea", "a.folder"}


def test_network_drives_are_asked(tmp_path: Path) -> None:
    assert not is_network_drive(tmp_path)
    assert is_network_drive(Path("//server/photos"))


def test_a_drive_that_is_away_has_lost_nothing(
    pictures: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pictures(4)
    drive, away = folder / "drive", folder.parent / "away"
    (drive / "inner").mkdir(parents=True)
    (folder / "scene-0001.jpg").rename(drive / "a.jpg")
    (folder / "scene-0002.jpg").rename(drive / "inner" / "b.jpg")
    mounted = {str(drive)}
    monkeypatch.setattr(os.path, "ismount", lambda path: os.fspath(path) in mounted)
    said: list[tuple[str, str]] = []
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")
        drive.rename(away)
        drive.mkdir()
        mounted.clear()
        report = collection.add(on_skip=lambda *one: said.append(one))
        assert (report.vanished, len(collection)) == (0, 4)
        assert said == [("drive", AWAY)]
        assert collection.add(changed=["drive"]).vanished == 0
        found = collection.search("", like=folder / "scene-0003.jpg", k=4).results
        assert {"a.jpg", "b.jpg"} <= {Path(one.path).name for one in found}
        drive.rmdir()
        away.rename(drive)
        mounted.add(str(drive))
        assert collection.add().returned == 0
        shutil.rmtree(drive / "inner")  # emptied while it is mounted
        (drive / "a.jpg").unlink()
        assert (collection.add().vanished, len(collection)) == (2, 2)


def test_a_folder_nobody_follows_is_not_added(pictures: Callable[[int], Path]) -> None:
    folder = pictures(4)
    for name in ("sea", "private"):
        (folder / name).mkdir()
    (folder / "scene-0001.jpg").rename(folder / "sea" / "a.jpg")
    (folder / "scene-0002.jpg").rename(folder / "private" / "b.jpg")
    with Collection.open(folder) as collection:
        collection.add([folder / "sea"], features="thumbnails")
        assert collection.add(changed=["private", ""]).new == 0
        (folder / "scene-0003.jpg").rename(folder / "sea" / "c.jpg")
        assert collection.add(changed=["sea"]).new == 1
        assert len(collection) == 2


def test_edits_in_place_are_news(collection: Collection) -> None:
    one, other = collection.root / "scene-0001.jpg", collection.root / "scene-0002.jpg"
    os.utime(collection.root, (1e9, 1e9))  # a folder that changed just now is listed once more
    collection.add()
    assert not collection.has_news
    before = os.stat(collection.root).st_mtime_ns
    one.write_bytes(other.read_bytes())
    assert os.stat(collection.root).st_mtime_ns == before
    assert collection.has_news
    assert collection.add().changed == 1
    assert not collection.has_news


def test_training_is_due_when_enough_captions_have_changed(learnt: Collection) -> None:
    assert not learnt.is_worth_training
    for number in range(1, 21):
        learnt.caption(number, "sea boat" if number % 2 else "tree meadow")
    assert learnt.is_worth_training
    learnt.train()
    assert not learnt.is_worth_training


WITHOUT_HANDLES = """
import os, resource, sys, threading, time
from pathlib import Path
from visterm.collection import Watcher
import watchfiles
root = Path(sys.argv[1])
seen, watcher = set(), Watcher(root, polling=False)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass

def watch():
    for folders in watcher.changes():
        seen.update(folders)

thread = threading.Thread(target=watch)
thread.start()
time.sleep(2)
print(thread.is_alive(), watcher.is_watching)
for handle in taken:
    os.close(handle)
for number in range(100):
    (root / f"{number}.jpg").write_bytes(b"")
    time.sleep(0.3)
    if seen and watcher.is_watching:
        break
print(thread.is_alive(), watcher.is_watching)
watcher.stop()
thread.join()
"""


def test_a_watcher_without_handles_says_so_and_goes_on_when_there_are_some(tmp_path: Path) -> None:
    program = [sys.executable, "-c", WITHOUT_HANDLES, str(tmp_path)]
    ran = subprocess.run(program, capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.splitlines() == ["True False", "True True"], ran.stderr

"""Full disks, two writers, readers beside a writer."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from visterm.collection import Collection
from visterm.collection.store.lock import Locked
from visterm.errors import VistermError

Pictures = Callable[[int], Path]


class FullDisk:
    """From the n-th time on that a file is made lasting, the disk is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        self.left, self.fsync = after, os.fsync
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, handle: int) -> None:
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1
        self.fsync(handle)


def attempt(work: Callable[[], Any]) -> tuple[str | None, Any]:
    """What somebody is told, or what the work gave."""
    try:
        return None, work()
    except VistermError as error:
        return str(error), None


def state(collection: Collection) -> tuple[object, ...]:
    """All that a person can see."""
    answer = collection.search("sky", 100).results if collection.has_model else None
    facts = collection.status()
    return len(collection), facts.captioned, facts.described, facts.model, answer


def test_a_disk_that_fills_up_while_adding_leaves_the_last_state(
    learnt: Collection, drawn: Path
) -> None:
    before = state(learnt)
    for number in range(5):
        content = (drawn / f"scene-000{number + 1}.jpg").read_bytes()
        (learnt.root / f"new-{number}.jpg").write_bytes(content + b"new")
    failed = 0
    while True:
        with pytest.MonkeyPatch.context() as patch:
            FullDisk(patch, after=failed)
            said, report = attempt(learnt.add)
        if said is None:
            break
        assert "no space left on the device; free some and try again" in said
        assert "\n" not in said
        failed += 1
        assert learnt.check().problems == []
        found = state(learnt)
        assert found == before or found[0] == 65, "all of the batch or none of it"
    assert failed >= 2
    assert report.skipped == []
    assert len(learnt.search("sky", 100).results) == 65
    assert learnt.check().problems == []


def test_a_disk_that_fills_up_while_training_leaves_the_model_before(learnt: Collection) -> None:
    before = state(learnt)
    failed = 0
    while True:
        with pytest.MonkeyPatch.context() as patch:
            FullDisk(patch, after=failed)
            said, _ = attempt(lambda: learnt.train(force=True))
        if said is None:
            break
        assert "no space left on the device; free some and try again" in said
        failed += 1
        assert state(learnt) == before
        assert learnt.check().problems == []
    assert failed >= 4
    assert state(learnt) != before


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of two megabytes, where one may be made."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True
    )
    if not made or made.returncode:
        pytest.skip("a tiny disk can be mounted by root only")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_is_really_full_is_one_clear_line(tiny_disk: Path, drawn: Path) -> None:
    for path in sorted(drawn.glob("*.jpg"))[:20]:
        shutil.copy(path, tiny_disk)
    with Collection.open(tiny_disk) as collection:
        collection.add(features="thumbnails")
        for number, path in enumerate(sorted(tiny_disk.glob("*.jpg"))):
            collection.caption(path, "tree sea" if number % 2 else "sky snow")
        collection.train()
        before = state(collection)
        size = (tiny_disk / "scene-0001.jpg").stat().st_size
        for number, path in enumerate(sorted(drawn.glob("*.jpg"))[20:]):
            (tiny_disk / f"new-{number}.jpg").write_bytes(path.read_bytes())
        room = os.statvfs(tiny_disk).f_bavail * os.statvfs(tiny_disk).f_frsize
        (tiny_disk / "filling").write_bytes(b"\0" * max(0, room - size // 2))
        table = tiny_disk.parent / "captions.tsv"
        table.write_text("".join(f"scene-{n:04d}.jpg\t{'words ' * 9000}\n" for n in range(1, 21)))
        lines = []
        for work in (
            collection.add,
            lambda: collection.train(force=True),
            lambda: collection.caption_from(table),
        ):
            with pytest.raises(VistermError) as refused:
                work()
            lines.append(str(refused.value))
        assert all("no space left on the device; free some" in line for line in lines), lines
        assert state(collection) == before
        (tiny_disk / "filling").unlink()
        assert collection.check().problems == []
        assert collection.add().new == 40
        assert len(collection.search("sky", 100).results) == 60


def test_a_second_writer_is_told_and_the_first_goes_on(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("visterm.collection.store.lock.WAIT", 0.1)
    path = collection.root / "scene-0001.jpg"
    with Collection.open(collection.root) as other:
        with collection.catalogue.writing("adding pictures"):
            with pytest.raises(Locked, match=r"is being written by .*adding pictures"):
                other.caption(path, "tree")
            assert other.captions(path) == {}
            assert len(other) == 12
        other.caption(path, "tree")
    assert collection.captions(path) == {"person": "tree"}


def test_readers_see_whole_states_while_somebody_writes(learnt: Collection, drawn: Path) -> None:
    """Another connection searches all the while pictures are added and a model is learnt."""
    stop, found, problems = threading.Event(), [], []

    def read() -> None:
        try:
            with Collection.open(learnt.root) as reader:
                reader.catalogue.db.execute("PRAGMA busy_timeout = 0")
                while not stop.is_set():
                    found.append(len(reader.search("sky", 200).results))
        except BaseException as error:
            problems.append(error)

    reading = threading.Thread(target=read)
    reading.start()
    try:
        for number in range(6):
            for extra in range(3):
                content = (drawn / f"scene-00{number + 10}.jpg").read_bytes()
                name = f"new-{number}-{extra}.jpg"
                (learnt.root / name).write_bytes(content + bytes([extra]))
            learnt.add()
            if number % 2:
                learnt.train(force=True)
    finally:
        stop.set()
        reading.join()
    assert problems == []
    assert set(found) <= {60, 63, 66, 69, 72, 75, 78}
    assert found == sorted(found)
    assert len(found) > 5
    assert len(learnt.search("sky", 200).results) == 78


def test_a_search_that_meets_a_busy_writer_answers_from_what_is_there(learnt: Collection) -> None:
    with (
        Collection.open(learnt.root) as other,
        learnt.catalogue.writing("training"),
        learnt.catalogue.transaction() as db,
    ):
        db.execute("DELETE FROM pictures WHERE id < 30")
        assert len(other.search("sky", 100).results) == 60
    assert len(learnt.search("sky", 100).results) == 31


def test_a_store_that_nobody_may_write_can_be_searched(
    learnt: Collection, pictures: Pictures
) -> None:
    if os.name != "posix":
        pytest.skip("permissions of POSIX")
    expected = learnt.search("sky", 5).results
    learnt.close()
    for path in (learnt.root, *learnt.root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    me = os.geteuid()
    parents = [path for path in learnt.root.parents if not path.stat().st_mode & 1]
    modes = {path: path.stat().st_mode for path in parents}
    try:
        for path in parents:
            path.chmod(0o755)
        if me == 0:  # root may write everywhere
            os.seteuid(65_534)
        with Collection.open(learnt.root, create=False) as reader:
            assert reader.search("sky", 5).results == expected
            with pytest.raises(VistermError, match=r"cannot write|permission denied"):
                reader.caption(learnt.root / "scene-0001.jpg", "tree")
    finally:
        os.seteuid(me)
        for path, mode in modes.items():
            path.chmod(mode)
        for path in (learnt.root, *learnt.root.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)

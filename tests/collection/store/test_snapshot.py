"""Snapshots: one committed state, whose parts are handed on exactly as long as they are right."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.snapshot import (
    NotTrained,
    SharedState,
    Snapshot,
    reading,
    shared_state,
    snapshot,
)

PARTS: dict[str, Callable[[Snapshot], object]] = {
    "version": lambda now: now.version,
    "words": lambda now: now.words,
    "pictures": lambda now: now.pictures("thumbnails-1"),
    "frames": lambda now: now.frames,
    "lengths of captions": lambda now: now.written.lengths,
    "completeness": lambda now: now.completeness,
    "masks": lambda now: now.masks,
    "mapped": lambda now: now.remembered("a test", object),
}


def parts(catalogue: Catalogue) -> dict[str, object]:
    now = snapshot(catalogue)
    return {name: make(now) for name, make in PARTS.items()}


def renewed(before: dict[str, object], after: dict[str, object]) -> set[str]:
    return {name for name in before if before[name] is not after[name]}


def forget_one(collection: Collection) -> None:
    collection.remove([collection.root / "scene-0009.jpg"])


CHANGES: dict[str, tuple[Callable[[Collection], object], set[str]]] = {
    "nothing": (lambda one: one.add(), set()),
    "a click": (lambda one: one.judge("sea", 3, True), {"words"}),
    "a caption": (lambda one: one.caption(3, "a sea"), {"lengths of captions", "masks"}),
    "a picture goes": (
        forget_one,
        {"pictures", "masks"},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_parts_are_renewed_exactly_when_they_change(learnt: Collection, change: str) -> None:
    before = parts(learnt.catalogue)
    assert renewed(before, parts(learnt.catalogue)) == set()
    how, expected = CHANGES[change]
    how(learnt)
    found = renewed(before, parts(learnt.catalogue))
    assert found >= expected
    assert not found - expected - {"completeness"}


def test_training_renews_what_depends_on_the_version(learnt: Collection) -> None:
    before = parts(learnt.catalogue)
    learnt.train(force=True)
    found = renewed(before, parts(learnt.catalogue))
    assert {"version", "words", "mapped"} <= found
    assert not {"pictures", "frames", "lengths of captions", "masks"} & found


def test_threads_and_connections_share_parts_but_not_connections(learnt: Collection) -> None:
    before = parts(learnt.catalogue)
    found: list[dict[str, object]] = []

    def read() -> None:
        other = Catalogue(learnt.catalogue.store)
        other.shared = shared_state(learnt.catalogue)
        found.append(parts(other))
        assert snapshot(other).written.db is other.db
        other.close()

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert len(found) == 1
    assert renewed(before, found[0]) == set()


def test_a_reader_keeps_its_state_whatever_is_committed_meanwhile(learnt: Collection) -> None:
    other = Catalogue(learnt.catalogue.store)
    other.shared = shared_state(learnt.catalogue)
    with reading(other) as now:
        count, directions = len(now.pictures("thumbnails-1") or ()), dict(now.words.directions)
        learnt.judge("sea", 3, True)
        forget_one(learnt)
        with reading(learnt.catalogue) as later:
            assert len(later.pictures("thumbnails-1") or ()) == count - 1
            assert later.words.directions
        assert len(snapshot(other).pictures("thumbnails-1") or ()) == count
        assert snapshot(other).words.directions == directions == {}
    assert len(snapshot(other).pictures("thumbnails-1") or ()) == count - 1
    other.close()


def test_a_transaction_never_leaks_what_it_has_not_committed(learnt: Collection) -> None:
    catalogue = learnt.catalogue
    before = parts(catalogue)

    def fail() -> None:
        with catalogue.writing("trying"), catalogue.transaction() as db:
            db.execute("DELETE FROM pictures WHERE id <= 10")
            db.execute("UPDATE places SET vanished = 1 WHERE picture <= 20")
            db.execute("DELETE FROM captions")
            inside = snapshot(catalogue)
            assert len(inside.pictures("thumbnails-1") or ()) == 40
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert renewed(before, parts(catalogue)) == set()
    # The next transaction counts the same changes as the one that failed, and is another one.
    with catalogue.writing("trying"), catalogue.transaction() as db:
        db.execute("DELETE FROM pictures WHERE id > 50")
        db.execute("UPDATE places SET vanished = 1 WHERE picture > 40")
    assert len(snapshot(catalogue).pictures("thumbnails-1") or ()) == 40
    now = snapshot(catalogue).pictures("thumbnails-1")
    assert now is not None
    assert now.findable.tolist() == list(range(1, 41))


def test_a_part_is_made_once_however_many_threads_want_it() -> None:
    shared, made = SharedState(), []
    together = threading.Barrier(4)

    def make() -> object:
        made.append(threading.get_ident())
        return object()

    def ask() -> None:
        together.wait()
        shared.part("name", 1, make)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_before_anything_is_learnt_there_are_no_words(collection: Collection) -> None:
    now = snapshot(collection.catalogue)
    assert now.version is None
    with pytest.raises(NotTrained, match="visterm train"):
        _ = now.words


def test_damaged_weights_are_named(learnt: Collection) -> None:
    version = snapshot(learnt.catalogue).version
    assert version is not None
    path: Path = version.folder / "model.safetensors"
    path.write_bytes(b"nonsense")
    with (
        Collection.open(learnt.root) as other,
        pytest.raises(Exception, match=r"model\.safetensors is damaged .*visterm check --repair"),
    ):
        other.search("sea")

"""Changes: every one is seen whole or not at all, by the writer, by readers and after a kill."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from visterm.errors import BadInput, VistermError
from visterm.index import DenseIndex, Index, storage
from visterm.index.manifest import Segment, read_manifest
from visterm.index.score import score
from visterm.index.segment_changes import due

Kind = type[Index] | type[DenseIndex]
both = pytest.mark.parametrize("kind", [Index, DenseIndex])


def some_rows(count: int, words: int = 3, seed: int = 0) -> np.ndarray:
    return np.round(np.random.default_rng(seed).standard_normal((count, words)), 1)


@both
def test_ids_count_on_and_are_never_used_again(tmp_path: Path, kind: Kind) -> None:
    index = kind.create(tmp_path, words=3)
    assert index.append(some_rows(2)).tolist() == [0, 1]
    assert index.append(some_rows(2), ids=[40, 7]).tolist() == [40, 7]
    index.remove([40])
    assert index.append(some_rows(1)).tolist() == [41]
    assert kind.open(tmp_path).ids().tolist() == [0, 1, 7, 41]


@both
def test_ids_that_are_taken_are_refused_or_replaced(tmp_path: Path, kind: Kind) -> None:
    index = kind.create(tmp_path, words=1)
    index.append([[1], [2]])
    with pytest.raises(BadInput, match="1 of the ids are in the index already"):
        index.append([[3], [4]], ids=[1, 2])
    index.append([[3], [4]], ids=[1, 2], replace=True)
    assert index.rows([0, 1, 2]).tolist() == [[1], [3], [4]]
    assert len(index) == 3
    for wrong in ([5, 5], [5], [-1, 5], [0.5, 1]):
        with pytest.raises(BadInput):
            index.append([[3], [4]], ids=wrong)


@both
def test_build_leaves_only_the_new_rows(tmp_path: Path, kind: Kind) -> None:
    index = kind.create(tmp_path, words=1)
    index.append([[1], [2]])
    index.build([[5]], ids=[0])
    assert kind.open(tmp_path).ids().tolist() == [0]
    assert index.rows([0]).tolist() == [[5]]


@both
def test_a_reader_keeps_its_state_while_files_are_swept(tmp_path: Path, kind: Kind) -> None:
    index = kind.create(tmp_path, words=3)
    for seed in range(4):
        index.append(some_rows(20, seed=seed))
    reader = kind.open(tmp_path)
    before = reader.search(([0, 2], [1, -1]), 9)
    index.remove(before[0][:3])
    while index.merge():
        pass
    index.remove(before[0][3:5])
    assert reader.version < index.version
    np.testing.assert_array_equal(reader.search(([0, 2], [1, -1]), 9), before)
    assert reader.refresh()
    assert not reader.refresh()
    assert reader.search(([0, 2], [1, -1]), 4)[0].tolist() == before[0][5:].tolist()


@both
def test_two_writers_take_turns(tmp_path: Path, kind: Kind) -> None:
    one = kind.create(tmp_path, words=3)
    other = kind.open(tmp_path)
    for seed in range(3):
        one.append(some_rows(2, seed=seed))
        other.append(some_rows(2, seed=seed))
    assert one.refresh()
    assert len(one) == len(other) == 12


@both
def test_nothing_unnamed_stays_in_the_folder(tmp_path: Path, kind: Kind) -> None:
    index = kind.create(tmp_path, words=3)
    (tmp_path / f"v000001-9.{kind.kind}").write_bytes(b"of a change that died")
    (tmp_path / ".v000001-9.ids.0a0b0c0d.part").write_bytes(b"half")
    (tmp_path / "notes.txt").write_bytes(b"somebody else's")
    for seed in range(5):
        index.append(some_rows(3, seed=seed))
        index.merge()
    index.remove([0])
    assert not index.merge()  # Merging sweeps, even when there is nothing to merge.
    expected = {"lock", "manifest.json", "notes.txt", *index._manifest.files}
    assert set(os.listdir(tmp_path)) == expected


@both
def test_a_full_disk_leaves_the_last_state_and_no_rubbish(
    tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = kind.create(tmp_path, words=3)
    index.append(some_rows(30))
    before = sorted(os.listdir(tmp_path))
    real, synced = os.fsync, iter(())

    def limited(handle: int) -> None:
        if next(synced, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", limited)
    changes: list[Callable[[], object]] = [
        lambda: index.append(some_rows(9), ids=range(1, 36, 4), replace=True),
        lambda: index.remove([1, 2]),
    ]
    for change in changes:
        for count in range(3):
            synced = iter(range(count))
            with pytest.raises(VistermError, match="no space left on the device"):
                change()
            assert sorted(os.listdir(tmp_path)) == before
            np.testing.assert_array_equal(index.rows(range(30)), some_rows(30).astype(np.float32))
    monkeypatch.undo()
    assert index.remove([1, 2]) == 2


@both
def test_verify_names_every_damaged_file(tmp_path: Path, kind: Kind) -> None:
    index = kind.create(tmp_path, words=3)
    for ids in ([1, 5, 9], [2, 4, 8], [3, 10, 20]):
        index.append(some_rows(3), ids=ids)
    assert index.verify() == []
    changed, cut, gone = (segment.groups[0].file for segment in index._manifest.segments)
    content = bytearray((tmp_path / changed).read_bytes())
    content[-1] ^= 1
    (tmp_path / changed).write_bytes(content)
    os.truncate(tmp_path / cut, 10)
    (tmp_path / gone).unlink()
    found = index.verify()
    assert [line.split(": ", 1)[1].split(" instead")[0] for line in found] == [
        "its bytes have changed since they were written",
        "10 bytes",
        "No such file or directory",
    ]
    with pytest.raises(VistermError, match="10 bytes instead of"):
        kind.open(tmp_path)
    os.truncate(tmp_path / cut, index._manifest.files[cut].size)
    with pytest.raises(VistermError, match="is missing; build the index again"):
        kind.open(tmp_path)


def test_folders_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VistermError, match="holds no index"):
        Index.open(tmp_path)
    Index.create(tmp_path, words=2)
    with pytest.raises(BadInput, match="holds an index already"):
        Index.create(tmp_path, words=2)
    with pytest.raises(BadInput, match="an index of columns, not of rows"):
        DenseIndex.open(tmp_path)
    manifest = tmp_path / "manifest.json"
    written = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**written, "words": 3}))
    with pytest.raises(VistermError, match="is damaged"):
        Index.open(tmp_path)
    manifest.write_text(json.dumps({**written, "format": 3}))
    with pytest.raises(VistermError, match="newer visterm"):
        Index.open(tmp_path)
    manifest.write_text("{")
    with pytest.raises(VistermError, match="cannot be read"):
        Index.open(tmp_path)


def test_many_small_appends_end_in_few_segments_written_few_times() -> None:
    def segment(pictures: int, removed: int = 0) -> Segment:
        return Segment(pictures, removed, 0, None, None, ())

    segments, written = [], 0
    for _ in range(1000):
        segments.append(segment(10))
        while run := due(segments, 4000):
            new = segment(sum(segments[number].pictures for number in run))
            segments = [s for number, s in enumerate(segments) if number not in run] + [new]
            written += new.pictures
    assert len(segments) < 12
    assert max(s.pictures for s in segments) <= 4000
    assert written < 10_000 * np.log2(1000)
    assert due([segment(4000), segment(4000)], 4000) == []
    assert due([segment(4000), segment(4000, removed=1500)], 4000) == [1]


class Life(RuleBasedStateMachine):
    """Any sequence of changes leaves the index equal to a dictionary that had the same changes."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.index = Index.create(self._folder.name, words=2)
        self.index.segment_size = 12
        self.rows: dict[int, list[float]] = {}

    @rule(count=st.integers(0, 30), seed=st.integers(0, 99))
    def append(self, count: int, seed: int) -> None:
        rows = some_rows(count, self.index.words, seed).astype(np.float32)
        ids = self.index.append(rows)
        self.rows.update(zip(ids.tolist(), rows.tolist(), strict=True))

    @rule(ids=st.sets(st.integers(0, 60), min_size=1, max_size=9), seed=st.integers(0, 99))
    def replace(self, ids: set[int], seed: int) -> None:
        rows = some_rows(len(ids), self.index.words, seed).astype(np.float32)
        self.index.append(rows, ids=list(ids), replace=True)
        self.rows.update(zip(ids, rows.tolist(), strict=True))

    @rule(ids=st.sets(st.integers(0, 60), max_size=40))
    def remove(self, ids: set[int]) -> None:
        assert self.index.remove(list(ids)) == len(ids & self.rows.keys())
        self.rows = {number: row for number, row in self.rows.items() if number not in ids}

    @rule(word=st.integers(0, 1), seed=st.integers(0, 99))
    def update(self, word: int, seed: int) -> None:
        values = some_rows(len(self.rows), 1, seed)[:, 0].astype(np.float32)
        self.index.update_word(word, values)
        for number, value in zip(sorted(self.rows), values.tolist(), strict=True):
            self.rows[number][word] = value

    @rule()
    def add_word(self) -> None:
        self.index.add_words(1)
        for row in self.rows.values():
            row.append(0)

    @rule()
    def merge(self) -> None:
        self.index.merge()

    @rule()
    def reopen(self) -> None:
        self.index = Index.open(self._folder.name)
        self.index.segment_size = 12

    @invariant()
    def holds_the_same_rows_and_finds_the_same_pictures(self) -> None:
        ids = sorted(self.rows)
        assert self.index.ids().tolist() == ids
        assert self.index.rows(ids).tolist() == [self.rows[number] for number in ids]
        weights = np.float32([-1, 0.5])
        found = self.index.search(([0, 1], weights), 3)
        scores = {number: score(weights, np.float32(self.rows[number])) for number in ids}
        assert found[0].tolist() == sorted(ids, key=lambda n: (-scores[n], n))[:3]

    def teardown(self) -> None:
        assert self.index.verify() == []
        self._folder.cleanup()


Life.TestCase.settings = settings(
    max_examples=20, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
test_any_sequence_of_changes_equals_a_dictionary = Life.TestCase


class LifeInMemory(Life):
    """The same for an index without a folder."""

    def __init__(self) -> None:
        super().__init__()
        self.index = Index.in_memory(np.empty((0, 2)))
        self.index.segment_size = 12

    @rule()
    def reopen(self) -> None:
        assert not self.index.refresh()


LifeInMemory.TestCase.settings = Life.TestCase.settings
test_any_sequence_of_changes_in_memory_equals_a_dictionary = LifeInMemory.TestCase


def change(index: Index, number: int) -> None:
    """The change that makes version ``number + 1``, the same whenever it is tried."""
    rng = np.random.default_rng(number)
    kind = ("append", "append", "update", "append", "remove", "merge")[number % 6]
    if kind == "merge" and index.merge():
        return
    if kind == "update" and len(index):
        index.update_word(int(rng.integers(3)), some_rows(len(index), 1, number)[:, 0])
    elif kind == "remove" and index.remove(rng.choice(index.ids(), 3)):
        return
    else:
        index.append(some_rows(int(rng.integers(1, 30)), seed=number))


def change_for_ever(folder: str) -> None:
    index = Index.open(folder)
    while True:
        change(index, index.version)


forking = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs fork and SIGKILL"
)


@forking
def test_readers_open_whole_states_while_a_writer_writes_and_sweeps(tmp_path: Path) -> None:
    Index.create(tmp_path, words=3)
    writer = multiprocessing.get_context("fork").Process(
        target=change_for_ever, args=(str(tmp_path),)
    )
    writer.start()
    try:
        version = 0
        while version < 60:
            assert writer.is_alive()
            index = Index.open(tmp_path)
            assert index.version >= version
            version = index.version
            ids = index.ids()
            found = index.search(([0, 2], [1, 1]), len(ids))[0]
            np.testing.assert_array_equal(np.sort(found), ids)
            assert index.rows(ids).shape == (len(index), 3)
    finally:
        writer.kill()
        writer.join()


@forking
@pytest.mark.parametrize("large", [storage._LARGE, 1], ids=["", "hashed in threads"])
def test_a_kill_at_any_moment_leaves_a_committed_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(storage, "_LARGE", large)
    killed, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    Index.create(killed, words=3)
    twin = Index.create(undisturbed, words=3)
    rng = np.random.default_rng(0)
    fork = multiprocessing.get_context("fork")
    for _ in range(20):
        writer = fork.Process(target=change_for_ever, args=(str(killed),))
        writer.start()
        while read_manifest(killed).version == twin.version:
            assert writer.is_alive()
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.03))
        writer.kill()
        writer.join()
        index = Index.open(killed)
        assert index.verify() == []
        while twin.version < index.version:
            change(twin, twin.version)
        np.testing.assert_array_equal(index.ids(), twin.ids())
        np.testing.assert_array_equal(index.rows(index.ids()), twin.rows(twin.ids()))
        query = ([0, 1, 2], [1, -0.5, 0.25])
        np.testing.assert_array_equal(index.search(query, 7), twin.search(query, 7))


def test_like_pictures_lie_together_and_keep_their_ids(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    albums = rng.integers(0, 40, 20_000)
    rows = rng.standard_normal((40, 6))[albums] + 0.01 * rng.standard_normal((20_000, 6))
    rows = rows.astype(np.float32)
    index = Index.create(tmp_path, words=6)
    for some in np.split(np.arange(20_000), 4):
        index.append(rows[some], some)
    while index.merge():
        pass
    (part,) = index._parts
    ids = part.ids()
    assert np.array_equal(np.sort(ids), np.arange(20_000))
    neighbours = albums[ids]
    assert (neighbours[1:] == neighbours[:-1]).mean() > 0.5  # by chance one in forty
    np.testing.assert_array_equal(index.rows(np.arange(20_000)), rows)
    assert index.ids().tolist() == list(range(20_000))
    assert index.search(([], []), 3)[0].tolist() == [0, 1, 2]
    index.remove([0, 5])
    index.update_word(0, np.arange(19_998))
    assert index.values([0], [1, 2, 6]).ravel().tolist() == [0, 1, 4]
    again = Index.open(tmp_path)
    assert again.holds([0, 1, 5, 19_999, 20_000]).tolist() == [False, True, False, True, False]

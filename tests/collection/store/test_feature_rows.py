"""Rows that are appended, committed, killed on the way, described anew and written anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from visterm.collection import Collection
from visterm.collection.store import feature_rows
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows, described, vectors_of
from visterm.errors import VistermError
from visterm.index.feature_file import coded, decoded

EXTRACTOR = "test-1"


def catalogue_of(folder: Path, pictures: int) -> Catalogue:
    """A catalogue of pictures that are there."""
    catalogue = Catalogue(folder)
    with catalogue.writing("trying"), catalogue.transaction() as db:
        for number in range(1, pictures + 1):
            db.execute("INSERT INTO pictures (id, hash) VALUES (?, ?)", (number, bytes([number])))
            db.execute(
                "INSERT INTO places (folder, name, picture, size, mtime_ns, sidecars)"
                " VALUES ('', ?, ?, 1, 1, '')",
                (f"{number}.jpg", number),
            )
    return catalogue


def drawn(random: np.random.Generator, count: int, kind: str) -> np.ndarray | csr_array:
    if kind == "dense":
        return random.random((count, 7), np.float32)
    return csr_array(random_array((count, 7), density=0.5, random_state=random, dtype=np.float32))


def stored(vectors: np.ndarray | csr_array) -> np.ndarray:
    """What comes back: dense vectors by 8 bits a number."""
    return decoded(*coded(vectors)) if isinstance(vectors, np.ndarray) else vectors.toarray()


def add(rows: Rows, vectors: np.ndarray | csr_array, pictures: list[int]) -> None:
    with rows.catalogue.writing("trying"):
        written = rows.write(vectors)
        with rows.catalogue.transaction():
            rows.name(written, pictures)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_vectors_come_back_as_they_were_stored_batch_by_batch(tmp_path: Path, kind: str) -> None:
    random = np.random.default_rng(0)
    rows = Rows(catalogue_of(tmp_path, 30), EXTRACTOR)
    expected = {}
    for first in range(1, 31, 3):
        vectors, pictures = drawn(random, 3, kind), [first + 1, first, first + 2]
        add(rows, vectors, pictures)
        expected |= dict(zip(pictures, stored(vectors), strict=True))
    found = rows.of(range(1, 99))
    assert found.keys() == expected.keys()
    for number, vector in expected.items():
        np.testing.assert_array_equal(found[number], vector)
    some = [7, 3, 30]
    many = vectors_of(rows.catalogue, EXTRACTOR, some)
    many = many if isinstance(many, np.ndarray) else many.toarray()
    np.testing.assert_array_equal(many, np.stack([expected[number] for number in some]))
    with pytest.raises(VistermError, match="picture 99 has no vector"):
        vectors_of(rows.catalogue, EXTRACTOR, [1, 99])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_rows_that_were_not_committed_are_invisible_and_written_over(
    tmp_path: Path, kind: str
) -> None:
    random = np.random.default_rng(1)
    rows = Rows(catalogue_of(tmp_path, 9), EXTRACTOR)
    first = drawn(random, 2, kind)
    add(rows, first, [1, 2])
    with rows.catalogue.writing("trying"):
        rows.write(drawn(random, 4, kind))  # and killed
    before = described(rows.catalogue, EXTRACTOR)
    assert before is not None
    assert before.ids.tolist() == [1, 2]
    np.testing.assert_array_equal(before.file.dense(np.arange(2)), stored(first))

    def killed() -> None:
        with rows.catalogue.writing("trying"):
            written = rows.write(drawn(random, 3, kind))
            with rows.catalogue.transaction():
                rows.name(written, [3, 4, 5])
                raise KeyboardInterrupt  # with everything on the disk, but not committed

    with pytest.raises(KeyboardInterrupt):
        killed()
    assert rows.located([1, 2, 3]) == {1: 0, 2: 1}
    third = drawn(random, 1, kind)
    add(rows, third, [6])
    now = described(rows.catalogue, EXTRACTOR)
    assert now is not None
    assert now.ids.tolist() == [1, 2, 6]
    np.testing.assert_array_equal(now.file.dense(np.array([2])), stored(third))
    # Who opened the rows before sees what was there then.
    assert len(before) == 2
    np.testing.assert_array_equal(before.file.dense(np.arange(2)), stored(first))


def test_a_picture_that_is_described_again_has_its_last_row(tmp_path: Path) -> None:
    rows = Rows(catalogue_of(tmp_path, 4), EXTRACTOR)
    random = np.random.default_rng(2)
    add(rows, drawn(random, 3, "dense"), [1, 2, 3])
    again = drawn(random, 1, "dense")
    add(rows, again, [2])
    pictures = described(rows.catalogue, EXTRACTOR)
    assert pictures is not None
    assert pictures.is_there is not None
    assert pictures.is_there.tolist() == [True, False, True, True]
    assert pictures.findable.tolist() == [1, 2, 3]
    assert pictures.positions(np.array([2, 3])).tolist() == [2, 3]
    np.testing.assert_array_equal(rows.of([2])[2], stored(again)[0])


def test_pictures_that_vanished_or_were_forgotten_cannot_be_found(tmp_path: Path) -> None:
    rows = Rows(catalogue_of(tmp_path, 5), EXTRACTOR)
    add(rows, drawn(np.random.default_rng(3), 5, "dense"), [5, 4, 3, 2, 1])
    with rows.catalogue.writing("trying"), rows.catalogue.transaction() as db:
        db.execute("UPDATE places SET vanished = 1 WHERE picture = 2")
        db.execute("DELETE FROM pictures WHERE id = 4")
    pictures = described(rows.catalogue, EXTRACTOR)
    assert pictures is not None
    assert pictures.findable.tolist() == [1, 3, 5]
    assert len(pictures) == 3
    assert pictures.holds([1, 2, 3, 4, 9]).tolist() == [True, False, True, False, False]
    positions, known = pictures.located(np.array([3, 2, 5]))
    assert (positions.tolist(), known.tolist()) == ([2, 0], [True, False, True])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_dead_rows_are_left_out_when_enough_have_gathered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    random = np.random.default_rng(4)
    rows = Rows(catalogue_of(tmp_path, 40), EXTRACTOR)
    expected: dict[int, np.ndarray] = {}
    for first in (1, 21):
        vectors = drawn(random, 20, kind)
        add(rows, vectors, list(range(first, first + 20)))
        expected |= dict(zip(range(first, first + 20), stored(vectors), strict=True))
    before = described(rows.catalogue, EXTRACTOR)
    monkeypatch.setattr(feature_rows, "_DEAD_ROWS", (10, 0.25))
    for forgotten, is_anew in ((range(1, 6), False), (range(6, 11), True)):
        with rows.catalogue.writing("trying"):
            with rows.catalogue.transaction() as db:
                db.executemany("DELETE FROM pictures WHERE id = ?", ((n,) for n in forgotten))
            rows.compact()
        now = described(rows.catalogue, EXTRACTOR)
        assert now is not None
        assert before is not None
        assert (now.file.folder != before.file.folder) == is_anew
    assert now.is_there is None
    assert now.ids.tolist() == list(range(11, 41))
    for number, vector in rows.of(range(1, 41)).items():
        np.testing.assert_array_equal(vector, expected.pop(number))
    assert sorted(expected) == list(range(1, 11))
    assert before.file.ids.tolist() == list(range(1, 41)), "a reader of before goes on"


def test_a_kill_while_rows_are_written_anew_leaves_those_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Rows(catalogue_of(tmp_path, 6), EXTRACTOR)
    add(rows, drawn(np.random.default_rng(5), 6, "dense"), [1, 2, 3, 4, 5, 6])
    before = {number: vector.tobytes() for number, vector in rows.of(range(7)).items()}

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with rows.catalogue.writing("trying"):
        with monkeypatch.context() as patch:
            patch.setattr(Catalogue, "transaction", killed)
            with pytest.raises(KeyboardInterrupt):
                rows.write_anew()
        assert {n: vector.tobytes() for n, vector in rows.of(range(7)).items()} == before
        rows.write_anew()
    assert {n: vector.tobytes() for n, vector in rows.of(range(7)).items()} == before


def test_vectors_of_another_width_are_refused(tmp_path: Path) -> None:
    rows = Rows(catalogue_of(tmp_path, 2), EXTRACTOR)
    add(rows, np.ones((1, 3), np.float32), [1])
    with (
        pytest.raises(VistermError, match="gave vectors of 4 numbers, where it gave 3 before"),
        rows.catalogue.writing("trying"),
    ):
        rows.write(np.ones((1, 4), np.float32))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    rows = Rows(catalogue_of(tmp_path, 1), EXTRACTOR)
    add(rows, np.ones((1, 3), np.float32), [1])
    (path,) = rows.folder.glob("*/codes")
    path.write_bytes(b"no")
    with pytest.raises(VistermError, match=r"codes is damaged .* visterm check --repair"):
        rows.of([1])


def test_columns_take_no_more_disk_than_the_rows_they_are_made_of(learnt: Collection) -> None:
    from visterm.collection.store.versions import sweep
    from visterm.index.columns import column_folder

    (extractor,) = learnt.catalogue.db.execute("SELECT extractor FROM feature_files").fetchone()
    file = Rows(learnt.catalogue, extractor).file
    assert file is not None
    folder = column_folder(file)
    folder.mkdir(exist_ok=True)
    for number in range(3):
        (folder / str(number)).write_bytes(bytes(len(file) * file.width // 2 + 1))
    with learnt.catalogue.writing("sweeping"):
        sweep(learnt.catalogue)
    assert len(list(folder.iterdir())) == 1
    assert learnt.search("sky", k=3).results

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from visterm.collection.store import feature_rows
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import LARGEST, RUN, Rows, _due
from visterm.collection.store.vector_files import as_stored, coded, decoded
from visterm.errors import VistermError


def catalogue_of(folder: Path, pictures: int) -> Catalogue:
    catalogue = Catalogue(folder)
    with catalogue.writing("trying"), catalogue.transaction() as db:
        db.executemany(
            "INSERT INTO pictures (id, hash) VALUES (?, ?)",
            ((number, bytes([number])) for number in range(1, pictures + 1)),
        )
    return catalogue


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_vectors_come_back_as_they_were_through_any_number_of_merges(
    tmp_path: Path, kind: str
) -> None:
    random = np.random.default_rng(0)
    rows = Rows(catalogue_of(tmp_path, 3 * RUN), "test-1")
    expected = {}
    with rows.catalogue.writing("trying"):
        for first in range(1, 3 * RUN + 1, 3):
            sparse = random_array(
                (3, 7), density=0.5, random_state=random, dtype=np.float32
            ).tocsr()
            vectors = sparse.toarray() if kind == "dense" else csr_array(sparse)
            written = rows.write(vectors)
            with rows.catalogue.transaction():
                rows.name(written, [first, first + 1, first + 2])
            expected |= dict(zip(range(first, first + 3), sparse.toarray(), strict=True))
        with rows.catalogue.transaction() as db:
            db.execute("DELETE FROM pictures WHERE id = 5")
        del expected[5]
        assert rows.merge()
        assert not rows.merge()
    assert rows.catalogue.one("SELECT count(*) FROM segments") == 1
    found = rows.of(list(expected))
    assert found.keys() == expected.keys()
    for number, vector in expected.items():
        np.testing.assert_array_equal(found[number], vector)
    ((ids, places, block),) = rows.blocks()
    assert len(block) == len(expected), "removed rows are dropped by a merge"
    query = random.standard_normal(7).astype(np.float32)
    whole = np.stack([expected[number] for number in ids.tolist()])
    np.testing.assert_allclose(block.products(query)[places], whole @ query, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(block.lengths()[places], np.linalg.norm(whole, axis=1), rtol=1e-5)


def test_merging_ends_and_rewrites_each_row_a_few_times_only() -> None:
    sizes: dict[int, int] = {}
    written = number = 0
    for _ in range(1000):
        number += 1
        sizes[number] = 256
        while run := _due(sorted(sizes.items())):
            total = sum(sizes.pop(one) for one in run)
            assert total <= LARGEST
            number += 1
            sizes[number] = total
            written += total
    assert len(sizes) < 40
    assert written <= 3 * 1000 * 256


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    rows = Rows(catalogue_of(tmp_path, 1), "test-1")
    with rows.catalogue.writing("trying"):
        written = rows.write(np.ones((1, 3), np.float32))
        with rows.catalogue.transaction():
            rows.name(written, [1])
    (path,) = rows.folder.glob("*.npy")
    path.write_bytes(b"nonsense")
    with pytest.raises(VistermError, match=r"rows\.npy is damaged .* visterm check --repair"):
        rows.of([1])


def test_vectors_of_the_cnn_take_8_bits_a_number_and_stay_so_to_the_bit(tmp_path: Path) -> None:
    rows = Rows(catalogue_of(tmp_path, 3 * RUN), "cnn-1")
    vectors = np.random.default_rng(0).random((3 * RUN, 40), np.float32)
    with rows.catalogue.writing("trying"):
        for first in range(0, 3 * RUN, 3):
            written = rows.write(vectors[first : first + 3])
            with rows.catalogue.transaction():
                rows.name(written, [first + 1, first + 2, first + 3])
        before = rows.of(range(1, 3 * RUN + 1))
        assert rows.merge()
    ((ids, places, block),) = rows.blocks()
    assert block.arrays["codes"].nbytes == vectors.size
    stored = np.stack([before[number] for number in ids.tolist()])
    np.testing.assert_array_equal(block.vectors(places), stored)
    steps = (vectors.max(axis=1) - vectors.min(axis=1)) / 255
    np.testing.assert_array_less(np.abs(stored - vectors[ids - 1]).max(axis=1), 0.51 * steps)
    query = np.random.default_rng(1).standard_normal(40).astype(np.float32)
    np.testing.assert_allclose(block.products(query)[places], stored @ query, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("level", [0.0, -0.5, 30.0])
def test_coding_what_was_decoded_changes_nothing(level: float) -> None:
    vectors = np.random.default_rng(0).random((500, 30), np.float32) + np.float32(level)
    codes, scales = coded(vectors)
    again = coded(decoded(codes, scales))
    np.testing.assert_array_equal(again[0], codes)
    np.testing.assert_array_equal(again[1], scales)


def test_constant_vectors_keep_their_number() -> None:
    vectors = np.array([[0, 0, 0], [2.5, 2.5, 2.5]], np.float32)
    np.testing.assert_array_equal(decoded(*coded(vectors)), vectors)


def test_vectors_of_before_are_read_as_they_are_and_compacted_whatever_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Rows(catalogue_of(tmp_path, 6), "cnn-1")
    vectors = np.random.default_rng(0).random((6, 40), np.float32)
    with rows.catalogue.writing("trying"):
        with monkeypatch.context() as before:
            before.setattr(feature_rows, "COMPACT", ("none",))
            for first in (0, 3):
                written = rows.write(vectors[first : first + 3])
                with rows.catalogue.transaction() as db:
                    rows.name(written, [first + 1, first + 2, first + 3])
                    db.execute("DELETE FROM pending")
        np.testing.assert_array_equal(rows.of([5])[5], vectors[4])

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as during:
            during.setattr(Rows, "_insert", killed)
            with pytest.raises(KeyboardInterrupt):
                rows.compact()
        np.testing.assert_array_equal(rows.of([1])[1], vectors[0])
        assert rows.compact() == 3
        assert rows.catalogue.one("SELECT count(*) FROM pending") == 3
        assert rows.compact() == 3
        assert rows.compact() == 0
    kinds = [block.is_coded for _, _, block in rows.blocks()]
    assert kinds == [True, True]
    for number, vector in rows.of(range(1, 7)).items():
        np.testing.assert_allclose(vector, vectors[number - 1], atol=0.002)


def test_vectors_are_taken_by_their_codes_only_where_nothing_is_lost() -> None:
    vectors = np.random.default_rng(0).random((5, 30), np.float32)
    assert not as_stored(vectors).is_coded
    stored = as_stored(decoded(*coded(vectors)))
    assert stored.is_coded
    np.testing.assert_array_equal(stored.arrays["codes"], coded(vectors)[0])

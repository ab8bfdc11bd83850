from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import LARGEST, RUN, Rows, _due
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
            sparse = random_array((3, 7), density=0.5, rng=random, dtype=np.float32).tocsr()
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

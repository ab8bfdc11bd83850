"""Rows in files that only grow: nothing that is committed ever changes, and products are exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse import random as random_sparse

from visterm.errors import VistermError
from visterm.index import feature_file
from visterm.index.feature_file import DENSE, SPARSE, FeatureFile, coded, decoded, in_memory


@pytest.fixture(params=[DENSE, SPARSE])
def vectors(request: pytest.FixtureRequest) -> np.ndarray | csr_array:
    if request.param == DENSE:
        return np.random.default_rng(0).normal(size=(60, 24)).astype(np.float32)
    return csr_array(random_sparse(60, 24, 0.3, random_state=0, dtype=np.float32))


def dense(vectors: np.ndarray | csr_array) -> np.ndarray:
    return vectors if isinstance(vectors, np.ndarray) else vectors.toarray()


def filled(folder: Path, vectors: np.ndarray | csr_array, *counts: int) -> FeatureFile:
    """A file that was appended to as often as there are counts."""
    file = FeatureFile(folder, feature_file.layout_of(vectors), vectors.shape[1], 0)
    for count in counts:
        first = len(file)
        file.append(vectors[first : first + count])
        file.append_ids(range(first, first + count))
        file = file.first(first + count)
    return file


def test_rows_come_back_as_they_are_stored(tmp_path: Path, vectors: np.ndarray) -> None:
    file = filled(tmp_path, vectors, 20, 1, 39)
    stored = dense(in_memory(vectors).vectors())
    assert np.array_equal(dense(file.vectors()), stored)
    assert np.array_equal(file.dense(np.array([59, 0, 21])), stored[[59, 0, 21]])
    assert file.ids.tolist() == list(range(60))
    assert np.abs(stored - dense(vectors)).max() < 0.02


def test_a_part_of_the_rows_is_a_file_of_its_own(tmp_path: Path, vectors: np.ndarray) -> None:
    file = filled(tmp_path, vectors, 60)
    part = file.part(17, 42)
    weights = np.random.default_rng(1).normal(size=(3, 24))
    assert part.ids.tolist() == list(range(17, 42))
    assert np.array_equal(dense(part.vectors()), dense(file.vectors())[17:42])
    assert np.array_equal(part.products(weights), file.products(weights)[:, 17:42])


def test_products_are_those_of_the_stored_rows(vectors: np.ndarray) -> None:
    file = in_memory(vectors)
    weights = np.random.default_rng(1).normal(size=(5, 24))
    slow = weights @ dense(file.vectors()).astype(np.float64).T
    assert np.abs(file.products(weights) - slow).max() < 2e-3
    assert np.allclose(file.lengths(), np.linalg.norm(dense(file.vectors()), axis=1))


def test_a_product_is_the_same_alone_and_among_others(
    vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled and plain, in any split of the rows: that is what undo stands on."""
    file = in_memory(vectors)
    weights = np.random.default_rng(2).normal(size=(4, 24))
    whole = file.products(weights)
    assert np.array_equal(file.at(np.arange(60)).products(weights), whole)
    assert np.array_equal(file.products(weights, first=33), whole[:, 33:])
    assert np.array_equal(file.products(weights[2:3])[0], whole[2])
    monkeypatch.setattr(feature_file, "is_worth", lambda *_, **limits: True)
    monkeypatch.setattr(feature_file, "ROWS_AT_ONCE", 7)
    assert np.array_equal(file.products(weights), whole)


def test_what_a_killed_writer_left_is_written_over(tmp_path: Path, vectors: np.ndarray) -> None:
    file = filled(tmp_path / "rows", vectors, 20)
    file.append(vectors[40:])  # and then it was killed: nobody committed it
    file.append(vectors[20:30])
    file.append_ids(range(20, 30))
    after = file.first(30)
    assert np.array_equal(dense(after.vectors()), dense(in_memory(vectors[:30]).vectors()))
    anew = filled(tmp_path / "anew", vectors[:30], 30)
    assert sizes(after) == sizes(anew)


def sizes(file: FeatureFile) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in file.folder.iterdir()}


def test_readers_keep_their_rows_while_others_are_appended(tmp_path: Path) -> None:
    vectors = np.eye(6, dtype=np.float32)
    file = filled(tmp_path, vectors, 3)
    before = file.vectors().copy()
    file.append(vectors[3:])
    assert np.array_equal(file.vectors(), before)
    assert len(file) == 3


def test_changed_bytes_are_noticed_in_their_segment(tmp_path: Path, vectors: np.ndarray) -> None:
    file = filled(tmp_path, vectors, 20, 40)
    expected = [file.first(20).hashes(0), file.hashes(20)]
    name = "codes" if file.layout == DENSE else "data"
    path = tmp_path / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert file.first(20).hashes(0) == expected[0]
    assert file.hashes(20)[name] != expected[1][name]


def test_a_short_file_is_refused(tmp_path: Path) -> None:
    file = filled(tmp_path, np.eye(4, dtype=np.float32), 4)
    (tmp_path / "codes").write_bytes(b"short")
    with pytest.raises(VistermError, match="visterm check --repair"):
        file.first(4).vectors()
    with pytest.raises(VistermError, match="too short"):
        file.append(np.eye(4, dtype=np.float32))


def test_coding_what_was_decoded_changes_nothing() -> None:
    vectors = np.random.default_rng(3).normal(size=(50, 40)).astype(np.float32)
    codes, scales = coded(vectors)
    again = coded(decoded(codes, scales))
    assert np.array_equal(again[0], codes)
    assert np.array_equal(again[1], scales)

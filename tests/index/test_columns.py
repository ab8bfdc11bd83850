"""Columns are a cache: whatever becomes of their files, the same weights give the same codes."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from visterm.index import columns
from visterm.index.codes import magnitudes
from visterm.index.columns import (
    ColumnCache,
    WordWeights,
    column_folder,
    computed,
    is_sound,
    sweep_columns,
)
from visterm.index.feature_file import DENSE, FeatureFile

WIDTH = 16


@pytest.fixture(autouse=True)
def keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_KEPT_FROM", 0)


def rows(folder: Path, *counts: int) -> FeatureFile:
    rng = np.random.default_rng(0)
    file = FeatureFile(folder, DENSE, WIDTH, 0)
    for count in counts:
        file.append(rng.normal(size=(count, WIDTH)).astype(np.float32))
        file.append_ids(range(len(file), len(file) + count))
        file = file.first(len(file) + count)
    return file


def word(seed: int, bias: float = -2.0) -> WordWeights:
    vector = np.random.default_rng(seed).normal(size=WIDTH).astype(np.float32)
    return WordWeights(bias, vector)


def test_a_column_holds_log_probabilities(tmp_path: Path) -> None:
    file, asked = rows(tmp_path, 80), [word(1), word(2)]
    found = ColumnCache().columns(file, asked)
    for one, column in zip(asked, found, strict=True):
        odds = one.bias + file.vectors() @ one.vector
        assert np.allclose(-magnitudes()[column], -np.logaddexp(0, -odds), rtol=5e-3, atol=5e-3)


def test_an_extended_column_is_one_made_at_once(tmp_path: Path) -> None:
    cache = ColumnCache()
    (before,) = cache.columns(rows(tmp_path / "a", 50), [word(1)])
    longer = rows(tmp_path / "a", 50, 30)
    (after,) = cache.columns(longer, [word(1)])
    (anew,) = ColumnCache().columns(rows(tmp_path / "b", 50, 30), [word(1)])
    assert np.array_equal(after, anew)
    assert np.array_equal(after[:50], before)
    assert np.array_equal(ColumnCache().columns(longer.first(50), [word(1)])[0], before)


def test_other_weights_have_another_column_and_the_first_ones_find_theirs(tmp_path: Path) -> None:
    file, cache = rows(tmp_path, 40), ColumnCache()
    (first,) = cache.columns(file, [word(1)])
    (clicked,) = cache.columns(file, [word(1, bias=-1.0)])
    assert not np.array_equal(first, clicked)
    assert len(list(column_folder(file).iterdir())) == 2
    (again,) = ColumnCache().columns(file, [word(1)])
    assert np.array_equal(again, first)


@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_a_file_that_is_not_whole_is_made_anew(tmp_path: Path, content: bytes | None) -> None:
    file = rows(tmp_path, 40)
    before = ColumnCache().columns(file, [word(1)])[0].copy()
    (path,) = column_folder(file).iterdir()
    path.write_bytes(path.read_bytes()[:-2] if content is None else content)
    assert not is_sound(path)
    (after,) = ColumnCache().columns(file, [word(1)])
    assert np.array_equal(before, after)
    assert is_sound(path)


def test_changed_bytes_are_noticed_by_a_check(tmp_path: Path) -> None:
    file = rows(tmp_path, 40)
    ColumnCache().columns(file, [word(1)])
    (path,) = column_folder(file).iterdir()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert not is_sound(path)


def test_where_nothing_can_be_written_columns_stay_in_memory(tmp_path: Path) -> None:
    file = rows(tmp_path, 40)
    column_folder(file).write_bytes(b"a file where the folder should be")
    (found,) = ColumnCache().columns(file, [word(1)])
    assert np.array_equal(found, computed(file, [word(1)])[0])


def test_a_model_that_is_not_linear_adds_its_values(tmp_path: Path) -> None:
    file = rows(tmp_path, 40)
    values = np.linspace(-3, 3, 40).astype(np.float32)
    one = WordWeights(-1.0, np.zeros(WIDTH, np.float32), 2.0, lambda rows: values, "1 word")
    (column,) = ColumnCache().columns(file, [one])
    exact = -np.logaddexp(0, 1 - 2 * values)
    assert np.allclose(-magnitudes()[column], exact, rtol=2e-3, atol=2e-3)


def test_threads_that_ask_together_get_the_same_column(tmp_path: Path) -> None:
    file, cache = rows(tmp_path, 200), ColumnCache()
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.extend(cache.columns(file, [word(1), word(2)])))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({column.tobytes() for column in found}) == 2
    assert len(list(column_folder(file).iterdir())) == 2


def test_the_columns_asked_for_longest_ago_are_swept_first(tmp_path: Path) -> None:
    import os

    file = rows(tmp_path, 40)
    ColumnCache().columns(file, [word(seed) for seed in range(4)])
    paths = sorted(column_folder(file).iterdir())
    for age, path in enumerate(paths):
        os.utime(path, (1000 + age, 1000))
    sweep_columns(file, 2 * paths[0].stat().st_size)
    assert sorted(column_folder(file).iterdir()) == paths[2:]

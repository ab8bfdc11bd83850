"""A collection over features of one's own: a Python function, or vectors given with the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from visterm.collection import Collection
from visterm.collection.store.feature_rows import Rows
from visterm.errors import BadInput, VistermError
from visterm.features import own_features, use_function
from visterm.index.feature_file import coded, decoded
from visterm.pictures.sandbox import read_picture


def colour_grid(pictures):
    """Mean colours of four by four cells, of unit length."""
    cells = np.array([pixels[:32, :48].reshape(4, 8, 4, 12, 3) for pixels in pictures])
    rows = cells.mean(axis=(2, 4)).reshape(len(cells), -1)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def _function_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test begins as a new program does, which knows no function."""
    monkeypatch.setattr(own_features, "_FUNCTIONS", {})


@pytest.fixture
def folder(pictures: Callable[[int], Path]) -> Path:
    return pictures(30)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jpg"))


def stored(collection: Collection) -> np.ndarray:
    """The stored vectors, in the order of the files."""
    rows = Rows(collection.catalogue, collection.catalogue.get("extractor"))
    numbers = [collection.number(path) for path in files(collection.root)]
    found = rows.of(numbers)
    return np.stack([found[number] for number in numbers])


def forget_function() -> None:
    own_features._FUNCTIONS.clear()


def test_the_vectors_of_a_function_are_kept_under_its_name(folder: Path):
    with Collection.open(folder) as collection:
        added = collection.add(features=colour_grid)
        assert added.new == added.extracted == 30
        assert collection.catalogue.get("features") == "own:colour_grid"
        assert collection.catalogue.get("extractor") == "own-1(label=colour_grid)"
        expected = colour_grid([read_picture(path) for path in files(folder)])
        kept = decoded(*coded(np.float32(expected)))
        np.testing.assert_array_equal(stored(collection), kept)
        assert collection.add(features=colour_grid).extracted == 0


def test_it_learns_searches_and_finds_likeness_without_the_function(folder: Path, tmp_path: Path):
    with Collection.open(folder) as collection:
        collection.add(features=colour_grid)
        collection.caption_from(tmp_path / "captions.tsv")
        collection.train()
        before = collection.search("sky", k=5).results
    forget_function()
    with Collection.open(folder) as again:
        assert again.search("sky", k=5).results == before
        assert len(again.search("", like=files(folder)[0], k=3).results) == 3
        again.train(force=True)
        assert again.judge("sky", files(folder)[0], True).relevant
        assert again.describe(files(folder)[0])


def test_new_pictures_wait_for_the_function_and_say_so(folder: Path):
    second = files(folder)[1]
    aside = folder.parent / second.name
    second.rename(aside)
    with Collection.open(folder) as collection:
        collection.add(features=colour_grid)
    forget_function()
    aside.rename(second)
    said: list[tuple[str, str]] = []
    with Collection.open(folder) as again:
        report = again.add(on_skip=lambda path, reason: said.append((path, reason)))
        assert (report.new, report.extracted, len(again)) == (0, 0, 29)
        assert [path for path, _ in said] == [second.name]
        assert "features of your own, 'colour_grid'" in said[0][1]
        assert "add(features=colour_grid)" in said[0][1]
        with pytest.raises(BadInput, match="features of your own"):
            again.search("", like=second)
        # Nothing is held against it: with the function it comes in.
        assert again.add(features=colour_grid).new == 1
        assert len(again) == 30


def test_a_moved_picture_needs_no_function(folder: Path):
    with Collection.open(folder) as collection:
        collection.add(features=colour_grid)
    forget_function()
    files(folder)[3].rename(folder / "elsewhere.jpg")
    with Collection.open(folder) as again:
        report = again.add()
        assert (report.moved, report.skipped) == (1, [])


def test_changed_pictures_are_not_found_by_what_they_were(folder: Path):
    with Collection.open(folder) as collection:
        collection.add(features=colour_grid)
    forget_function()
    files(folder)[3].write_bytes(files(folder)[4].read_bytes() + b"\0")
    with Collection.open(folder) as again:
        assert len(again.add().skipped) == 1
        assert len(again) == 29


def test_damaged_vectors_are_kept_until_the_function_is_here(folder: Path):
    with Collection.open(folder) as collection:
        collection.add(features=colour_grid)
        before = stored(collection)
        (file,) = collection.store.glob("features/*/*/codes")
    file.write_bytes(file.read_bytes()[:-8] + b"\1" * 8)
    forget_function()
    with Collection.open(folder) as again:
        with pytest.raises(VistermError, match=r"use_function .* own-1\(label=colour_grid\)"):
            again.check(repair=True)
        assert again.status().described == 30
        use_function(colour_grid)
        assert again.check(repair=True).repaired == ["30 pictures described again"]
        np.testing.assert_array_equal(stored(again), before)


def test_vectors_of_ones_own_are_stored_row_by_row(folder: Path):
    given = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    with Collection.open(folder) as collection:
        added = collection.add(files(folder), vectors=given, features="clip")
        assert (added.new, added.extracted) == (30, 30)
        assert collection.catalogue.get("extractor") == "own-1(label=clip)"
        np.testing.assert_array_equal(stored(collection), decoded(*coded(given)))
        likest = collection.search("", like=files(folder)[0], k=2).results
        cosines = given @ given[0] / np.linalg.norm(given, axis=1)
        assert likest[0].path == files(folder)[int(np.argsort(-cosines)[1])]


def test_further_vectors_join_those_that_are_there(folder: Path):
    given = np.eye(30, dtype=np.float32)
    with Collection.open(folder) as collection:
        collection.add(files(folder)[:20], vectors=given[:20])
        assert len(collection) == 20
        assert "features='vectors'" in collection.add([folder]).skipped[0][1]
        collection.add(files(folder)[20:], vectors=given[20:])
        np.testing.assert_array_equal(stored(collection), decoded(*coded(given)))
        with pytest.raises(BadInput, match="one row of finite numbers"):
            collection.add(files(folder), vectors=given[:3])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"vectors": np.ones((29, 2))}, "each of the 30 files named; these have shape"),
        ({"vectors": np.full((30, 2), np.nan)}, "one row of finite numbers"),
        ({"vectors": np.ones((30, 2)), "features": colour_grid}, "not both"),
        ({"vectors": np.ones((30, 2)), "features": "a b"}, "no name for features"),
        ({"features": lambda pictures: pictures}, "give a function made by def"),
    ],
)
def test_what_cannot_be_features_is_refused_before_anything_is_done(
    folder: Path, given: dict[str, object], said: str
):
    with Collection.open(folder) as collection:
        with pytest.raises(BadInput, match=said):
            collection.add(files(folder), **given)
        assert collection.is_empty


def test_vectors_of_folders_are_refused(folder: Path):
    with (
        Collection.open(folder) as collection,
        pytest.raises(BadInput, match="vectors are of files"),
    ):
        collection.add([folder], vectors=np.ones((1, 2)))

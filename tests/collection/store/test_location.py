from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.collection.store import location
from visterm.errors import BadInput, VistermError


def test_a_collection_is_found_from_any_folder_inside_it(collection: Collection) -> None:
    inner = collection.root / "a" / "b"
    inner.mkdir(parents=True)
    with Collection.open(inner, create=False) as found:
        assert found.root == collection.root
        assert len(found) == 12


def test_a_folder_that_is_no_collection_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no collection yet; visterm add"):
        Collection.open(tmp_path, create=False)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BadInput, match="there is no folder"):
        Collection.open(tmp_path / "none")


def test_a_store_may_lie_anywhere_and_remembers_its_pictures(
    pictures: Callable[[int], Path], tmp_path: Path
) -> None:
    folder = pictures(3)
    with Collection.open(folder, store=tmp_path / "store") as collection:
        collection.add(features="thumbnails")
    assert not (folder / ".visterm").exists()
    (folder / "sub").mkdir()
    with Collection.open(folder / "sub", store=tmp_path / "store") as collection:
        assert (collection.root, len(collection)) == (folder, 3)
    with pytest.raises(BadInput, match="is the store of"):
        Collection.open(tmp_path, store=tmp_path / "store")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_cannot_be_written_has_its_store_in_the_users_data(
    pictures: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pictures(3)
    monkeypatch.setattr(location, "_data_folder", lambda: tmp_path / "data")
    monkeypatch.setattr(location, "may_write", lambda path: path != folder)
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")
        assert collection.store.parent == tmp_path / "data"
        assert collection.store.name.startswith("pictures-")
    assert not (folder / ".visterm").exists()
    with Collection.open(folder, create=False) as collection:
        assert len(collection) == 3


def test_a_collection_may_be_moved_with_its_pictures(
    collection: Collection, tmp_path: Path
) -> None:
    collection.caption(collection.root / "scene-0001.jpg", "tree")
    collection.close()
    collection.root.rename(tmp_path / "elsewhere")
    with Collection.open(tmp_path / "elsewhere", create=False) as moved:
        report = moved.add()
        assert (report.new, report.moved, report.vanished) == (0, 0, 0)
        assert moved.captions(tmp_path / "elsewhere" / "scene-0001.jpg") == {"person": "tree"}
        moved.catalogue.db.execute("SELECT 1")


def test_everything_is_forgotten_and_the_pictures_stay(collection: Collection) -> None:
    collection.forget_everything()
    assert not (collection.root / ".visterm").exists()
    assert len(list(collection.root.glob("*.jpg"))) == 12


def test_what_a_killed_removal_left_is_swept_when_a_store_is_made(collection: Collection) -> None:
    root = collection.root
    collection.close()
    (root / ".visterm").rename(root / ".visterm.forgotten")
    with Collection.open(root) as new:
        assert len(new) == 0
    assert [path.name for path in root.glob(".*")] == [".visterm"]


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_a_store_that_is_a_link_is_not_forgotten_by_half(
    collection: Collection, tmp_path: Path
) -> None:
    root, real = collection.root, tmp_path / "real"
    collection.close()
    (root / ".visterm").rename(real)
    (root / ".visterm").symlink_to(real)
    with (
        Collection.open(root) as linked,
        pytest.raises(VistermError, match=f"is a link; nothing was deleted: delete {real}"),
    ):
        linked.forget_everything()
    with Collection.open(root, create=False) as kept:
        assert len(kept) == 12

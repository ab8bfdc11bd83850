"""Copies of pictures that lie elsewhere: kept by content, and never more than a limit."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.collection.media.originals import Originals
from visterm.errors import UnreadablePicture


@pytest.fixture
def shard(pictures: Callable[[int], Path], tmp_path: Path) -> Path:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for path in sorted(pictures(12).glob("*.jpg")):
            tar.add(path, path.name)
    return tmp_path / "a.tar"


@pytest.fixture
def home(shard: Path, tmp_path: Path) -> Iterator[Collection]:
    (tmp_path / "home").mkdir()
    with Collection.open(tmp_path / "home") as collection:
        collection.add([shard], features="thumbnails")
        yield collection


def kept(originals: Originals) -> list[Path]:
    return list(originals.folder.iterdir())


def test_copies_stay_within_the_limit_and_the_oldest_go(home: Collection) -> None:
    records = home.records(home.newest(12))
    size = max(record.files[0].size for record in records.values())
    originals = Originals(home.root, home.store, limit=4 * size)
    for record in records.values():
        with originals.opened(record, record.files[0]) as (path, sure):
            assert sure
            assert path.stat().st_size == record.files[0].size
        assert sum(path.stat().st_size for path in kept(originals)) <= 4 * size
    last = list(records.values())[-1]
    assert last.digest in {path.name for path in kept(originals)}
    assert len(kept(originals)) >= 3


def test_what_has_changed_since_is_shown_and_not_kept(home: Collection, shard: Path) -> None:
    record = home.record(home.newest(1)[0])
    data = bytearray(shard.read_bytes())
    offset = record.files[0].offset or 0
    data[offset + 200] ^= 1
    shard.write_bytes(data)
    originals = Originals(home.root, home.store)
    with originals.opened(record, record.files[0]) as (_, sure):
        assert not sure
    assert kept(originals) == []


def test_a_copy_serves_while_its_source_is_away(home: Collection, shard: Path) -> None:
    first, second = (home.record(picture) for picture in home.newest(2))
    originals = Originals(home.root, home.store)
    with originals.opened(first, first.files[0]):
        pass
    shard.unlink()
    with originals.opened(first, first.files[0]) as (_, sure):
        assert sure
    with (
        pytest.raises(UnreadablePicture, match="no such file"),
        originals.opened(second, second.files[0]),
    ):
        pass
    assert first.pixels == second.pixels == (48, 32), "nobody has to look at the file for that"

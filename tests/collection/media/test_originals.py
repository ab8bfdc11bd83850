"""Files of pictures that lie elsewhere: fetched, compared with what was added, and not kept."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.collection.media.thumbnails import original
from visterm.errors import UnreadablePicture


def test_a_member_of_a_shard_is_fetched_and_compared_with_what_was_added(
    pictures: Callable[[int], Path], tmp_path: Path
) -> None:
    shard = tmp_path / "a.tar"
    with tarfile.open(shard, "w") as tar:
        for path in sorted(pictures(3).glob("*.jpg")):
            tar.add(path, path.name)
    (tmp_path / "home").mkdir()
    with Collection.open(tmp_path / "home") as collection:
        collection.add([shard], features="thumbnails")
        record = collection.record(collection.newest(1)[0])
        (file,) = record.files
        with original(collection.root, record, file) as (path, sure):
            assert sure
            assert path.stat().st_size == file.size
        assert not path.exists()
        data = bytearray(shard.read_bytes())
        data[(file.offset or 0) + 200] ^= 1
        shard.write_bytes(data)
        with original(collection.root, record, file) as (_, sure):
            assert not sure
        shard.unlink()
        with (
            pytest.raises(UnreadablePicture, match="no such file"),
            original(collection.root, record, file),
        ):
            pass
        assert record.pixels == (48, 32), "nobody has to look at the file for that"

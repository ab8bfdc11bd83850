"""Thumbnails: right, kept, bounded, and thrown away when they are damaged."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.collection import Collection
from visterm.collection.media.records import UnknownPicture
from visterm.collection.media.thumbnails import FILE, Thumbnails
from visterm.errors import BadInput, UnreadablePicture
from visterm.pictures.sandbox import read_picture


@pytest.fixture
def thumbnails(collection: Collection) -> Thumbnails:
    return Thumbnails(collection.root, collection.store)


def test_a_thumbnail_shows_the_picture(collection: Collection, thumbnails: Thumbnails) -> None:
    one = collection.record(collection.newest(1)[0])
    made = thumbnails.of(one, 160)
    with Image.open(io.BytesIO(made.jpeg)) as small:
        shown = np.asarray(small, float)
    whole = read_picture(one.files[0].at(collection.root), max_side=160)
    assert shown.shape == whole.shape
    assert np.abs(shown - whole).mean() < 6
    assert one.pixels == (48, 32)


def test_it_is_kept_when_the_file_has_gone(collection: Collection, thumbnails: Thumbnails) -> None:
    one, other = (collection.record(n) for n in collection.newest(2))
    made = thumbnails.of(one, 160)
    for gone in (one, other):
        gone.files[0].at(collection.root).unlink()
    assert Thumbnails(collection.root, collection.store).of(one, 160) == made
    with pytest.raises(UnreadablePicture, match="no such file"):
        thumbnails.of(other, 160)


def test_of_a_file_that_changed_nothing_is_kept(
    collection: Collection, thumbnails: Thumbnails
) -> None:
    one = collection.record(collection.newest(1)[0])
    Image.new("RGB", (20, 50), "red").save(one.files[0].at(collection.root))
    assert not thumbnails.of(one, 160).sure
    one.files[0].at(collection.root).unlink()
    with pytest.raises(UnreadablePicture):
        thumbnails.of(one, 160)


def test_they_never_take_more_than_their_limit(collection: Collection) -> None:
    limit = 40_000
    thumbnails = Thumbnails(collection.root, collection.store, limit=limit)
    found = collection.records(collection.newest(12)).values()
    for side in (160, 320, 640, 1280):
        for one in found:
            thumbnails.of(one, side)
            free, pages = (
                thumbnails._db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("freelist_count", "page_count")
            )
            assert 4096 * (pages - free) <= limit + 8192
    assert thumbnails._db.execute("SELECT count(*) FROM thumbnails").fetchone()[0] > 3


def test_a_damaged_file_of_thumbnails_is_made_anew(collection: Collection) -> None:
    (collection.store / FILE).write_bytes(b"no database at all" * 500)
    one = collection.record(collection.newest(1)[0])
    thumbnails = Thumbnails(collection.root, collection.store)
    assert thumbnails.of(one, 160).sure
    thumbnails.close()
    assert (collection.store / FILE).read_bytes().startswith(b"SQLite")


def test_where_nothing_can_be_written_they_are_kept_in_memory(
    collection: Collection, tmp_path: Path
) -> None:
    nowhere = tmp_path / "nowhere"
    one = collection.record(collection.newest(1)[0])
    assert Thumbnails(collection.root, nowhere).of(one, 160).sure
    assert not nowhere.exists()


def test_other_sides_and_unknown_pictures_are_refused(
    collection: Collection, thumbnails: Thumbnails
) -> None:
    one = collection.record(collection.newest(1)[0])
    with pytest.raises(BadInput, match="one of 160, 320"):
        thumbnails.of(one, 161)
    with pytest.raises(UnknownPicture, match="no picture 12345"):
        collection.record(12345)
    with pytest.raises(UnknownPicture):
        collection.captions(12345)


def test_names_of_odd_bytes_are_found_too(collection: Collection) -> None:
    odd = os.fsencode(collection.root) + b"/caf\\xe9 \xe2\x98\x83.jpg"
    Image.new("RGB", (30, 20), "blue").save(os.fsdecode(odd))
    collection.add()
    one = collection.record(collection.newest(1)[0])
    assert one.pixels == (30, 20)
    assert Thumbnails(collection.root, collection.store).of(one, 160).sure

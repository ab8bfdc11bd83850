"""RAW files: their previews are read, those without are developed, and broken ones say why."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from benchmarks.drawn_raw import HEIGHT, WIDTH, dng
from PIL import Image

from visterm.collection import Collection
from visterm.errors import UnreadablePicture
from visterm.pictures.formats import kind_of_name
from visterm.pictures.sandbox import read_picture


def jpeg(size: tuple[int, int] = (300, 200)) -> bytes:
    file = io.BytesIO()
    picture = Image.new("RGB", size, "navy")
    picture.paste("gold", (0, 0, size[0] // 2, size[1]))
    picture.save(file, "JPEG")
    return file.getvalue()


def test_the_preview_is_read_and_turned_as_the_file_says() -> None:
    assert read_picture(dng(jpeg())).shape == (200, 300, 3)
    assert read_picture(dng(jpeg(), orientation=6)).shape == (300, 200, 3)
    assert read_picture(dng(jpeg()), max_side=90).shape == (60, 90, 3)


def test_a_file_without_preview_is_developed() -> None:
    pytest.importorskip("rawpy")
    pixels = read_picture(dng())
    assert pixels.shape == (HEIGHT // 2, WIDTH // 2, 3)
    assert pixels[:, -4:].mean() > pixels[:, :4].mean() + 20


def test_an_ordinary_tiff_is_none() -> None:
    file = io.BytesIO()
    Image.new("RGB", (10, 8), "red").save(file, "TIFF")
    assert read_picture(file.getvalue())[0, 0].tolist() == [255, 0, 0]


def test_broken_files_give_a_reason_each() -> None:
    whole = dng(jpeg((120, 80)))
    random = np.random.default_rng(0)
    reasons = []
    for number in range(40):
        data = bytearray(whole[: int(random.integers(9, len(whole)))] if number % 2 else whole)
        for place in random.integers(0, min(len(data), 400), 6).tolist():
            data[place] = int(random.integers(256))
        try:
            assert read_picture(bytes(data)).shape[2] == 3
        except UnreadablePicture as problem:
            reasons.append(problem.reason)
    assert len(reasons) > 5
    assert all(reasons)


def test_a_raw_file_is_found_by_its_kind(tmp_path: Path) -> None:
    (tmp_path / "IMG_0001.DNG").write_bytes(dng(jpeg()))
    Image.new("RGB", (60, 40), "green").save(tmp_path / "a.jpg")
    with Collection.open(tmp_path) as collection:
        collection.add(features="blocks(channels=((16, colours, 8),), colours=4)", n_jobs=1)
        kinds = {one.type for one in collection.pictures([1, 2]).values()}
    assert kinds == {"raw", "picture"}
    assert kind_of_name("a.NEF") == "raw"

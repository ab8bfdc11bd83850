"""RAW files: their previews are read, those without are developed, and broken ones say why."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.collection import Collection
from visterm.errors import UnreadablePicture
from visterm.pictures import read_picture
from visterm.pictures.decoding.formats import kind_of_name

WIDTH, HEIGHT = 64, 48


def dng(preview: bytes = b"", orientation: int = 1, tone: int = 3000) -> bytes:
    """A DNG as a camera would write it: a preview, and a mosaic of 16 bits below it."""
    mosaic = np.full((HEIGHT, WIDTH), tone, "<u2")
    mosaic[:, : WIDTH // 2] = tone // 3
    texts = {0xC612: b"\1\4\0\0", 0xC614: b"Made Camera\0"}
    matrix = struct.pack("<18i", *(n for v in np.eye(3).ravel() for n in (int(v), 1)))
    sub = [
        (0x00FE, 4, [0]),
        (0x0100, 4, [WIDTH]),
        (0x0101, 4, [HEIGHT]),
        (0x0102, 3, [16]),
        (0x0103, 3, [1]),
        (0x0106, 3, [32_803]),
        (0x0111, 4, ["mosaic"]),
        (0x0115, 3, [1]),
        (0x0116, 4, [HEIGHT]),
        (0x0117, 4, [mosaic.nbytes]),
        (0x828D, 3, [2, 2]),
        (0x828E, 1, bytes([0, 1, 1, 2])),
        (0xC61D, 4, [4095]),
    ]
    first = [
        (0x00FE, 4, [1]),
        (0x0100, 4, [8]),
        (0x0101, 4, [8]),
        (0x0112, 3, [orientation]),
        (0x014A, 4, ["sub"]),
        *([(0x0201, 4, ["preview"]), (0x0202, 4, [len(preview)])] if preview else []),
        (0xC612, 1, texts[0xC612]),
        (0xC614, 2, texts[0xC614]),
        (0xC621, 10, matrix),
    ]
    return _tiff(first, sub, {"preview": preview, "mosaic": mosaic.tobytes()})


def _tiff(first: list, sub: list, blobs: dict[str, bytes]) -> bytes:
    """Two directories and what they point to, laid out twice: first to know the places."""
    places: dict[str, int] = dict.fromkeys((*blobs, "sub"), 0)
    for _ in range(2):
        data = bytearray(b"II*\0\x08\0\0\0")
        for name, entries in (("first", first), ("sub", sub)):
            places[name] = len(data)
            room = len(data) + 2 + 12 * len(entries) + 4
            rows, rest = b"", b""
            for tag, kind, value in sorted(entries):
                if isinstance(value, bytes):
                    count, raw = len(value) // (8 if kind == 10 else 1), value
                else:
                    numbers = [places.get(one, one) for one in value]
                    count = len(numbers)
                    raw = struct.pack(f"<{count}{'H' if kind == 3 else 'I'}", *numbers)
                if len(raw) > 4:
                    rest += b"\0" * (len(rest) % 2)
                    raw, rest = struct.pack("<I", room + len(rest)), rest + raw
                rows += struct.pack("<HHI", tag, kind, count) + raw.ljust(4, b"\0")
            data += struct.pack("<H", len(entries)) + rows + bytes(4) + rest
        for name, blob in blobs.items():
            places[name] = len(data)
            data += blob
    return bytes(data)


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
        kinds = {one.kind for one in collection.captures([1, 2]).values()}
    assert kinds == {"raw", "picture"}
    assert kind_of_name("a.NEF") == "raw"

"""DNG files as a camera would write them, made by hand."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

WIDTH, HEIGHT = 64, 48
Entry = tuple[int, int, Any]


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


def _tiff(first: list[Entry], sub: list[Entry], blobs: dict[str, bytes]) -> bytes:
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

"""Damaged files, made by a seed: healthy ones of every format, and what is done to them."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from PIL import Image, features

Mutant = tuple[str, bytes]
Change = Callable[[bytes, np.random.Generator], bytes]


def pictures(rng: np.random.Generator) -> list[Mutant]:
    """Small healthy pictures of every format in many of its dialects."""
    noise = rng.integers(0, 256, (30, 44, 4)).astype(np.uint8)
    rgba = Image.fromarray(noise)
    rgb, grey, palette = rgba.convert("RGB"), rgba.convert("L"), rgba.convert("RGB").quantize(32)
    deep = Image.fromarray(noise[..., 0].astype(np.uint16) * 257)
    exif = Image.Exif()
    exif[274], exif[270] = 6, "a boat on the sea"

    def more() -> dict[str, Any]:  # saving leaves its settings on a picture, so a new one each
        return {"save_all": True, "append_images": [rgb.rotate(180)]}

    wanted: list[tuple[str, Image.Image, dict[str, Any]]] = [
        ("JPEG", rgb, {}),
        ("JPEG", rgb, {"progressive": True, "exif": exif}),
        ("JPEG", rgb.convert("CMYK"), {}),
        ("JPEG", grey, {"quality": 30}),
        ("MPO", rgb, more()),
        ("PNG", rgb, {"exif": exif}),
        ("PNG", rgba, {}),
        ("PNG", palette, {"transparency": 3}),
        ("PNG", deep, {}),
        ("PNG", rgb, more()),
        ("WEBP", rgb, {}),
        ("WEBP", rgba, {"lossless": True, "exif": exif}),
        ("WEBP", rgb, more()),
        ("GIF", palette, {}),
        ("GIF", rgb, more()),
        ("BMP", rgb, {}),
        ("BMP", palette, {}),
        ("BMP", grey.convert("1"), {}),
        ("TIFF", rgb, {"tiffinfo": {274: 5}}),
        ("TIFF", rgb, {"compression": "tiff_lzw"}),
        ("TIFF", rgba, {"compression": "tiff_deflate"}),
        ("TIFF", rgb, {"compression": "jpeg"}),
        ("TIFF", palette, {"compression": "packbits"}),
        ("TIFF", grey.convert("1"), {"compression": "group4"}),
        ("TIFF", deep, {"big_tiff": True}),
        ("TIFF", grey.convert("F"), {}),
        ("TIFF", rgb, more()),
    ]
    if features.check("avif"):
        wanted += [("AVIF", rgb, {"speed": 10}), ("AVIF", rgba, {"speed": 10, "exif": exif})]
        wanted += [("AVIF", rgb, {"speed": 10, **more()})]
    files = [(kind.lower(), saved(picture, kind, options)) for kind, picture, options in wanted]
    files.append(("bmp", _run_length_bmp(44, 30, b"\x2c\x07\0\0" * 30)))
    try:
        import pillow_heif
    except ImportError:
        return files
    heic = io.BytesIO()
    pillow_heif.from_pillow(rgb).save(heic)
    return [*files, ("heic", heic.getvalue())]


def saved(picture: Image.Image, kind: str, options: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    picture.copy().save(file, kind, **options)
    return file.getvalue()


def _run_length_bmp(width: int, height: int, codes: bytes) -> bytes:
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, 0, 0, 0, 256, 0)
    palette = bytes(range(256)) * 4
    begin = 14 + len(header) + len(palette)
    name = b"BM" + struct.pack("<IHHI", begin + len(codes), 0, 0, begin)
    return name + header + palette + codes + b"\0\1"


def truncated(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(0, len(data))]


def flipped(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bits turned over; half of the time all of them in the header."""
    broken = np.frombuffer(data, np.uint8).copy()
    reach = min(len(data), 200) if rng.random() < 0.5 else len(data)
    places = rng.integers(0, reach, rng.integers(1, 30))
    broken[places] ^= (1 << rng.integers(0, 8, len(places))).astype(np.uint8)
    return broken.tobytes()


def overwritten(data: bytes, rng: np.random.Generator) -> bytes:
    """Numbers that programs stumble over, in place of two or four bytes somewhere."""
    edge = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1]
    broken = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        size = int(rng.choice([2, 4]))
        order = ("little", "big")[rng.integers(2)]
        at = int(rng.integers(0, max(len(data) - size, 1)))
        value = int(rng.choice(edge)) % 256**size
        broken[at : at + size] = value.to_bytes(size, order)
    return bytes(broken)


def forged(data: bytes, rng: np.random.Generator) -> bytes:
    """The header claims another size: a bomb if anybody believes it."""
    width, height = (int(side) for side in rng.choice([0, 1, 90, 7_800, 16_383, 65_535, 10**6], 2))
    short = struct.pack(">HH", height % 65_536, width % 65_536)
    broken = bytearray(data)
    if data.startswith(b"\x89PNG"):
        broken[16:24] = struct.pack(">II", width, height)
        broken[29:33] = struct.pack(">I", zlib.crc32(bytes(broken[12:29])))
    elif data.startswith(b"\xff\xd8"):
        at = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2")) + 5
        broken[at : at + 4] = short
    elif data.startswith(b"GIF"):
        broken[6:10] = short[::-1]
    elif data.startswith(b"BM"):
        broken[18:26] = struct.pack("<ii", width, height)
    elif data.startswith(b"RIFF"):
        broken[24:30] = struct.pack("<II", width, height)[:3] + struct.pack("<I", height)[:3]
    elif b"ispe" in data:
        at = data.index(b"ispe") + 8
        broken[at : at + 8] = struct.pack(">II", width, height)
    else:  # TIFF: its size stands in the tags 256 and 257
        for tag, side in ((256, width), (257, height)):
            at = data.find(struct.pack("<HH", tag, 3))
            if at >= 0:
                broken[at + 2 : at + 4] = struct.pack("<H", 4)
                wide = data[2] == 43
                broken[at + (12 if wide else 8) :][:4] = b""
                place = at + (12 if wide else 8)
                broken[place : place + 4] = struct.pack("<I", side)
    return bytes(broken)


def bombs() -> Iterator[Mutant]:
    """Real files, small on disk and as large in memory as the limits let them be, or larger."""
    side, fast = 7_800, {"compress_level": 1}
    black, thin = Image.new("RGB", (side, side)), Image.new("P", (side, side))
    yield "png bomb", saved(Image.new("RGBA", (side, side), (9, 9, 9, 9)), "PNG", fast)
    yield "png bomb over the limit", saved(Image.new("1", (20_000, 20_000)), "PNG", fast)
    yield "gif bomb", saved(thin, "GIF", {})
    yield "jpeg bomb", saved(black, "JPEG", {"progressive": True, "subsampling": 0})
    yield "jpeg bomb with thin colour", saved(black, "JPEG", {"progressive": True})
    deflate = {"compression": "tiff_deflate", "tiffinfo": {278: side}}
    yield "tiff bomb in one strip", saved(black, "TIFF", deflate)
    turned = {"compression": "tiff_deflate", "tiffinfo": {274: 6}}
    yield "tiff bomb to be turned", saved(black, "TIFF", turned)
    yield (
        "webp bomb",
        saved(Image.new("RGB", (5_100, 5_100)), "WEBP", {"lossless": True, "method": 0}),
    )
    yield "bmp bomb", _run_length_bmp(side, side, b"\x01\x07\0\0" * side)
    text = zlib.compress(bytes(100_000_000), 1)
    healthy = saved(Image.new("RGB", (8, 8)), "PNG", {})
    chunk = b"zTXt" + b"Comment\0\0" + text
    chunk = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    yield "png text bomb", healthy[:33] + chunk + healthy[33:]


CHANGES: tuple[Change, ...] = (truncated, flipped, overwritten, forged)


def mutated(healthy: list[Mutant], number: int, rng: np.random.Generator) -> Mutant:
    """One of the healthy files, damaged in one of nine ways."""
    kind, data = healthy[number % len(healthy)]
    if len(data) < 10:
        return f"{kind} as small as it is", data  # nothing to be taken from it
    other, tail = healthy[rng.integers(len(healthy))]
    how = number % 9
    if how < 7:
        change = CHANGES[how % 4] if how < 4 else CHANGES[how - 4]
        return f"{kind} {change.__name__}", change(data, rng)
    if how == 7:
        cut, begin = rng.integers(8, len(data)), rng.integers(0, len(tail))
        return f"{kind} spliced with {other}", data[:cut] + tail[begin:]
    if number % 2:
        return f"{kind} under a wrong name", data
    magic = data[: rng.integers(0, 40)]
    return f"{kind} of random bytes", magic + rng.bytes(int(rng.integers(0, 3_000)))

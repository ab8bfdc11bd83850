"""How large a picture may be, in pixels and in the memory that decoding it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visterm.pictures.decoding.containers import BrokenContainer
from visterm.pictures.decoding.formats import Format
from visterm.pictures.decoding.guards import Cost
from visterm.pictures.decoding.regular_files import Refused

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT_MAX_PIXELS = 64_000_000
MAX_SIDE = 65_535
# Together with the interpreter and the decoders' libraries this stays below 500 MB.
MAX_BYTES = 432_000_000

_ONE_BYTE = ("1", "L", "P")
_TWO_BYTES = ("I;16", "I;16L", "I;16B", "I;16N")


def check_size(size: tuple[int, int], max_pixels: int) -> None:
    """Refuse pictures without pixels, with too many, or too long on one side."""
    width, height = size
    if width < 1 or height < 1:
        raise Refused("it has no pixels")
    if width * height > max_pixels:
        raise Refused(f"its {width:,} × {height:,} pixels are more than the {max_pixels:,} allowed")
    if max(size) > MAX_SIDE:
        raise Refused(f"its longer side of {max(size):,} pixels is more than {MAX_SIDE:,}")


def check_fixed_cost(cost: Cost, limit: int) -> None:
    """Refuse files that hold too much besides their pixels, before anybody reads it."""
    if cost.fixed > _allowed(limit):
        raise Refused(
            f"what it holds besides its pixels takes {cost.fixed / 1e6:,.0f} MB, more than the "
            f"{_allowed(limit) / 1e6:,.0f} MB allowed; a larger max_pixels allows more"
        )


def _allowed(limit: int) -> float:
    return MAX_BYTES * max(1.0, limit / DEFAULT_MAX_PIXELS)


def check_memory(
    picture: Image, format_: Format, cost: Cost, *, size: tuple[int, int], shrinks: bool, limit: int
) -> None:
    """Refuse pictures that fit the limit on pixels but whose decoder would take too much memory.

    ``size`` is the size in the file; that of ``picture`` is smaller where a JPEG is decoded at a
    fraction. ``limit`` is the limit on pixels: who raises it allows more memory, too.
    """
    pixels = picture.width * picture.height
    depth = 1 if picture.mode in _ONE_BYTE else 2 if picture.mode in _TWO_BYTES else 4
    decoding = pixels * max(depth, format_.bytes_per_pixel)
    decoding += cost.fixed + cost.per_pixel * size[0] * size[1]
    converting = pixels * (depth if shrinks else depth + 3)
    needed = max(decoding, converting)
    allowed = _allowed(limit)
    if needed > allowed:
        raise Refused(
            f"decoding its {size[0]:,} × {size[1]:,} pixels takes {needed / 1e6:,.0f} MB, more "
            f"than the {allowed / 1e6:,.0f} MB allowed; a larger max_pixels allows more"
        )


def webp_size(head: bytes) -> tuple[int, int]:
    """Width and height of the canvas that a WebP file announces in its first chunk."""
    kind, body = head[12:16], head[20:]
    if kind == b"VP8X" and len(body) >= 10:
        return (
            int.from_bytes(body[4:7], "little") + 1,
            int.from_bytes(body[7:10], "little") + 1,
        )
    if kind == b"VP8L" and len(body) >= 5:
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and len(body) >= 10:
        return (
            int.from_bytes(body[6:8], "little") & 0x3FFF,
            int.from_bytes(body[8:10], "little") & 0x3FFF,
        )
    raise BrokenContainer("the WebP header is broken")

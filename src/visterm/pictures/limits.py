"""How large a picture may be, in pixels and in the memory that decoding it takes."""

from __future__ import annotations

from visterm.pictures.containers import BrokenContainer
from visterm.pictures.formats import Format
from visterm.pictures.guards import Cost
from visterm.pictures.opening import Refused

MAX_SIDE = 65_535
# The decoder's picture takes four bytes a pixel and the result three; a format that needs more is
# allowed fewer pixels, so that one limit bounds the memory of all of them.
BYTES_PER_PIXEL = 7
# What a picture carries besides its pixels must not decide, where there is little of it.
SPARE = 4_000_000
ALWAYS_ALLOWED = 64_000_000


def check_size(size: tuple[int, int], max_pixels: int) -> None:
    """Refuse pictures without pixels, with too many, or too long on one side."""
    width, height = size
    if width < 1 or height < 1:
        raise Refused("it has no pixels")
    if width * height > max_pixels:
        raise Refused(f"its {width:,} × {height:,} pixels are more than the {max_pixels:,} allowed")
    if max(size) > MAX_SIDE:
        raise Refused(f"its longer side of {max(size):,} pixels is more than {MAX_SIDE:,}")


def check_memory(
    format_: Format,
    cost: Cost,
    *,
    stored: tuple[int, int],
    decoded: tuple[int, int],
    shrinks: bool,
    max_pixels: int,
) -> None:
    """Refuse pictures that fit the limit on pixels but not the memory that it stands for.

    ``stored`` is the size in the file; ``decoded`` is smaller where JPEG is read at a fraction.
    """
    pixels = decoded[0] * decoded[1]
    decoding = pixels * format_.bytes_per_pixel
    decoding += cost.fixed + cost.per_pixel * stored[0] * stored[1]
    needed = max(decoding, pixels * (4 if shrinks else BYTES_PER_PIXEL))
    allowed = max(max_pixels * BYTES_PER_PIXEL + SPARE, ALWAYS_ALLOWED)
    if needed > allowed:
        raise Refused(
            f"decoding its {stored[0]:,} × {stored[1]:,} pixels takes {needed / 1e6:,.0f} MB, "
            f"more than the {allowed / 1e6:,.0f} MB allowed; a larger max_pixels allows more"
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

"""Thumbnails in the terminal, in whichever of three ways it understands."""

from __future__ import annotations

import base64
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from visterm.collection import Collection

SIDE = 240
"""Pixels on the long side of a picture in a terminal."""
MADE = 320
"""The thumbnail that it is made of, which the page shows as well."""
_KITTY_CHUNK = 4096


def drawer() -> Callable[[Collection, int], None] | None:
    """How to draw a picture here; None where nothing says that the terminal can."""
    way = way_of(os.environ, sys.stdout.isatty())
    if way is None:
        return None
    encode = {"kitty": kitty, "iterm": iterm, "sixel": sixel}[way]

    def draw(found: Collection, picture: int) -> None:
        from visterm.errors import UnreadablePicture
        from visterm.pictures import read_picture

        try:
            small = found.thumbnails.of(found.record(picture), MADE)
            pixels = read_picture(small.jpeg, max_side=SIDE)
        except UnreadablePicture as error:
            print(f"skipping {error.where}: {error.reason}", file=sys.stderr)
            return
        print(encode(pixels), flush=True)

    return draw


def way_of(environment: os._Environ[str] | dict[str, str], terminal: bool) -> str | None:
    """Which of kitty's, iTerm2's and sixel's ways a terminal says it understands.

    >>> way_of({"TERM": "xterm-kitty"}, True), way_of({"TERM": "xterm"}, True)
    ('kitty', None)
    """
    asked = environment.get("VISTERM_PREVIEW")
    if asked in ("kitty", "iterm", "sixel"):
        return asked
    if not terminal:
        return None
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if "kitty" in term or "ghostty" in term or "KITTY_WINDOW_ID" in environment:
        return "kitty"
    if program in ("iTerm.app", "WezTerm", "mintty", "vscode"):
        return "iterm"
    if "sixel" in term or term.startswith(("foot", "mlterm", "yaft", "contour")):
        return "sixel"
    return None


def kitty(pixels: NDArray[np.uint8]) -> str:
    """A PNG in pieces, each in an escape of its own."""
    data = base64.standard_b64encode(_png(pixels)).decode()
    pieces = [data[at : at + _KITTY_CHUNK] for at in range(0, len(data), _KITTY_CHUNK)]
    last = len(pieces) - 1
    return "".join(
        f"\033_G{'a=T,f=100,' if number == 0 else ''}m={int(number < last)};{piece}\033\\"
        for number, piece in enumerate(pieces)
    )


def iterm(pixels: NDArray[np.uint8]) -> str:
    """A PNG in one escape."""
    png = _png(pixels)
    data = base64.standard_b64encode(png).decode()
    return f"\033]1337;File=inline=1;size={len(png)};preserveAspectRatio=1:{data}\a"


def sixel(pixels: NDArray[np.uint8]) -> str:
    """Bands of six lines, one pass over each for every colour in it."""
    import numpy as np
    from PIL import Image

    coloured = Image.fromarray(pixels).quantize(64)
    palette = np.array(coloured.getpalette() or [], dtype=int).reshape(-1, 3) * 100 // 255
    numbers = np.asarray(coloured)
    height, width = numbers.shape
    colours = "".join(f"#{n};2;{r};{g};{b}" for n, (r, g, b) in enumerate(palette.tolist()))
    bands = (_band(numbers[top : top + 6]) for top in range(0, height, 6))
    return f'\033Pq"1;1;{width};{height}{colours}' + "-".join(bands) + "\033\\"


def _band(lines: NDArray[np.uint8]) -> str:
    import numpy as np

    bits = 1 << np.arange(len(lines))
    passes = []
    for colour in np.unique(lines).tolist():
        columns = ((lines == colour) * bits[:, None]).sum(axis=0) + 63
        passes.append(f"#{colour}" + "".join(_runs(columns.tolist())))
    return "$".join(passes)


def _runs(columns: list[int]) -> Iterator[str]:
    """Characters, repeated ones counted."""
    from itertools import groupby

    for code, group in groupby(columns):
        count = sum(1 for _ in group)
        yield f"!{count}{chr(code)}" if count > 3 else chr(code) * count


def _png(pixels: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()

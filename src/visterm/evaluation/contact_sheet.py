"""Pictures and texts to look at: one HTML page with the pictures inside, for any browser, without a
net.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from visterm.errors import BadInput, UnreadablePicture
from visterm.pictures.sandbox import read_picture

# Its policy makes the promise of the page binding: nothing is fetched and nothing runs.
_PAGE = Path(__file__).with_suffix(".html")
_TICK = '<span class="tick" role="img" aria-label="right">✓</span> '
THUMBNAIL = 288
"""The longer side of a picture on the page, in pixels: sharp on a phone, small in the file."""


@dataclass(frozen=True)
class Card:
    """A picture, a text, or a picture over a text; ``right`` frames what is known to be true."""

    text: str
    path: Path | None = None
    right: bool = False
    title: str = ""


@dataclass(frozen=True)
class Group:
    """Cards in a row under a heading."""

    heading: str
    cards: Sequence[Card]
    note: str = ""


def contact_sheet(groups: Sequence[Group], *, title: str, note: str = "") -> bytes:
    """Groups of cards as one self-contained HTML page: no script, no link, no request.

    A picture that cannot be read is shown as a frame with the reason.

    >>> b"a red car" in contact_sheet([Group("captions", [Card("a red car")])], title="one")
    True
    """
    if not groups:
        raise BadInput("a contact sheet needs at least one group to show")
    page = Template(_PAGE.read_text(encoding="utf-8")).substitute(
        title=escape(title),
        lead=f'<p class="lead">{escape(note)}</p>\n' if note else "",
        sections="\n".join(map(_section, groups)),
    )
    # A file's name or a caption may hold characters that no encoding can write.
    return page.encode("utf-8", errors="replace")


def _section(group: Group) -> str:
    note = f'<p class="tally">{escape(group.note)}</p>' if group.note else ""
    cards = "\n".join(map(_card, group.cards))
    return f"<section>\n<h2>{escape(group.heading)}</h2>\n{note}\n<ol>\n{cards}\n</ol>\n</section>"


def _card(card: Card) -> str:
    frame = ""
    if card.path is not None:
        try:
            inside = inlined_picture(card.path)
        except UnreadablePicture as problem:
            inside = f'<p class="gone">{escape(problem.reason)}</p>'
        frame = f'<div class="frame">{inside}</div>'
    title = f'<p class="line"><span class="rank">{escape(card.title)}</span></p>'
    return (
        f'<li class="{"hit" if card.right else "miss"}">{frame}{title if card.title else ""}'
        f'<p class="words">{_TICK if card.right else ""}{escape(card.text)}</p></li>'
    )


def inlined_picture(path: Path) -> str:
    """A small copy of a picture as an element of a page that needs no file beside it."""
    from PIL import Image

    pixels = read_picture(path, max_side=THUMBNAIL)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=82, optimize=True)
    code = base64.b64encode(file.getvalue()).decode("ascii")
    height, width = pixels.shape[:2]
    # The caption stands right under it, so a reader would only hear it twice from an alt text.
    return f'<img src="data:image/jpeg;base64,{code}" width="{width}" height="{height}" alt="">'

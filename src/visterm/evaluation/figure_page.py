"""Figures to look at: pictures and texts in groups, on one page that needs no file beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from visterm.errors import BadInput, UnreadablePicture
from visterm.evaluation.contact_sheet import filled_page, inlined_picture


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


def figure_page(groups: Sequence[Group], *, title: str, note: str = "") -> bytes:
    """Groups of cards as one self-contained HTML page: no script, no link, no request.

    >>> b"a red car" in figure_page([Group("captions", [Card("a red car")])], title="one")
    True
    """
    if not groups:
        raise BadInput("a page of figures needs at least one group to show")
    sections = "\n".join(_section(group) for group in groups)
    return filled_page(title=title, note=note, sections=sections)


def _section(group: Group) -> str:
    note = f'<p class="tally">{escape(group.note)}</p>' if group.note else ""
    cards = "\n".join(_card(card) for card in group.cards)
    return f"<section>\n<h2>{escape(group.heading)}</h2>\n{note}\n<ol>\n{cards}\n</ol>\n</section>"


def _card(card: Card) -> str:
    frame = ""
    if card.path is not None:
        try:
            frame = f'<div class="frame">{inlined_picture(card.path)}</div>'
        except UnreadablePicture as problem:
            frame = f'<div class="frame"><p class="gone">{escape(problem.reason)}</p></div>'
    title = f'<p class="line"><span class="rank">{escape(card.title)}</span></p>'
    tick = '<span class="tick">✓</span> ' if card.right and card.path is None else ""
    return (
        f'<li class="{"hit" if card.right else "miss"}">{frame}{title if card.title else ""}'
        f'<p class="words">{tick}{escape(card.text)}</p></li>'
    )

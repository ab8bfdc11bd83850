"""Rankings to look at: one HTML page with the pictures inside, for any browser, without a net.

`figure_page` shows pictures and texts in groups instead.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template

from visterm.errors import BadInput, UnreadablePicture
from visterm.evaluation.measures import measure
from visterm.pictures import read_picture

# Its policy makes the promise of the page binding: nothing is fetched and nothing runs.
_PAGE = Path(__file__).with_suffix(".html")

THUMBNAIL = 288
"""The longer side of a picture on the page, in pixels: sharp on a phone, small in the file."""


@dataclass(frozen=True)
class RankedPicture:
    """A picture in a ranking; ``hidden`` says that the model never saw its caption."""

    path: Path
    score: float
    caption: str
    relevant: bool
    hidden: bool = True


@dataclass(frozen=True)
class RankedQuery:
    """A query, its best pictures in order, and how many pictures are relevant to it in all.

    ``by`` names what ranked them; rankings of one query by several stand under each other.
    """

    query: str
    pictures: list[RankedPicture]
    relevant: int | None = None
    by: str = ""

    @property
    def found(self) -> int:
        """How many of the pictures shown are relevant."""
        return sum(picture.relevant for picture in self.pictures)


def contact_sheet(
    rankings: Sequence[RankedQuery],
    *,
    title: str,
    measures: Mapping[str, float] | None = None,
    note: str = "",
) -> bytes:
    """Rankings as one self-contained HTML page: no script, no link, no request.

    Parameters
    ----------
    rankings
        The queries in the order to show them. A picture that cannot be read is shown as a frame
        with the reason.
    title
        The page's heading.
    measures
        Figures to put at the top, as :meth:`Evaluation.mean` gives them: fractions are shown in
        percent, ranks as they are.
    note
        A sentence under the heading, such as what was trained on what.
    """
    if not rankings:
        raise BadInput("a contact sheet needs at least one ranked query to show")
    shown: dict[Path, str] = {}
    sections = "\n".join(
        _section(query, list(of_query), shown)
        for query, of_query in groupby(rankings, key=lambda ranking: ranking.query)
    )
    figures, legend = _figures(measures or {}), _legend(rankings)
    return filled_page(title=title, note=note, sections=sections, figures=figures, legend=legend)


def filled_page(
    *, title: str, note: str, sections: str, figures: str = "", legend: str = ""
) -> bytes:
    """The page around sections that are HTML already."""
    page = Template(_PAGE.read_text(encoding="utf-8")).substitute(
        title=escape(title),
        lead=f'<p class="lead">{escape(note)}</p>\n' if note else "",
        figures=figures,
        legend=legend,
        sections=sections,
    )
    # A file's name or a caption may hold characters that no encoding can write.
    return page.encode("utf-8", errors="replace")


def _figures(measures: Mapping[str, float]) -> str:
    if not measures:
        return ""
    items = "".join(_figure(name, value) for name, value in measures.items())
    return f'<dl class="figures">{items}</dl>\n'


def _figure(name: str, value: float) -> str:
    try:
        known = measure(name)
    except BadInput:
        meaning, is_rank = "", False
    else:
        meaning, is_rank = f' title="{escape(known.description)}"', known.is_rank
    number = f"{value:.1f}" if is_rank else f"{100 * value:.1f}<small> %</small>"
    return f"<div><dt{meaning}>{escape(name)}</dt><dd>{number}</dd></div>"


def _legend(rankings: Sequence[RankedQuery]) -> str:
    kinds = {picture.hidden for ranking in rankings for picture in ranking.pictures}
    terms = [f"<span>{_TICK} framed and ticked: relevant, it holds every word of the query</span>"]
    if True in kinds:
        terms.append(
            "<span><i>slanted</i>: a caption hidden from the model, shown to check it</span>"
        )
    if False in kinds:
        terms.append("<span>upright: a caption the model was trained on</span>")
    terms.append("<span><u>underlined</u>: a word of the query</span>")
    return f'<p class="legend">{"".join(terms)}</p>\n'


def _section(query: str, rankings: Sequence[RankedQuery], shown: dict[Path, str]) -> str:
    lists = "\n".join(_ranking(ranking, shown) for ranking in rankings)
    return f"<section>\n<h2>{escape(query)}</h2>\n{lists}\n</section>"


def _ranking(ranking: RankedQuery, shown: dict[Path, str]) -> str:
    words = {word.casefold() for word in re.findall(r"\w+", ranking.query)}
    cards = "\n".join(
        _card(rank, picture, words, shown) for rank, picture in enumerate(ranking.pictures, start=1)
    )
    count = len(ranking.pictures)
    tally = f"{ranking.found} of the {count} shown are relevant" if count else "no picture found"
    if ranking.relevant is not None:
        tally += f", {ranking.relevant} in all"
    dots = "".join(
        f"<b{'' if picture.relevant else ' class=no'}></b>" for picture in ranking.pictures
    )
    name = f"<strong>{escape(ranking.by)}</strong>" if ranking.by else ""
    return (
        f'<p class="tally">{name}<span class="dots" aria-hidden="true">{dots}</span>{tally}</p>\n'
        f"<ol>\n{cards}\n</ol>"
    )


def _card(rank: int, picture: RankedPicture, words: set[str], shown: dict[Path, str]) -> str:
    kind = "hit" if picture.relevant else "miss"
    tick = _TICK if picture.relevant else ""
    tag = "i" if picture.hidden else "span"
    caption = _underlined(picture.caption, words) or "no caption"
    return (
        f'<li class="{kind}"><div class="frame">{_picture(picture, shown)}</div>'
        f'<p class="line"><span class="rank">{rank}</span>{tick}'
        f'<span class="score" title="score">{picture.score:.3f}</span></p>'
        f'<p class="words" title="{escape(picture.path.name)}"><{tag}>{caption}</{tag}></p></li>'
    )


def _underlined(caption: str, words: set[str]) -> str:
    """The caption, safe to put on a page, with the words of the query underlined."""
    parts = re.split(r"(\w+)", caption)
    return "".join(
        f"<u>{escape(part)}</u>" if part.casefold() in words else escape(part) for part in parts
    )


def _picture(picture: RankedPicture, shown: dict[Path, str]) -> str:
    if picture.path not in shown:
        try:
            shown[picture.path] = inlined_picture(picture.path)
        except UnreadablePicture as problem:
            shown[picture.path] = f'<p class="gone">{escape(problem.reason)}</p>'
    return shown[picture.path]


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


_TICK = '<span class="tick" role="img" aria-label="relevant">✓</span>'


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
    sections = "\n".join(_group_section(group) for group in groups)
    return filled_page(title=title, note=note, sections=sections)


def _group_section(group: Group) -> str:
    note = f'<p class="tally">{escape(group.note)}</p>' if group.note else ""
    cards = "\n".join(_group_card(card) for card in group.cards)
    return f"<section>\n<h2>{escape(group.heading)}</h2>\n{note}\n<ol>\n{cards}\n</ol>\n</section>"


def _group_card(card: Card) -> str:
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

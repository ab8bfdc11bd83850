"""Search results as a notebook shows them: the pictures, with their scores under them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from visterm.errors import UnreadablePicture
from visterm.evaluation.contact_sheet import inlined_picture

if TYPE_CHECKING:
    from visterm.collection.search.request import SearchResponse, SearchResult


def as_html(response: SearchResponse) -> str:
    """One figure a result, under a line for each word that was replaced or left out."""
    notes = [
        *(
            f"{word!r} is {'perhaps' if word in response.unsure else 'taken for'} {', '.join(by)}"
            for word, by in response.replaced.items()
        ),
        *(f"{word!r} is not known" for word in response.unknown),
    ]
    lines = [*notes, *(["no picture was found"] if not response.results else [])]
    return "".join([*(f"<p>{escape(line)}</p>" for line in lines), *map(_figure, response.results)])


def _figure(result: SearchResult) -> str:
    path = result.path
    try:
        # What lies elsewhere is named: a notebook is read where its servers may not be reached.
        picture = escape(path) if isinstance(path, str) else inlined_picture(path)
    except UnreadablePicture as error:
        picture = escape(error.reason)
    likely = "" if result.probability is None else f", {100 * result.probability:.0f} %"
    under = f"{escape(result.path.name)}<br>{result.score:.2f}{likely}"
    return (
        '<figure style="display:inline-block;margin:4px;text-align:center">'
        f"{picture}<figcaption>{under}</figcaption></figure>"
    )

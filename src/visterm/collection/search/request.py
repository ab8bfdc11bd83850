"""Search requests and responses: what every front end asks, and what it shows."""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path

from visterm.collection.media.fields import Value
from visterm.collection.store.urls import Url
from visterm.collection.store.versions import SPACES, WORDS
from visterm.errors import BadInput
from visterm.quick_dataclass import dataclass
from visterm.text.filters import NO_FILTERS, Filters

RELEVANCE, TIME = "relevance", "time"


@dataclass(frozen=True)
class SearchRequest:
    """A search: words, a sentence, a picture to be like, or words and a picture together.

    Attributes
    ----------
    text
        A query in the language of `visterm.text.query`, such as ``tree snow:2 -people in:alps``;
        in other spaces than words a sentence, with filters.
    k, offset
        How many pictures, after how many better ones.
    space
        The text space: ``words``, ``lsa``, ``sentences`` or ``encoder``.
    like
        A picture, by its number or a file, that results should look like; or a vector, as a tuple.
    region
        Of the picture to be like, the part that counts: left, top, right and bottom as fractions.
    good
        Only good matches: those before the cut-off, where that is known.
    fold
        Show one of several pictures that are nearly the same.
    filters
        Conditions beside those in the text.
    sort
        ``relevance``, or ``time``: those taken last first. With words only good matches are put in
        that order, where these are known.

    Examples
    --------
    >>> SearchRequest("tree snow", k=5).space
    'words'
    >>> SearchRequest("tree", space="french")
    Traceback (most recent call last):
    visterm.errors.BadInput: no space called 'french'; there are words, lsa, sentences, encoder
    """

    text: str = ""
    k: int = 20
    offset: int = 0
    space: str = WORDS
    like: int | str | os.PathLike[str] | tuple[float, ...] | None = None
    good: bool = False
    fold: bool = False
    filters: Filters = NO_FILTERS
    sort: str = RELEVANCE
    region: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.sort not in (RELEVANCE, TIME):
            raise BadInput(f"sort by {RELEVANCE} or {TIME}, not {self.sort!r}")
        if self.k < 1:
            raise BadInput(f"ask for 1 or more pictures, not {self.k}")
        if self.offset < 0:
            raise BadInput(f"pass over 0 or more pictures, not {self.offset}")
        if self.space not in SPACES:
            raise BadInput(f"no space called {self.space!r}; there are {', '.join(SPACES)}")
        if self.region is not None:
            left, top, right, bottom = self.region
            if (
                self.like is None
                or isinstance(self.like, tuple)
                or not (0 <= left < right <= 1 and 0 <= top < bottom <= 1)
            ):
                raise BadInput(
                    "a region is of a picture to be like: left, top, right and bottom, each a "
                    "fraction from 0 to 1, such as 0.2,0.1,0.6,0.5"
                )
        if self.good and self.like is not None:
            raise BadInput("where good matches end is not known for likeness; leave good out")
        if self.good and self.space != WORDS:
            raise BadInput("where good matches end is known for words only; leave good out")


@dataclass
class ScoreParts:
    """A score taken apart, in log-probabilities: what is seen, written, and said by names."""

    sight: float
    caption: float
    words: tuple[str, ...] = ()
    """The words of the query that the picture's caption holds."""
    name: float = 0.0
    """What names and text in the picture add, where they count and the caption does not say it."""
    file_words: tuple[str, ...] = ()
    """The words that the name of its file holds."""
    folder_words: tuple[str, ...] = ()
    """The words that the names of its folders hold."""
    text_words: tuple[str, ...] = ()
    """The words that are to be read in it."""

    def says(self) -> str:
        """Who says the words of the query, for people; "" where nothing does.

        >>> ScoreParts(0, 0, words=("sea",), folder_words=("lisbon", "1987")).says()
        'caption: sea; folder: lisbon, 1987'
        """
        sources = {"caption": self.words, "file name": self.file_words, "folder": self.folder_words}
        sources |= {"text in it": self.text_words}
        return "; ".join(f"{who}: {', '.join(words)}" for who, words in sources.items() if words)


@dataclass
class SearchResult:
    """A picture that answers: its score and its files, the first of them to be shown."""

    picture: int
    """Its number, for as long as the collection exists."""
    score: float
    path: Path | Url
    also: tuple[Path | Url, ...] = ()
    """Other files with the same content."""
    probability: float | None = None
    """How likely it is that the picture answers; None where that is not known."""
    judged: bool | None = None
    """The relevance feedback for this query: yes, no, or None where none was given."""
    evidence: ScoreParts | None = None
    """What sight, captions and names add to the score, for words; None for other queries."""
    taken: str | None = None
    """When it was taken, by the camera's clock."""
    taken_from: str | None = None
    """How that is known: exif, xmp, name, video or file."""
    latitude: float | None = None
    longitude: float | None = None
    type: str = "picture"
    """picture, raw or video."""
    id: str | None = None
    """What a program calls it."""
    fields: dict[str, Value] = field(default_factory=dict)
    """What a program keeps with it, under names of its own."""
    frame: int | None = None
    """The number of the frame that answers best, for a video; the picture's own otherwise."""
    frame_time: float | None = None
    """When that frame is shown, in seconds from the beginning; None where it is no video."""


@dataclass(frozen=True)
class PartialAnswer:
    """How many of all pictures were searched, while a part of a cluster could not answer, or others
    were still being described."""

    searched: int
    pictures: int


@dataclass(frozen=True)
class SearchResponse:
    """Results, best first, and all that whoever shows them should say about them."""

    results: list[SearchResult]
    query: str = ""
    offset: int = 0
    unknown: dict[str, list[str]] = field(default_factory=dict)
    """Words that were left out as neither model nor captions know them, each with close ones."""
    replaced: dict[str, list[str]] = field(default_factory=dict)
    """Words that are not known but that known ones stand for: synonyms, or close in meaning."""
    cutoff: int | None = None
    """How many pictures, from the best on, are good matches: likelier than not to answer; None
    where that is not known."""
    more: bool = False
    """Whether there are pictures after these."""
    partial: PartialAnswer | None = None
    """Where not all pictures were searched: how many were."""
    unsure: tuple[str, ...] = ()
    """Those of the replaced words for which the known ones are a guess."""
    conditions: tuple[str, ...] = ()
    """What the filters let through, in words."""
    possible: int | None = None
    """How many pictures after the good matches are possible ones; None where that is not known."""

    def _repr_html_(self) -> str:
        """What notebooks show: the pictures themselves."""
        from visterm.collection.search.notebook_view import as_html

        return as_html(self)

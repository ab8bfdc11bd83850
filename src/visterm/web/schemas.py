"""The shapes of requests, and of responses where these are more than the collection's own."""

from __future__ import annotations

from threading import RLock
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from visterm.collection import (
    FIELD_NAME,
    LONGEST_FIELD,
    MOST_FIELDS,
    CountedWord,
    Judgement,
    Likely,
    Picture,
    QuickFilter,
    ScoreParts,
    SearchResponse,
    Status,
    WordRecord,
)
from visterm.quick_dataclass import dataclass
from visterm.web.writer import Job

SCHEMA_LOCK = RLock()
"""Held while pydantic reads the docstrings of fields: two threads that parse Python at once can
fail in CPython 3.11 ("AST constructor recursion depth mismatch")."""
LONGEST_QUERY = 500
MOST_WORDS = 32
LONGEST_CAPTION = 4000
MOST_AT_ONCE = 200
FARTHEST = 100_000
LARGEST_NUMBER = 2**53 - 1
"""Numbers of pictures stay whole in JavaScript."""


def _clean(text: str) -> str:
    if any(ord(letter) < 32 and letter not in "\t\n\r" for letter in text):
        raise ValueError("must not hold control characters")
    return text


def _few_words(text: str) -> str:
    if len(text.split()) > MOST_WORDS:
        raise ValueError(f"must have at most {MOST_WORDS} words")
    return text


Text = Annotated[str, AfterValidator(_clean)]
QueryText = Annotated[
    str,
    StringConstraints(max_length=LONGEST_QUERY),
    AfterValidator(_clean),
    AfterValidator(_few_words),
]
CaptionText = Annotated[str, StringConstraints(max_length=LONGEST_CAPTION), AfterValidator(_clean)]
Number = Annotated[int, Field(ge=1, le=LARGEST_NUMBER)]
Many = Annotated[list[Number], Field(min_length=1, max_length=2000)]


class Request(BaseModel):
    """A body that holds what its fields say, in those very types, and nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Response(BaseModel):
    """An answer, described by the docstrings of its fields."""

    model_config = ConfigDict(use_attribute_docstrings=True)


@dataclass(frozen=True)
class RankedPicture(Picture):
    """A picture in a ranking."""

    score: float
    probability: float | None
    """How likely it is what was asked for, if that is known."""
    judged: bool | None
    """What was answered for this query: yes or no."""
    evidence: ScoreParts | None
    """For words: what sight, captions and names add to the score, which is their sum."""


@dataclass(frozen=True)
class Ranking(SearchResponse):
    """Pictures, best first."""

    results: list[RankedPicture]  # type: ignore[assignment]


class QuickFilters(Response):
    filters: list[QuickFilter]


class Pictures(Response):
    """Pictures taken last, first."""

    offset: int
    results: list[Picture]
    more: bool


@dataclass(frozen=True)
class SimilarPicture(Picture):
    """A picture that looks like another."""

    likeness: float
    """Cosine between their vectors."""


class SimilarPictures(Response):
    """Pictures that look most like one, by their vectors alone."""

    picture: int
    results: list[SimilarPicture]


class Captions(Response):
    """What was said about a picture, by source; ``person`` wins over all others."""

    captions: dict[str, str]
    caption: str | None
    """What visterm learns from."""


class NewCaption(Request):
    """Words for a picture; an empty text takes back what was said before."""

    text: CaptionText


@dataclass(frozen=True)
class PictureDetails(Picture):
    """Everything about one picture."""

    captions: dict[str, str]
    location: str
    """Where its file lies on the server, or its URL; below the folder for tokens that only read."""


class CompletedWords(Response):
    """Words to complete what somebody types."""

    words: list[CountedWord]


class Suggestion(Response):
    """A word that the collection shows, and the picture that shows it best."""

    word: str
    probability: float
    picture: Picture


class Suggestions(Response):
    """Words to begin with, the surest first."""

    words: list[Suggestion]


class DescriptionResponse(Response):
    """The words that a picture is predicted to show."""

    picture: int
    words: list[Likely]


class WordContribution(Response):
    """What one word of the query adds to the score, region by region."""

    word: str
    total: float
    places: list[list[float]]
    """Rows of regions, from the top left."""


class ExplanationResponse(Response):
    """The score of a picture, taken apart: all totals and the rest add up to it."""

    picture: int
    query: str
    score: float
    probability: float | None
    """How likely it is what was asked for, as a search says, if that is known."""
    rest: float
    """What belongs to no region."""
    evidence: ScoreParts | None
    """What sight, captions and names add."""
    box: tuple[float, float, float, float]
    """The part of the picture that the regions cover: left, top, right, bottom, 0–1."""
    words: list[WordContribution]


class NewJudgement(Request):
    """Yes or no: whether a picture is what a query asks for."""

    query: QueryText
    picture: Number
    relevant: bool


class Judgements(Response):
    judgements: list[Judgement]
    total: int


class Undone(Response):
    """How many judgements were taken back."""

    undone: int


class QueuedResponse(Response):
    """A change that waits until the running job has ended; it is on the disk already."""

    queued: Literal[True] = True


class Collections(Response):
    """Further collections that the server has."""

    collections: list[str]


class NewJob(Request):
    """Work in the background: learn from captions, look for pictures or for near-duplicates."""

    kind: Literal["train", "add", "duplicates"] = "train"
    space: Literal["words", "lsa", "sentences", "encoder"] = Field(
        default="words", description="The text space that is to be trained."
    )


class LastJob(Response):
    """The last job; null where there was none since the server began."""

    job: Job | None


@dataclass(frozen=True)
class ServerStatus(Status):
    """How much there is of everything, and what is going on."""

    name: str
    """The folder's name."""
    writable: bool
    watching: bool
    """Whether changes of the folder are noticed as they happen."""
    job: Job | None
    version: str


class NewStep(Request):
    """One caption, or one answer, for many pictures."""

    pictures: Many
    caption: CaptionText | None = None
    more: bool = Field(default=False, description="Add the words to the captions that are there.")
    query: QueryText | None = None
    relevant: bool | None = None


@dataclass(frozen=True)
class Changed:
    """How many pictures a step was about, and what it was, where it was taken back."""

    changed: int
    what: str = ""


class NewExport(Request):
    """Pictures to be taken out."""

    pictures: Many
    kind: Literal["list", "csv", "json"] = "list"


class Questions(Response):
    """Pictures, in the order in which they are asked about or are alike."""

    query: str
    results: list[Picture]


@dataclass(frozen=True)
class DoubtfulPicture(Picture):
    """A picture whose caption may be wrong about a word."""

    holds: bool
    """Whether the caption has the word."""
    probability: float
    """How likely the picture shows it."""
    is_likely: bool
    """Whether such captions are more often wrong than right."""


class Doubts(Response):
    """Captions to look at: those that have a word and those that lack it in turn."""

    query: str
    results: list[DoubtfulPicture]


class NewRound(Request):
    """The answers to a round of questions, by the pictures' numbers."""

    query: QueryText
    answers: Annotated[
        dict[Annotated[str, StringConstraints(pattern=r"^[1-9]\d{0,14}$")], bool],
        Field(min_length=1, max_length=50),
    ]


class DuplicateGroupResponse(Response):
    """Pictures that are one picture."""

    best: Picture
    others: list[Picture]


class Duplicates(Response):
    """Groups of near-duplicates, the largest first."""

    groups: list[DuplicateGroupResponse]
    total: int
    up_to_date: bool
    """Whether no file has changed since they were found."""


@dataclass(frozen=True)
class WordPage(WordRecord):
    """What is known of a word, with pictures that show it."""

    examples: list[Picture]  # type: ignore[assignment]


FieldName = Annotated[str, StringConstraints(pattern=f"^{FIELD_NAME}$")]
FieldValue = Annotated[
    bool
    | Annotated[int, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
    | Annotated[float, Field(gt=-1e300, lt=1e300)]
    | Annotated[str, StringConstraints(max_length=LONGEST_FIELD)],
    Field(description="A string (dates as 2026-05-01), a number, true or false."),
]
FieldValues = Annotated[dict[FieldName, FieldValue], Field(max_length=MOST_FIELDS)]
OwnId = Annotated[Text, Field(min_length=1, max_length=300)]
Vector = Annotated[
    list[Annotated[float, Field(ge=-1e30, le=1e30)]], Field(min_length=1, max_length=4096)
]


class NewFields(Request):
    """What a program keeps with a picture; what is left out stays as it is."""

    fields: FieldValues | None = Field(default=None, description="In the place of all before.")
    id: OwnId | None = Field(default=None, description="What the program calls the picture.")


class NewPicture(NewFields):
    """A picture: where its file can be had, or the file itself; one that is there needs neither."""

    url: Annotated[str, StringConstraints(min_length=8, max_length=2000)] | None = Field(
        default=None, description="A public http or https address, without redirects."
    )
    image: Annotated[str, StringConstraints(min_length=4)] | None = Field(
        default=None, description="A picture file in base 64."
    )
    vector: Vector | None = Field(
        default=None, description="Where pictures are described by vectors of your own."
    )


class NewSearch(Request):
    """A vector of your own, as pictures are described by, and what else results must be."""

    vector: Vector
    query: QueryText = ""
    k: Annotated[int, Field(ge=1, le=MOST_AT_ONCE)] = 40
    offset: Annotated[int, Field(ge=0, le=FARTHEST)] = 0
    fold: bool = False


class DroppedPicture(Request):
    """A picture that somebody dropped on the page, made small."""

    image: Annotated[str, StringConstraints(min_length=4, max_length=60_000)]
    k: Annotated[int, Field(ge=1, le=200)] = 60

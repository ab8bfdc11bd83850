"""The shapes of requests and responses, as the API's description states them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from visterm.collection import Judgement

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


class Picture(BaseModel):
    """A picture as the page shows it."""

    picture: int = Field(description="Its number, for as long as the collection exists.")
    path: str = Field(description="Its file, below the collection's folder.")
    also: list[str] = Field(description="Other files with the same content.")
    caption: str | None = Field(description="What people said about it.")
    width: int | None = Field(description="Pixels, upright; null where the file cannot be read.")
    height: int | None
    thumbnail: str = Field(description="Address of a small JPEG; add &side= for other sizes.")
    frame_time: float | None = Field(
        description="Of a video, when the frame of the thumbnail is shown, in seconds."
    )
    taken: str | None = Field(description="When it was taken, by the camera's clock.")
    taken_from: str | None = Field(description="How that is known: exif, xmp, name, video or file.")
    latitude: float | None
    longitude: float | None
    type: str = Field(description="picture, raw or video.")


class Evidence(BaseModel):
    """A score taken apart, in log-probabilities: sight + caption + name is the score."""

    sight: float = Field(description="What is seen in the picture.")
    caption: float = Field(description="What is written about it, and what that leaves out.")
    name: float = Field(description="What names of files and folders say, where they count.")
    words: list[str] = Field(description="The words of the query that its caption holds.")
    file_words: list[str] = Field(description="Those that the name of its file holds.")
    folder_words: list[str] = Field(description="Those that the names of its folders hold.")


class RankedResult(Picture):
    """A picture in a ranking."""

    score: float
    probability: float | None = Field(
        description="How likely it is what was asked for, if that is known."
    )
    judged: bool | None = Field(description="What somebody answered for this query: yes or no.")
    evidence: Evidence | None = Field(description="For words: what sight, captions, names add.")


class PartialAnswer(BaseModel):
    """How many of all pictures were searched, while a part of a cluster could not answer."""

    searched: int
    pictures: int


class Ranking(BaseModel):
    """Pictures, best first."""

    query: str
    offset: int
    results: list[RankedResult]
    more: bool = Field(description="Whether there are pictures after these.")
    cutoff: int | None = Field(
        description="How many of the leading pictures are good matches, if that is known."
    )
    unknown: dict[str, list[str]] = Field(
        description="Words that were left out: neither model nor captions know them; close ones."
    )
    replaced: dict[str, list[str]] = Field(
        description="Words that the model does not know, with known ones that stand for them."
    )
    partial: PartialAnswer | None = Field(
        description="Where not all pictures could be searched: how many were; null otherwise."
    )
    unsure: list[str] = Field(
        default_factory=list,
        description="Those of the replaced words for which the known ones are a guess.",
    )
    conditions: list[str] = Field(description="What the filters let through, in words.")


class QuickFilterResponse(BaseModel):
    """A term that narrows a query."""

    kind: Literal["year", "type", "folder"]
    term: str = Field(description="As it is written in a query.")
    count: int = Field(description="How many pictures it would leave.")


class QuickFilters(BaseModel):
    filters: list[QuickFilterResponse]


class Pictures(BaseModel):
    """Pictures that came last, first."""

    offset: int
    results: list[Picture]
    more: bool


class SimilarPicture(Picture):
    """A picture that looks like another."""

    likeness: float = Field(description="Cosine between their vectors.")


class SimilarPictures(BaseModel):
    """Pictures that look most like one, by their vectors alone."""

    picture: int
    results: list[SimilarPicture]


class Captions(BaseModel):
    """What was said about a picture, by source; ``person`` wins over all others."""

    captions: dict[str, str]
    caption: str | None = Field(description="What visterm learns from.")


class NewCaption(BaseModel):
    """Words for a picture; an empty text takes back what was said before."""

    model_config = ConfigDict(extra="forbid")
    text: CaptionText


class PictureDetails(Picture):
    """Everything about one picture."""

    captions: dict[str, str]
    location: str = Field(description="Where its file lies on the server, or its URL.")


class CompletedWord(BaseModel):
    """A word and how many captions hold it."""

    word: str
    captions: int
    known: bool = Field(description="Whether the model has learnt it.")
    names: int = Field(description="How many files' or folders' names hold it, where these count.")


class CompletedWords(BaseModel):
    """Words to complete what somebody types."""

    words: list[CompletedWord]


class PredictedWord(BaseModel):
    """A word that a picture is predicted to show."""

    word: str
    score: float
    probability: float | None


class DescriptionResponse(BaseModel):
    """The words that a picture is predicted to show."""

    picture: int
    words: list[PredictedWord]


class WordContribution(BaseModel):
    """What one word of the query adds to the score, place by place."""

    word: str
    total: float
    places: list[list[float]] = Field(description="Rows of places, from the top left.")


class ExplanationResponse(BaseModel):
    """The score of a picture, taken apart: all totals and the rest add up to it."""

    picture: int
    query: str
    score: float
    rest: float = Field(description="What belongs to no place.")
    evidence: Evidence | None = Field(description="What sight, captions and names add.")
    box: tuple[float, float, float, float] = Field(
        description="The part of the picture that the places cover: left, top, right, bottom, 0–1."
    )
    words: list[WordContribution]


class NewJudgement(BaseModel):
    """Yes or no: whether a picture is what a query asks for."""

    model_config = ConfigDict(extra="forbid")
    query: QueryText
    picture: Number
    relevant: Annotated[bool, Field(strict=True)]


class Judgements(BaseModel):
    judgements: list[Judgement]
    total: int


class Undone(BaseModel):
    """How many judgements were taken back."""

    undone: int


class QueuedResponse(BaseModel):
    """A change that waits until the running job has ended; it is on the disk already."""

    queued: Literal[True] = True


class NewJob(BaseModel):
    """Work in the background: learn from captions, look for pictures or for near-duplicates."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["train", "add", "duplicates"] = "train"
    space: Literal["words", "lsa", "sentences", "encoder"] = Field(
        default="words", description="The text space that is to be trained."
    )


class JobResponse(BaseModel):
    """Work in the background."""

    id: int
    kind: Literal["train", "add", "duplicates"]
    state: Literal["running", "done", "failed", "stopped"]
    what: str = Field(description="What is being done, or was last.")
    done: int
    total: int
    result: dict[str, Any] | None
    error: str | None


class LastJob(BaseModel):
    """The last job; null where there was none since the server began."""

    job: JobResponse | None


class StatusResponse(BaseModel):
    """How much there is of everything."""

    name: str = Field(description="The folder's name.")
    pictures: int
    captioned: int
    names: str = Field(description="Whose names count as words: none, files, folders or both.")
    skipped: int
    judgements: int
    model: dict[str, Any] | None = Field(description="What was trained; null before that.")
    up_to_date: bool = Field(description="Whether the folders look as when they were last listed.")
    set_aside: list[str] = Field(
        description="Changes that were queued and then could not be done, each with the reason."
    )
    writable: bool
    job: JobResponse | None
    version: str

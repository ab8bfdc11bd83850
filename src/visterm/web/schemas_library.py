"""The shapes of requests and responses about many pictures, teaching and words."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from visterm.web.schemas import CaptionText, Number, Picture, QueryText

Many = Annotated[list[Number], Field(min_length=1, max_length=2000)]


class NewStep(BaseModel):
    """One caption, or one answer, for many pictures."""

    model_config = ConfigDict(extra="forbid")
    pictures: Many
    caption: CaptionText | None = None
    more: bool = Field(default=False, description="Add the words to the captions that are there.")
    query: QueryText | None = None
    relevant: bool | None = None


class Changed(BaseModel):
    """How many pictures a step was about."""

    changed: int


class NewExport(BaseModel):
    """Pictures to be taken out."""

    model_config = ConfigDict(extra="forbid")
    pictures: Many
    kind: Literal["list", "csv", "json"] = "list"


class Questions(BaseModel):
    """Pictures, in the order in which they are asked about or are alike."""

    query: str
    results: list[Picture]


class NewRound(BaseModel):
    """The answers to a round of questions, by the pictures' numbers."""

    model_config = ConfigDict(extra="forbid")
    query: QueryText
    answers: Annotated[
        dict[Annotated[str, StringConstraints(pattern=r"^[1-9]\d{0,14}$")], bool],
        Field(min_length=1, max_length=50),
    ]


class RoundResponse(BaseModel):
    """What a round of answers brought."""

    answers: int = Field(description="To this query, in all rounds.")
    foreseen: float = Field(description="The fraction of answers that were foreseen.")
    before: float | None = Field(description="AvgP on held-out pictures before the round.")
    after: float | None
    enough: bool = Field(description="Whether more answers would bring little.")


class DuplicateGroupResponse(BaseModel):
    """Pictures that are one picture."""

    best: Picture
    others: list[Picture]


class Duplicates(BaseModel):
    """Groups of near-duplicates, the largest first."""

    groups: list[DuplicateGroupResponse]
    total: int
    up_to_date: bool = Field(description="Whether no file has changed since they were found.")


class WordPage(BaseModel):
    """What is known of a word."""

    word: str
    known: bool = Field(description="Whether the model has learnt what it looks like.")
    captions: int = Field(description="How many captions hold it.")
    names: int = Field(description="Of how many pictures a name that counts holds it.")
    yes: int
    no: int
    avgp: float | None = Field(description="AvgP on held-out captioned pictures, if any hold it.")
    nearest: list[str] = Field(description="Words that are seen in the same pictures.")
    examples: list[Picture]


class DroppedPicture(BaseModel):
    """A picture that somebody dropped on the page, made small."""

    model_config = ConfigDict(extra="forbid")
    image: Annotated[str, StringConstraints(min_length=4, max_length=60_000)]
    k: Annotated[int, Field(ge=1, le=200)] = 60

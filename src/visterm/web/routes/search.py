"""Finding pictures: by a search, by newness, and words to complete what somebody types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from visterm.collection import Collection, NotTrained, Picture, ScoreParts, SearchRequest
from visterm.errors import BadInput
from visterm.text.filters import Filters
from visterm.web.problems import refusals
from visterm.web.schemas import (
    FARTHEST,
    MOST_AT_ONCE,
    CompletedWords,
    NewSearch,
    Number,
    Pictures,
    QueryText,
    QuickFilters,
    RankedPicture,
    Ranking,
    Suggestions,
    Text,
)
from visterm.web.server import Server

Count = Annotated[int, Query(ge=1, le=MOST_AT_ONCE, description="How many pictures.")]
Offset = Annotated[int, Query(ge=0, le=FARTHEST, description="How many to pass over.")]
Folders = Annotated[
    list[Annotated[Text, Query(min_length=1, max_length=300)]],
    Query(max_length=8, description="Only pictures in one of these folders."),
]
Words = Annotated[
    QueryText,
    Query(
        description='Words; -word, word:2, a OR b, (a b), "a name", in:FOLDER, captioned:no, '
        "2019-07, after:2019, before:2020, every:12-25, near:38.7,-9.1,5km, type:video, "
        "camera:nikon, lens:35mm, rating:>=4, person:anna and field.price:<20 work."
    ),
]
Captioned = Annotated[
    bool | None, Query(description="Only pictures with captions, or only without.")
]
Space = Annotated[
    Literal["words", "lsa", "sentences", "encoder"], Query(description="What the query is made of.")
]
Like = Annotated[Number | None, Query(description="A picture that results should look like.")]
Region = Annotated[
    Text | None,
    Query(
        max_length=100,
        description="Of the picture to be like, the part that counts: left, top, right and bottom "
        "as fractions, such as 0.2,0.1,0.6,0.5.",
    ),
]
Good = Annotated[bool, Query(description="Only good matches, where that is known.")]
Fold = Annotated[bool, Query(description="Show near-duplicates once.")]
Sort = Annotated[
    Literal["relevance", "time"], Query(description="Best first, or taken last first.")
]


REFUSED_QUESTION = refusals(400, 403, 408, 409, 413, 415, 422, 429, 503)


def search_routes(server: Server) -> APIRouter:
    router = APIRouter(tags=["search"])

    @router.get("/search", response_model=Ranking, responses=refusals(400, 403, 409, 422, 503))
    async def search(
        query: Words = "",
        k: Count = 40,
        offset: Offset = 0,
        folder: Folders = [],  # noqa: B006 - FastAPI copies it
        captioned: Captioned = None,
        space: Space = "words",
        like: Like = None,
        region: Region = None,
        good: Good = False,
        fold: Fold = False,
        sort: Sort = "relevance",
    ) -> Response:
        """Rank the collection's pictures by words, by a sentence, or by likeness to a picture."""
        request = SearchRequest(
            query,
            k,
            offset,
            space=space,
            like=like,
            good=good,
            fold=fold,
            filters=Filters(tuple(folder), captioned),
            sort=sort,
            region=None if region is None else _corners(region),
        )
        return await server.answer(_ranking, request)

    @router.post("/search", response_model=Ranking, responses=REFUSED_QUESTION)
    async def search_by_vector(new: NewSearch) -> Response:
        """Rank by likeness to a vector of your own, where these describe the pictures."""
        like = tuple(new.vector)
        request = SearchRequest(new.query, new.k, new.offset, like=like, fold=new.fold)
        return await server.answer(_ranking, request)

    @router.get(
        "/filters", response_model=QuickFilters, responses=refusals(400, 403, 409, 422, 503)
    )
    async def quick_filters(query: Annotated[QueryText, Query()] = "") -> Response:
        """Terms that would narrow a query, and how many of its good matches each would leave."""
        return await server.answer(lambda c: {"filters": c.quick_filters(query)})

    @router.get("/pictures", response_model=Pictures, responses=refusals(400, 403, 422, 503))
    async def newest_pictures(k: Count = 40, offset: Offset = 0) -> Response:
        """All pictures, those taken last first."""
        return await server.answer(_newest, k, offset)

    @router.get("/words", response_model=CompletedWords, responses=refusals(400, 403, 422, 503))
    async def complete_word(
        start: Annotated[Text, Query(max_length=100, description="How they begin.")] = "",
        k: Annotated[int, Query(ge=1, le=1000)] = 10,
    ) -> Response:
        """Words of the captions that begin like this, the most frequent first."""
        return await server.answer(lambda c: {"words": c.complete(start, k)})

    @router.get("/suggestions", response_model=Suggestions, responses=refusals(400, 403, 422, 503))
    async def suggest_words(k: Annotated[int, Query(ge=1, le=50)] = 8) -> Response:
        """Words that the pictures surely show, each with the picture that shows it best."""
        return await server.answer(_suggestions, k)

    return router


def _corners(region: str) -> tuple[float, float, float, float]:
    try:
        left, top, right, bottom = map(float, region.split(","))
    except ValueError:
        raise BadInput(
            f"a region is four fractions, such as 0.2,0.1,0.6,0.5, not {region!r}"
        ) from None
    return left, top, right, bottom


def _ranking(collection: Collection, request: SearchRequest) -> Ranking:
    return collection.search_as(Ranking, _ranked, request)


def _ranked(
    picture: Picture,
    score: float,
    probability: float | None,
    judged: bool | None,
    evidence: ScoreParts | None,
    frame: int,
) -> RankedPicture:
    return RankedPicture(
        **vars(picture), score=score, probability=probability, judged=judged, evidence=evidence
    )


def _newest(collection: Collection, k: int, offset: int) -> dict[str, Any]:
    numbers = collection.newest(k + 1, offset)
    pictures = collection.pictures(numbers[:k])
    return {"offset": offset, "results": [*pictures.values()], "more": len(numbers) > k}


def _suggestions(collection: Collection, k: int) -> dict[str, Any]:
    try:
        found = collection.suggested_words(k)
    except NotTrained:
        found = []
    pictures = collection.pictures([one.picture for one in found])
    return {
        "words": [
            {"word": one.word, "probability": one.probability, "picture": pictures[one.picture]}
            for one in found
            if one.picture in pictures
        ]
    }

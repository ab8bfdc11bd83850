"""Finding pictures: by a search, by newness, and words to complete what somebody types."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from visterm.collection import Collection, SearchRequest
from visterm.text.filters import Filters
from visterm.web.problems import refusals
from visterm.web.schemas import (
    FARTHEST,
    MOST_AT_ONCE,
    CompletedWord,
    CompletedWords,
    Number,
    Pictures,
    QueryText,
    QuickFilterResponse,
    QuickFilters,
    Ranking,
    Text,
)
from visterm.web.serializers import evidence_fields, found_fields, picture_fields
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
        description="Words; -word, word:2, in:FOLDER, captioned:no, 2019-07, after:2019, "
        "before:2020, near:38.7,-9.1,5km and type:video work."
    ),
]
Captioned = Annotated[
    bool | None, Query(description="Only pictures with captions, or only without.")
]
Space = Annotated[
    Literal["words", "lsa", "sentences", "encoder"], Query(description="What the query is made of.")
]
Like = Annotated[Number | None, Query(description="A picture that results should look like.")]
Good = Annotated[bool, Query(description="Only good matches, where that is known.")]
Fold = Annotated[bool, Query(description="Show near-duplicates once.")]
Sort = Annotated[
    Literal["relevance", "time"], Query(description="Best first, or taken last first.")
]


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
        )
        return await server.readers.questions.ask(_ranking, request)

    @router.get("/filters", responses=refusals(400, 403, 409, 422, 503))
    async def filters(query: Annotated[QueryText, Query()] = "") -> QuickFilters:
        """Terms that would narrow a query, and how many of its good matches each would leave."""
        found = await server.readers.questions.ask(Collection.quick_filters, query)
        return QuickFilters(filters=[QuickFilterResponse(**vars(one)) for one in found])

    @router.get("/pictures", response_model=Pictures, responses=refusals(400, 403, 422, 503))
    async def pictures(k: Count = 40, offset: Offset = 0) -> Response:
        """All pictures, those that came last first."""
        return await server.readers.questions.ask(_newest, k, offset)

    @router.get("/words", response_model=CompletedWords, responses=refusals(400, 403, 422, 503))
    async def words(
        start: Annotated[Text, Query(max_length=100, description="How they begin.")] = "",
        k: Annotated[int, Query(ge=1, le=1000)] = 10,
    ) -> CompletedWords:
        """Words of the captions that begin like this, the most frequent first."""
        found = await server.readers.questions.ask(Collection.complete, start, k)
        return CompletedWords(words=[CompletedWord(**vars(one)) for one in found])

    return router


def _ranking(collection: Collection, request: SearchRequest) -> Response:
    """As `schemas.Ranking` says it; written without it, which would take longer than searching."""
    response = collection.search(request)
    shown = found_fields(collection, response.results)
    return _json(
        query=request.text,
        offset=request.offset,
        results=[
            shown[one.picture]
            | {
                "score": one.score,
                "probability": one.probability,
                "judged": one.judged,
                "evidence": evidence_fields(one.parts),
            }
            for one in response.results
            if one.picture in shown
        ],
        more=response.more,
        cutoff=response.cutoff,
        unknown=response.unknown,
        replaced=response.replaced,
        partial=None if response.partial is None else vars(response.partial),
        unsure=list(response.unsure),
        conditions=list(response.conditions),
    )


def _newest(collection: Collection, k: int, offset: int) -> Response:
    numbers = collection.newest(k + 1, offset)
    shown = picture_fields(collection, numbers[:k])
    return _json(
        offset=offset,
        results=[shown[one] for one in numbers[:k] if one in shown],
        more=len(numbers) > k,
    )


def _json(**answer: Any) -> Response:
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text, media_type="application/json")

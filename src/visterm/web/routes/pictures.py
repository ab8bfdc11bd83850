"""One picture: small, with its captions and words, why it was found, and others like it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from visterm.collection import Collection, Queued, SearchRequest, effective_caption
from visterm.web.problems import refusals
from visterm.web.routes.feedback import QUEUED, queued
from visterm.web.schemas import (
    LARGEST_NUMBER,
    Captions,
    DescriptionResponse,
    Evidence,
    ExplanationResponse,
    NewCaption,
    PictureDetails,
    PredictedWord,
    QueryText,
    QueuedResponse,
    SimilarPicture,
    SimilarPictures,
    Text,
    WordContribution,
)
from visterm.web.serializers import evidence_fields, found_fields, names_content, picture_fields
from visterm.web.server import Server

Picture = Annotated[int, Path(ge=1, le=LARGEST_NUMBER, description="A picture's number.")]
Few = Annotated[int, Query(ge=1, le=100)]
FOR_EVER = "private, max-age=31536000, immutable"


def picture_routes(server: Server) -> APIRouter:
    router = APIRouter(prefix="/pictures/{picture}", tags=["pictures"])
    refused = refusals(400, 403, 404, 422, 503)

    @router.get("", responses=refused)
    async def details(picture: Picture) -> PictureDetails:
        """A picture's files, size and captions."""
        return await server.readers.questions.ask(_details, picture)

    @router.get(
        "/thumbnail",
        response_class=Response,
        responses={
            200: {"content": {"image/jpeg": {}}, "description": "A JPEG."},
            304: {"description": "The browser has it."},
            **refused,
        },
    )
    async def thumbnail(
        request: Request,
        picture: Picture,
        side: Annotated[
            Literal["160", "320", "640", "1280", "2048"],
            Query(description="Pixels of the longer side, at most; nothing is enlarged."),
        ] = "320",
        v: Annotated[Text | None, Query(max_length=64, description="What addresses bring.")] = None,
    ) -> Response:
        """A picture made small, as JPEG, without what its file says about place and time."""
        return await _thumbnail(server, request, picture, int(side), v)

    @router.get("/captions", responses=refused)
    async def captions(picture: Picture) -> Captions:
        """What was said about a picture, by source."""
        return await server.readers.questions.ask(_captions, picture)

    @router.put("/captions", responses=refused | QUEUED | refusals(408, 409, 413, 415, 429))
    async def caption(
        picture: Picture, new: NewCaption, response: Response
    ) -> Captions | QueuedResponse:
        """Say what is to be seen in a picture."""
        found = await server.submit("caption", picture=picture, text=new.text)
        if isinstance(found, Queued):
            return queued(response)
        return await server.readers.questions.ask(_captions, picture)

    @router.get("/similar", responses=refused)
    async def similar(picture: Picture, k: Few = 12) -> SimilarPictures:
        """Pictures that look most like a picture, whatever their words."""
        return await server.readers.questions.ask(_similar, picture, k)

    @router.get("/words", responses=refused | refusals(409))
    async def words(picture: Picture, k: Few = 12) -> DescriptionResponse:
        """Words that a picture says, as the model sees it."""
        return await server.readers.questions.ask(_description, picture, k)

    @router.get("/why", responses=refused | refusals(409))
    async def why(picture: Picture, query: Annotated[QueryText, Query()]) -> ExplanationResponse:
        """What each place of a picture adds to its score for a query, word by word."""
        # The picture is decoded for it, so it waits with those that are.
        return await server.readers.pictures.ask(_why, picture, query)

    return router


def _details(collection: Collection, picture: int) -> PictureDetails:
    captions = collection.captions(picture)
    location = str(collection.record(picture).files[0].at(collection.root))
    return PictureDetails(
        **picture_fields(collection, [picture])[picture],
        captions=captions,
        location=location.encode("utf-8", errors="replace").decode(),
    )


def _captions(collection: Collection, picture: int) -> Captions:
    found = collection.captions(picture)
    return Captions(captions=found, caption=effective_caption(found) or None)


async def _thumbnail(
    server: Server, request: Request, picture: int, side: int, given: str | None
) -> Response:
    record = await server.readers.pictures.ask(Collection.record, picture)
    headers = {
        "ETag": f'"{record.digest[:32]}-{side}"',
        "Cache-Control": FOR_EVER if names_content(record, given) else "private, no-cache",
    }
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    found = await server.readers.pictures.ask(
        lambda collection: collection.thumbnails.of(record, side)
    )
    if not found.sure:  # its file was changed since, so this may be of other content
        headers = {"Cache-Control": "private, no-store"}
    return Response(found.jpeg, headers=headers, media_type="image/jpeg")


def _similar(collection: Collection, picture: int, k: int) -> SimilarPictures:
    collection.record(picture)
    found = collection.search(SearchRequest(like=picture, k=k)).results
    shown = found_fields(collection, found)
    return SimilarPictures(
        picture=picture,
        results=[
            SimilarPicture(**shown[one.picture], likeness=one.score)
            for one in found
            if one.picture in shown
        ],
    )


def _description(collection: Collection, picture: int, k: int) -> DescriptionResponse:
    words = [PredictedWord(**vars(one)) for one in collection.describe(picture, k)]
    return DescriptionResponse(picture=picture, words=words)


def _why(collection: Collection, picture: int, query: str) -> ExplanationResponse:
    found = collection.explain(picture, query)
    return ExplanationResponse(
        picture=picture,
        query=query,
        score=found.score,
        rest=found.rest,
        evidence=None if (parts := evidence_fields(found.evidence)) is None else Evidence(**parts),
        box=found.box,
        words=[
            WordContribution(word=word, total=float(places.sum()), places=places.tolist())
            for word, places in found.words.items()
        ],
    )

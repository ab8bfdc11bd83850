"""One picture: small, with its captions and words, why it was found, and others like it."""

from __future__ import annotations

import mimetypes
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import FileResponse, Response

from visterm.collection import (
    Collection,
    Queued,
    SearchRequest,
    effective_caption,
    names_content,
)
from visterm.web.problems import refusals
from visterm.web.routes.feedback import QUEUED, queued
from visterm.web.schemas import (
    LARGEST_NUMBER,
    Captions,
    DescriptionResponse,
    ExplanationResponse,
    NewCaption,
    PictureDetails,
    QueryText,
    QueuedResponse,
    SimilarPicture,
    SimilarPictures,
    Text,
)
from visterm.web.server import Server, json_response

Picture = Annotated[int, Path(ge=1, le=LARGEST_NUMBER, description="A picture's number.")]
Few = Annotated[int, Query(ge=1, le=100)]
SHOWN = (
    *(f"image/{kind}" for kind in ("jpeg", "png", "webp", "gif", "avif", "bmp", "tiff")),
    *(f"video/{kind}" for kind in ("mp4", "webm", "quicktime")),
)
"""Types of originals that a browser may show; others, as SVG that holds scripts, it only saves."""
OTHER = "application/octet-stream"
FOR_EVER = "private, max-age=31536000, immutable"


def picture_routes(server: Server) -> APIRouter:
    router = APIRouter(prefix="/pictures/{picture}", tags=["pictures"])
    refused = refusals(400, 403, 404, 422, 503)

    @router.get("", response_model=PictureDetails, responses=refused)
    async def details(picture: Picture) -> Response:
        """A picture's files, size and captions."""
        return await server.answer(_details, picture)

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

    @router.get(
        "/original",
        response_class=Response,
        responses={
            200: {
                "content": {kind: {} for kind in (*SHOWN, OTHER)},
                "description": "The file.",
            },
            **refused,
        },
    )
    async def original(
        picture: Picture,
        download: Annotated[bool, Query(description="To be kept, not shown.")] = False,
    ) -> Response:
        """A picture's file as it is, with all that it says about place and time."""
        path = await server.readers.pictures.ask(Collection.original, picture)
        kind = mimetypes.guess_type(path.name)[0]
        return FileResponse(
            path,
            filename=path.name,
            media_type=kind if kind in SHOWN else OTHER,
            content_disposition_type="attachment" if download else "inline",
        )

    @router.get("/captions", response_model=Captions, responses=refused)
    async def captions(picture: Picture) -> Response:
        """What was said about a picture, by source."""
        return await server.answer(_captions, picture)

    @router.put(
        "/captions",
        response_model=Captions | QueuedResponse,
        responses=refused | QUEUED | refusals(408, 409, 413, 415, 429),
    )
    async def caption(
        picture: Picture, new: NewCaption, response: Response
    ) -> Response | QueuedResponse:
        """Say what is to be seen in a picture."""
        done = await server.submit("caption", picture=picture, text=new.text)
        if isinstance(done, Queued):
            return queued(response)
        return await server.answer(_captions, picture)

    @router.get("/similar", response_model=SimilarPictures, responses=refused)
    async def similar(picture: Picture, k: Few = 12) -> Response:
        """Pictures that look most like a picture, whatever their words."""
        return await server.answer(_similar, picture, k)

    @router.get("/words", response_model=DescriptionResponse, responses=refused | refusals(409))
    async def words(picture: Picture, k: Few = 12) -> Response:
        """Words that a picture says, as the model sees it."""
        return await server.answer(lambda c: {"picture": picture, "words": c.describe(picture, k)})

    @router.get("/why", response_model=ExplanationResponse, responses=refused | refusals(409))
    async def why(picture: Picture, query: Annotated[QueryText, Query()]) -> Response:
        """What each region of a picture adds to its score for a query, word by word."""
        # The picture is decoded for it, so it waits with those that are.
        return await server.readers.pictures.ask(_why, picture, query)

    return router


def _details(collection: Collection, picture: int) -> PictureDetails:
    captions = collection.captions(picture)
    location = str(collection.record(picture).files[0].at(collection.root))
    shown = collection.pictures([picture])[picture]
    return PictureDetails(**vars(shown), captions=captions, location=location)


def _captions(collection: Collection, picture: int) -> dict[str, Any]:
    captions = collection.captions(picture)
    return {"captions": captions, "caption": effective_caption(captions) or None}


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
    small = await server.readers.pictures.ask(
        lambda collection: collection.thumbnails.of(record, side)
    )
    if not small.sure:  # its file was changed since, so this may be of other content
        headers = {"Cache-Control": "private, no-store"}
    return Response(small.jpeg, headers=headers, media_type="image/jpeg")


def _similar(collection: Collection, picture: int, k: int) -> dict[str, Any]:
    collection.record(picture)
    results = collection.search(SearchRequest(like=picture, k=k)).results
    frames = {one.picture: one.frame for one in results if one.frame is not None}
    pictures = collection.pictures([one.picture for one in results], frames)
    similar = [
        SimilarPicture(**vars(pictures[one.picture]), likeness=one.score)
        for one in results
        if one.picture in pictures
    ]
    return {"picture": picture, "results": similar}


def _why(collection: Collection, picture: int, query: str) -> Response:
    explained = collection.explain(picture, query)
    words = [
        {"word": word, "total": float(places.sum()), "places": places}
        for word, places in explained.words.items()
    ]
    return json_response({**vars(explained), "picture": picture, "query": query, "words": words})

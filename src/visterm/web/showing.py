"""The part of the API that shows one picture: small, with its words, and others like it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from visterm.collection import SearchRequest, looking
from visterm.collection.thumbnails import Thumbnail
from visterm.web.answers import (
    LARGEST_NUMBER,
    Alike,
    Captions,
    Description,
    Details,
    Likeness,
    NewCaption,
    PredictedWord,
    QueryText,
    Share,
    Text,
    Why,
)
from visterm.web.problems import described
from visterm.web.readers import Desk
from visterm.web.seeing import heard, names_content, seen
from visterm.web.server import Server

Picture = Annotated[int, Path(ge=1, le=LARGEST_NUMBER, description="A picture's number.")]
Few = Annotated[int, Query(ge=1, le=100)]
FOR_EVER = "private, max-age=31536000, immutable"


def showing(server: Server) -> APIRouter:
    router = APIRouter(prefix="/pictures/{picture}", tags=["showing"])
    refused = described(400, 403, 404, 422, 503)

    @router.get("", responses=refused)
    async def details(picture: Picture) -> Details:
        """A picture's files, size and captions."""
        return await server.rooms.questions.ask(lambda desk: _details(desk, picture))

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
        found = await server.rooms.questions.ask(
            lambda desk: looking.captions_of(desk.collection.catalogue, picture)
        )
        return Captions(captions=found, caption=heard(found))

    @router.put("/captions", responses=refused | described(409, 413, 415, 429))
    async def caption(picture: Picture, new: NewCaption) -> Captions:
        """Say what is to be seen in a picture."""
        server.jobs.refuse_while_running()
        found = await server.rooms.changes.ask(
            lambda desk: looking.caption(desk.collection.catalogue, picture, new.text)
        )
        server.words.forget()
        return Captions(captions=found, caption=heard(found))

    @router.get("/similar", responses=refused)
    async def similar(picture: Picture, k: Few = 12) -> Alike:
        """Pictures that look most like a picture, whatever their words."""
        return await server.rooms.questions.ask(lambda desk: _similar(desk, picture, k))

    @router.get("/words", responses=refused | described(409))
    async def words(picture: Picture, k: Few = 12) -> Description:
        """Words that a picture says, as the model sees it."""
        return await server.rooms.questions.ask(lambda desk: _described(desk, picture, k))

    @router.get("/why", responses=refused | described(409))
    async def why(picture: Picture, query: Annotated[QueryText, Query()]) -> Why:
        """What each place of a picture adds to its score for a query, word by word."""
        # The picture is decoded for it, so it waits with those that are.
        return await server.rooms.pictures.ask(lambda desk: _why(desk, picture, query))

    return router


def _details(desk: Desk, picture: int) -> Details:
    captions = looking.captions_of(desk.collection.catalogue, picture)
    return Details(**seen(desk, [picture])[picture], captions=captions)


async def _thumbnail(
    server: Server, request: Request, picture: int, side: int, given: str | None
) -> Response:
    card = await server.rooms.pictures.ask(
        lambda desk: looking.card(desk.collection.catalogue, picture)
    )
    headers = {
        "ETag": f'"{card.digest[:32]}-{side}"',
        "Cache-Control": FOR_EVER if names_content(card, given) else "private, no-cache",
    }
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)

    def made(desk: Desk) -> Thumbnail:
        return desk.thumbnails.of(card, side)

    found = await server.rooms.pictures.ask(made)
    if not found.sure:  # its file was changed since, so this may be of other content
        headers = {"Cache-Control": "private, no-store"}
    return Response(found.jpeg, headers=headers, media_type="image/jpeg")


def _similar(desk: Desk, picture: int, k: int) -> Alike:
    looking.card(desk.collection.catalogue, picture)
    answer = desk.collection.search(SearchRequest(like=picture, k=k))
    shown = seen(desk, [one.picture for one in answer.results])
    return Alike(
        picture=picture,
        results=[
            Likeness(**shown[one.picture], likeness=one.score)
            for one in answer.results
            if one.picture in shown
        ],
    )


def _described(desk: Desk, picture: int, k: int) -> Description:
    looking.card(desk.collection.catalogue, picture)
    words = [
        PredictedWord(word=one.word, score=one.score, probability=one.chance)
        for one in desk.collection.describe(picture, k)
    ]
    return Description(picture=picture, words=words)


def _why(desk: Desk, picture: int, query: str) -> Why:
    looking.card(desk.collection.catalogue, picture)
    found = desk.collection.explain(picture, query)
    return Why(
        picture=picture,
        query=query,
        score=found.score,
        rest=found.rest,
        box=found.box,
        words=[
            Share(word=word, total=float(places.sum()), places=places.tolist())
            for word, places in found.words.items()
        ],
    )

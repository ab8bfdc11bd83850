"""Pictures: one with all that is known of it, and what is made of many, or of a word's."""

from __future__ import annotations

import base64
import mimetypes
import tempfile
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from visterm.collection import Collection, SearchRequest, effective_caption, names_content
from visterm.errors import BadInput, UnreadablePicture
from visterm.web.problems import refusals
from visterm.web.routes.feedback import REFUSED_CHANGE, REFUSED_WRITE, shown_pictures
from visterm.web.schemas import (
    FARTHEST,
    LARGEST_NUMBER,
    MOST_AT_ONCE,
    Captions,
    DescriptionResponse,
    DroppedPicture,
    Duplicates,
    ExplanationResponse,
    NewCaption,
    NewExport,
    NewFields,
    PictureDetails,
    QueryText,
    Questions,
    SimilarPicture,
    SimilarPictures,
    Text,
    WordPage,
)
from visterm.web.security import Right, right_of
from visterm.web.server import Server, json_response

Picture = Annotated[int, Path(ge=1, le=LARGEST_NUMBER, description="A picture's number.")]
Few = Annotated[int, Query(ge=1, le=100)]
Offset = Annotated[int, Query(ge=0, le=FARTHEST)]
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
    async def picture_by_number(picture: Picture, request: Request) -> Response:
        """A picture's files, size and captions."""
        return await server.answer(picture_details, picture, right_of(request.scope))

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
        path = await server.pictures.ask(Collection.original, picture)
        kind = mimetypes.guess_type(path.name)[0]
        return FileResponse(
            path,
            filename=path.name,
            media_type=kind if kind in SHOWN else OTHER,
            content_disposition_type="attachment" if download else "inline",
        )

    @router.get("/captions", response_model=Captions, responses=refused)
    async def read_captions(picture: Picture) -> Response:
        """What was said about a picture, by source."""
        return await server.answer(_captions, picture)

    @router.put("/captions", response_model=Captions, responses=REFUSED_CHANGE)
    async def write_caption(picture: Picture, new: NewCaption) -> Response:
        """Say what is to be seen in a picture."""
        changed = await server.change("caption", picture=picture, text=new.text)
        is_queued = changed.status_code == 202
        return changed if is_queued else await server.answer(_captions, picture)

    @router.put("/fields", response_model=PictureDetails, responses=REFUSED_CHANGE)
    async def write_fields(picture: Picture, new: NewFields) -> Response:
        """Keep values of your own with a picture, which filters can use, and your own id."""
        changed = await server.change(
            "set_fields", picture=picture, fields=new.fields, own_id=new.id
        )
        is_queued = changed.status_code == 202
        return changed if is_queued else await server.answer(picture_details, picture)

    @router.get("/similar", response_model=SimilarPictures, responses=refused)
    async def similar_pictures(picture: Picture, k: Few = 12) -> Response:
        """Pictures that look most like a picture, whatever their words."""
        return await server.answer(_similar, picture, k)

    @router.get("/words", response_model=DescriptionResponse, responses=refused | refusals(409))
    async def describe_picture(picture: Picture, k: Few = 12) -> Response:
        """Words that a picture says, as the model sees it."""
        return await server.answer(lambda c: {"picture": picture, "words": c.describe(picture, k)})

    @router.get("/why", response_model=ExplanationResponse, responses=refused | refusals(409))
    async def explain_score(picture: Picture, query: Annotated[QueryText, Query()]) -> Response:
        """What each region of a picture adds to its score for a query, word by word."""
        # The picture is decoded for it, so it waits with those that are.
        return await server.pictures.ask(_why, picture, query)

    return router


def library_routes(server: Server) -> APIRouter:
    router = APIRouter(tags=["library"])

    @router.post(
        "/export",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, **REFUSED_WRITE},
    )
    async def export_pictures(new: NewExport) -> Response:
        """Pictures as a list of paths, a CSV table or JSON."""
        text = await server.questions.ask(Collection.export_text, new.pictures, new.kind)
        return PlainTextResponse(text)

    @router.get("/duplicates", response_model=Duplicates, responses=refusals(400, 403, 422, 503))
    async def near_duplicates(
        k: Annotated[int, Query(ge=1, le=MOST_AT_ONCE)] = 40, offset: Offset = 0
    ) -> Response:
        """Groups of near-duplicates that the last job ``duplicates`` found."""
        return await server.answer(_duplicates, k, offset)

    @router.get(
        "/words/{word}",
        response_model=WordPage,
        responses=refusals(400, 403, 404, 409, 422, 503),
    )
    async def word_page(word: Annotated[Text, Path(min_length=1, max_length=100)]) -> Response:
        """A word: how well it is known, pictures that show it, and words that look like it."""
        return await server.answer(_word, word)

    @router.post("/like", response_model=Questions, responses=REFUSED_WRITE)
    async def search_like_upload(new: DroppedPicture) -> Response:
        """Pictures that look like one that is sent, as a small JPEG or PNG in base 64."""
        return await server.pictures.ask(_like, new.image, new.k)

    return router


def picture_details(collection: Collection, picture: int, right: Right = "write") -> PictureDetails:
    """All that is known of a picture; who may only read gets no path of this machine."""
    captions = collection.captions(picture)
    file = collection.record(picture).files[0]
    location = file.path if right == "read" else str(file.at(collection.root))
    shown = collection.pictures([picture])[picture]
    return PictureDetails(**vars(shown), captions=captions, location=location)


def _captions(collection: Collection, picture: int) -> dict[str, Any]:
    captions = collection.captions(picture)
    return {"captions": captions, "caption": effective_caption(captions) or None}


async def _thumbnail(
    server: Server, request: Request, picture: int, side: int, given: str | None
) -> Response:
    record = await server.pictures.ask(Collection.record, picture)
    headers = {
        "ETag": f'"{record.digest[:32]}-{side}"',
        "Cache-Control": FOR_EVER if names_content(record, given) else "private, no-cache",
    }
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    small = await server.pictures.ask(lambda collection: collection.thumbnails.of(record, side))
    if not small.sure:  # its file was changed since, so this may be of other content
        headers = {"Cache-Control": "private, no-store"}
    return Response(small.jpeg, headers=headers, media_type="image/jpeg")


def _similar(collection: Collection, picture: int, k: int) -> dict[str, Any]:
    collection.record(picture)
    results = collection.search(SearchRequest(like=picture, k=k)).results
    frames = {alike.picture: alike.frame for alike in results if alike.frame is not None}
    pictures = collection.pictures([alike.picture for alike in results], frames)
    similar = [
        SimilarPicture(**vars(pictures[alike.picture]), likeness=alike.score)
        for alike in results
        if alike.picture in pictures
    ]
    return {"picture": picture, "results": similar}


def _why(collection: Collection, picture: int, query: str) -> Response:
    explained = collection.explain(picture, query)
    words = [
        {"word": word, "total": float(places.sum()), "places": places}
        for word, places in explained.words.items()
    ]
    return json_response({**vars(explained), "picture": picture, "query": query, "words": words})


def _duplicates(collection: Collection, k: int, offset: int) -> dict[str, Any]:
    groups, is_up_to_date = collection.kept_duplicates() or ([], False)
    page = groups[offset : offset + k]
    pictures = collection.pictures([n for group in page for n in (group.best, *group.others)])
    shown = [
        {
            "best": pictures[group.best],
            "others": [pictures[number] for number in group.others if number in pictures],
        }
        for group in page
        if group.best in pictures
    ]
    return {"groups": shown, "total": len(groups), "up_to_date": is_up_to_date}


def _word(collection: Collection, word: str) -> dict[str, Any]:
    known = collection.word(word)
    return {**vars(known), "examples": [*collection.pictures(known.examples).values()]}


def decoded(image: str) -> bytes:
    """A picture file that came as text."""
    try:
        return base64.b64decode(image, validate=True)
    except ValueError:
        raise BadInput("image must be a picture file in base 64") from None


def _like(collection: Collection, image: str, k: int) -> Response:
    data = decoded(image)
    with tempfile.NamedTemporaryFile(suffix=".picture") as file:
        file.write(data)
        file.flush()
        try:
            results = collection.search(SearchRequest(like=FilePath(file.name), k=k)).results
        except UnreadablePicture as error:  # whose name is ours, and nobody else's business
            raise BadInput(f"the picture that was sent: {error.reason}") from None
    return json_response(shown_pictures(collection, "", [result.picture for result in results]))

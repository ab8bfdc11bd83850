"""Work on many pictures: steps, exports, rounds of teaching, near-duplicates, pages of words."""

from __future__ import annotations

import base64
import binascii
import tempfile
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from starlette.responses import PlainTextResponse

from visterm.collection import Collection, Queued, RoundReport, SearchRequest
from visterm.errors import BadInput, UnreadablePicture
from visterm.web.problems import refusals
from visterm.web.routes.feedback import QUEUED, REFUSED_WRITE, queued
from visterm.web.schemas import MOST_AT_ONCE, Picture, QueryText, QueuedResponse, Text
from visterm.web.schemas_library import (
    Changed,
    DroppedPicture,
    DuplicateGroupResponse,
    Duplicates,
    NewExport,
    NewRound,
    NewStep,
    Questions,
    RoundResponse,
    WordPage,
)
from visterm.web.serializers import picture_fields
from visterm.web.server import Server

Offset = Annotated[int, Query(ge=0, le=100_000)]


def library_routes(server: Server) -> APIRouter:
    router = APIRouter(tags=["library"])
    ask = server.readers.questions.ask

    @router.post("/many", responses=REFUSED_WRITE | QUEUED | refusals(404))
    async def step(new: NewStep, response: Response) -> Changed | QueuedResponse:
        """Caption many pictures, or say yes or no to them, as one step."""
        if (new.caption is None) == (new.query is None or new.relevant is None):
            raise BadInput("a step is a caption, or a query and whether it is relevant")
        if new.caption is not None:
            found = await server.submit(
                "caption_many", pictures=new.pictures, text=new.caption, more=new.more
            )
        else:
            answers = [(one, new.relevant) for one in new.pictures]
            found = await server.submit("judge_many", query=new.query, answers=answers)
        return queued(response) if isinstance(found, Queued) else Changed(changed=found)

    @router.delete("/many", responses=REFUSED_WRITE | QUEUED)
    async def undo(response: Response) -> Changed | QueuedResponse:
        """Take the last step back."""
        found = await server.submit("undo_step")
        return queued(response) if isinstance(found, Queued) else Changed(changed=found)

    @router.post(
        "/export",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, **REFUSED_WRITE},
    )
    async def export(new: NewExport) -> Response:
        """Pictures as a list of paths, a CSV table or JSON."""
        text = await ask(lambda found: found.export_text(new.pictures, new.kind))
        return PlainTextResponse(text)

    @router.get("/teach", responses=refusals(400, 403, 409, 422, 503))
    async def questions(
        query: Annotated[QueryText, Query()], k: Annotated[int, Query(ge=1, le=50)] = 10
    ) -> Questions:
        """The pictures from whose answers most would be learnt."""
        return await ask(_questions, query, k)

    @router.post("/teach", responses=REFUSED_WRITE | QUEUED | refusals(404))
    async def answer(new: NewRound, response: Response) -> RoundResponse | QueuedResponse:
        """Answer a round; it says what that brought, and when more would bring little."""
        answers = [(int(number), yes) for number, yes in new.answers.items()]
        found = await server.submit("teach", query=new.query, answers=answers)
        if isinstance(found, RoundReport):
            return RoundResponse(**vars(found))
        return queued(response)

    @router.get("/duplicates", responses=refusals(400, 403, 422, 503))
    async def duplicates(
        k: Annotated[int, Query(ge=1, le=MOST_AT_ONCE)] = 40, offset: Offset = 0
    ) -> Duplicates:
        """Groups of near-duplicates that the last job ``duplicates`` found."""
        return await ask(_duplicates, k, offset)

    @router.get("/words/{word}", responses=refusals(400, 403, 404, 409, 422, 503))
    async def word(word: Annotated[Text, Path(min_length=1, max_length=100)]) -> WordPage:
        """A word: how well it is known, pictures that show it, and words that look like it."""
        return await ask(_word, word)

    @router.post("/like", responses=REFUSED_WRITE)
    async def like(new: DroppedPicture) -> Questions:
        """Pictures that look like one that is sent, as a small JPEG or PNG in base 64."""
        return await server.readers.pictures.ask(_like, new.image, new.k)

    return router


def _shown(collection: Collection, numbers: list[int]) -> list[Picture]:
    fields = picture_fields(collection, numbers)
    return [Picture(**fields[one]) for one in numbers if one in fields]


def _questions(collection: Collection, query: str, k: int) -> Questions:
    return Questions(query=query, results=_shown(collection, collection.questions(query, k)))


def _duplicates(collection: Collection, k: int, offset: int) -> Duplicates:
    kept = collection.kept_duplicates()
    groups, is_up_to_date = ([], False) if kept is None else kept
    some = groups[offset : offset + k]
    fields = picture_fields(collection, [n for one in some for n in (one.best, *one.others)])
    return Duplicates(
        groups=[
            DuplicateGroupResponse(
                best=Picture(**fields[one.best]),
                others=[Picture(**fields[n]) for n in one.others if n in fields],
            )
            for one in some
            if one.best in fields
        ],
        total=len(groups),
        up_to_date=is_up_to_date,
    )


def _word(collection: Collection, word: str) -> WordPage:
    found = collection.word(word)
    return WordPage(
        **{**vars(found), "examples": _shown(collection, list(found.examples))},
    )


def _like(collection: Collection, image: str, k: int) -> Questions:
    try:
        data = base64.b64decode(image, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput("image must be a picture file in base 64") from None
    with tempfile.NamedTemporaryFile(suffix=".picture") as file:
        file.write(data)
        file.flush()
        try:
            found = collection.search(SearchRequest(like=FilePath(file.name), k=k)).results
        except UnreadablePicture as error:  # whose name is ours, and nobody else's business
            raise BadInput(f"the picture that was sent: {error.reason}") from None
    return Questions(query="", results=_shown(collection, [one.picture for one in found]))

"""Work on many pictures: steps, exports, rounds of teaching, near-duplicates, pages of words."""

from __future__ import annotations

import base64
import binascii
import tempfile
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from starlette.responses import PlainTextResponse

from visterm.collection import Collection, Queued, RoundReport, SearchRequest
from visterm.errors import BadInput, UnreadablePicture
from visterm.web.problems import refusals
from visterm.web.routes.feedback import QUEUED, REFUSED_WRITE, queued
from visterm.web.schemas import (
    MOST_AT_ONCE,
    Changed,
    DroppedPicture,
    Duplicates,
    NewExport,
    NewRound,
    NewStep,
    QueryText,
    Questions,
    QueuedResponse,
    Text,
    WordPage,
)
from visterm.web.server import Server, json_response

Offset = Annotated[int, Query(ge=0, le=100_000)]


def library_routes(server: Server) -> APIRouter:
    router = APIRouter(tags=["library"])

    @router.post("/many", responses=REFUSED_WRITE | QUEUED | refusals(404))
    async def step(new: NewStep, response: Response) -> Changed | QueuedResponse:
        """Caption many pictures, or say yes or no to them, as one step."""
        if (new.caption is None) == (new.query is None or new.relevant is None):
            raise BadInput("a step is a caption, or a query and whether it is relevant")
        if new.caption is not None:
            done = await server.submit(
                "caption_many", pictures=new.pictures, text=new.caption, more=new.more
            )
        else:
            answers = [(one, new.relevant) for one in new.pictures]
            done = await server.submit("judge_many", query=new.query, answers=answers)
        return queued(response) if isinstance(done, Queued) else Changed(changed=done)

    @router.delete("/many", responses=REFUSED_WRITE | QUEUED)
    async def undo(response: Response) -> Changed | QueuedResponse:
        """Take back what was said last: a caption, a yes or no, or a step over many pictures."""
        undone = await server.submit("undo_last")
        if isinstance(undone, Queued):
            return queued(response)
        return Changed(changed=undone.pictures, what=undone.what)

    @router.post(
        "/export",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, **REFUSED_WRITE},
    )
    async def export(new: NewExport) -> Response:
        """Pictures as a list of paths, a CSV table or JSON."""
        text = await server.readers.questions.ask(
            lambda collection: collection.export_text(new.pictures, new.kind)
        )
        return PlainTextResponse(text)

    @router.get("/teach", response_model=Questions, responses=refusals(400, 403, 409, 422, 503))
    async def questions(
        query: Annotated[QueryText, Query()], k: Annotated[int, Query(ge=1, le=50)] = 10
    ) -> Response:
        """The pictures from whose answers most would be learnt."""
        return await server.answer(lambda c: _shown(c, query, c.questions(query, k)))

    @router.post("/teach", responses=REFUSED_WRITE | QUEUED | refusals(404))
    async def answer(new: NewRound, response: Response) -> RoundReport | QueuedResponse:
        """Answer a round; it says what that brought, and when more would bring little."""
        answers = [(int(number), yes) for number, yes in new.answers.items()]
        report = await server.submit("teach", query=new.query, answers=answers)
        return report if isinstance(report, RoundReport) else queued(response)

    @router.get("/duplicates", response_model=Duplicates, responses=refusals(400, 403, 422, 503))
    async def duplicates(
        k: Annotated[int, Query(ge=1, le=MOST_AT_ONCE)] = 40, offset: Offset = 0
    ) -> Response:
        """Groups of near-duplicates that the last job ``duplicates`` found."""
        return await server.answer(_duplicates, k, offset)

    @router.get(
        "/words/{word}",
        response_model=WordPage,
        responses=refusals(400, 403, 404, 409, 422, 503),
    )
    async def word(word: Annotated[Text, Path(min_length=1, max_length=100)]) -> Response:
        """A word: how well it is known, pictures that show it, and words that look like it."""
        return await server.answer(_word, word)

    @router.post("/like", response_model=Questions, responses=REFUSED_WRITE)
    async def like(new: DroppedPicture) -> Response:
        """Pictures that look like one that is sent, as a small JPEG or PNG in base 64."""
        return await server.readers.pictures.ask(_like, new.image, new.k)

    return router


def _shown(collection: Collection, query: str, numbers: list[int]) -> dict[str, Any]:
    return {"query": query, "results": [*collection.pictures(numbers).values()]}


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


def _like(collection: Collection, image: str, k: int) -> Response:
    try:
        data = base64.b64decode(image, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput("image must be a picture file in base 64") from None
    with tempfile.NamedTemporaryFile(suffix=".picture") as file:
        file.write(data)
        file.flush()
        try:
            results = collection.search(SearchRequest(like=FilePath(file.name), k=k)).results
        except UnreadablePicture as error:  # whose name is ours, and nobody else's business
            raise BadInput(f"the picture that was sent: {error.reason}") from None
    return json_response(_shown(collection, "", [one.picture for one in results]))

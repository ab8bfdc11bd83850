"""What people say: yes and no, steps over many pictures, rounds of teaching, and undo."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request
from starlette.responses import Response

from visterm.collection import Collection, Judgement, RoundReport
from visterm.errors import BadInput
from visterm.web.problems import refusals
from visterm.web.schemas import (
    LARGEST_NUMBER,
    Changed,
    DoubtfulPicture,
    Doubts,
    Judgements,
    NewJudgement,
    NewRound,
    NewStep,
    QueryText,
    Questions,
    QueuedResponse,
    Undone,
)
from visterm.web.security import right_of
from visterm.web.server import Server

REFUSED_WRITE = refusals(400, 403, 408, 409, 413, 415, 422, 429, 503)
QUEUED: dict[int | str, dict[str, Any]] = {
    202: {"model": QueuedResponse, "description": "Written down; done when the job has ended."}
}
REFUSED_CHANGE = REFUSED_WRITE | QUEUED | refusals(404)


def feedback_routes(server: Server) -> APIRouter:
    router = APIRouter(tags=["feedback"])

    @router.post("/feedback", status_code=201, response_model=Judgement, responses=REFUSED_CHANGE)
    async def judge(new: NewJudgement) -> Response:
        """Say whether a picture is what a query asks for; the ranking learns at once."""
        return await server.change("judge", status=201, **new.model_dump())

    @router.get("/feedback", response_model=Judgements, responses=refusals(400, 403, 422, 503))
    async def read_judgements(
        query: Annotated[QueryText | None, Query(description="Only those of this query.")] = None,
        k: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Response:
        """What was answered, the latest first."""
        return await server.answer(_judgements, query, k)

    @router.delete("/feedback/{judgement}", response_model=Undone, responses=REFUSED_CHANGE)
    async def undo_judgement(judgement: Annotated[int, Path(ge=1, le=LARGEST_NUMBER)]) -> Response:
        """Take one judgement back; the ranking is as if it had never been made."""
        known = await server.questions.ask(Collection.judgements)
        if all(other.id != judgement for other in known):
            raise HTTPException(404, "there is no such judgement")
        return await server.change("undo", lambda undone: {"undone": 1}, number=judgement)

    @router.delete("/feedback", response_model=Undone, responses=REFUSED_WRITE | QUEUED)
    async def forget_judgements() -> Response:
        """Take every judgement back."""
        return await server.change("forget_judgements", lambda count: {"undone": count})

    @router.post("/many", response_model=Changed, responses=REFUSED_CHANGE)
    async def change_many(new: NewStep) -> Response:
        """Caption many pictures, or say yes or no to them, as one step."""
        if (new.caption is None) == (new.query is None or new.relevant is None):
            raise BadInput("a step is a caption, or a query and whether it is relevant")
        if new.caption is not None:
            return await server.change(
                "caption_many", Changed, pictures=new.pictures, text=new.caption, more=new.more
            )
        answers = [(picture, new.relevant) for picture in new.pictures]
        return await server.change("judge_many", Changed, query=new.query, answers=answers)

    @router.delete("/many", response_model=Changed, responses=REFUSED_WRITE | QUEUED)
    async def undo_last(request: Request) -> Response:
        """Take back the last step: a caption, a yes or no, many of either, fields or a removal.

        With a token that does not allow to write only captions and answers are taken back.
        """
        only = {} if right_of(request.scope) == "write" else {"only_said": True}
        return await server.change(
            "undo_last", lambda step: Changed(step.pictures, step.what), **only
        )

    @router.get("/teach", response_model=Questions, responses=refusals(400, 403, 409, 422, 503))
    async def teaching_questions(
        query: Annotated[QueryText, Query()], k: Annotated[int, Query(ge=1, le=50)] = 10
    ) -> Response:
        """The pictures from whose answers most would be learnt."""
        return await server.answer(lambda c: shown_pictures(c, query, c.questions(query, k)))

    @router.post("/teach", response_model=RoundReport, responses=REFUSED_CHANGE)
    async def answer_questions(new: NewRound) -> Response:
        """Answer a round; it says what that brought, and when more would bring little."""
        answers = [(int(number), yes) for number, yes in new.answers.items()]
        return await server.change("teach", query=new.query, answers=answers)

    @router.get("/review", response_model=Doubts, responses=refusals(400, 403, 409, 422, 503))
    async def doubtful_captions(
        query: Annotated[QueryText, Query(min_length=1, description="A word of captions.")],
        k: Annotated[int, Query(ge=1, le=50)] = 10,
    ) -> Response:
        """The captions that are most likely wrong about a word."""
        return await server.answer(_doubts, query, k)

    @router.post("/review", response_model=Changed, responses=REFUSED_CHANGE)
    async def review_captions(new: NewRound) -> Response:
        """Say which pictures show a word: captions get it or lose it, as one step."""
        answers = [(int(number), yes) for number, yes in new.answers.items()]
        return await server.change("review", Changed, query=new.query, answers=answers)

    return router


def shown_pictures(collection: Collection, query: str, numbers: list[int]) -> dict[str, Any]:
    """Pictures in their order, as the page shows them."""
    return {"query": query, "results": [*collection.pictures(numbers).values()]}


def _doubts(collection: Collection, word: str, k: int) -> dict[str, Any]:
    doubts = {doubt.picture: vars(doubt) for doubt in collection.doubts(word, k)}
    shown = collection.pictures([*doubts])
    results = [
        DoubtfulPicture(**(vars(shown[number]) | doubt))
        for number, doubt in doubts.items()
        if number in shown
    ]
    return {"query": word, "results": results}


def _judgements(collection: Collection, query: str | None, k: int) -> dict[str, Any]:
    known = collection.judgements(query)
    return {"judgements": known[::-1][:k], "total": len(known)}

"""Relevance feedback: yes and no, given, listed and taken back."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Response

from visterm.collection import Collection, Judgement, Queued
from visterm.web.problems import refusals
from visterm.web.schemas import (
    LARGEST_NUMBER,
    Judgements,
    NewJudgement,
    QueryText,
    QueuedResponse,
    Undone,
)
from visterm.web.server import Server

REFUSED_WRITE = refusals(400, 403, 408, 409, 413, 415, 422, 429, 503)
QUEUED: dict[int | str, dict[str, Any]] = {
    202: {"model": QueuedResponse, "description": "Written down; done when the job has ended."}
}


def feedback_routes(server: Server) -> APIRouter:
    router = APIRouter(prefix="/feedback", tags=["feedback"])

    @router.post("", status_code=201, responses=REFUSED_WRITE | QUEUED | refusals(404))
    async def judge(new: NewJudgement, response: Response) -> Judgement | QueuedResponse:
        """Say whether a picture is what a query asks for; the ranking learns at once."""
        found = await server.submit("judge", **new.model_dump())
        return found if isinstance(found, Judgement) else queued(response)

    @router.get("", responses=refusals(400, 403, 422, 503))
    async def judgements(
        query: Annotated[QueryText | None, Query(description="Only those of this query.")] = None,
        k: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Judgements:
        """What was answered, the latest first."""
        found = await server.readers.questions.ask(Collection.judgements, query)
        return Judgements(judgements=found[::-1][:k], total=len(found))

    @router.delete("/{judgement}", responses=REFUSED_WRITE | QUEUED | refusals(404))
    async def undo(
        judgement: Annotated[int, Path(ge=1, le=LARGEST_NUMBER)], response: Response
    ) -> Undone | QueuedResponse:
        """Take one judgement back; the ranking is as if it had never been made."""
        known = await server.readers.questions.ask(Collection.judgements)
        if all(one.id != judgement for one in known):
            raise HTTPException(404, "there is no such judgement")
        found = await server.submit("undo", number=judgement)
        return queued(response) if isinstance(found, Queued) else Undone(undone=1)

    @router.delete("", responses=REFUSED_WRITE | QUEUED)
    async def forget(response: Response) -> Undone | QueuedResponse:
        """Take every judgement back."""
        found = await server.submit("forget_judgements")
        return queued(response) if isinstance(found, Queued) else Undone(undone=found)

    return router


def queued(response: Response) -> QueuedResponse:
    """Say that a change waits until whoever is writing has finished."""
    response.status_code = 202
    return QueuedResponse()

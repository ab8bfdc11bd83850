"""Relevance feedback: yes and no, given, listed and taken back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query

from visterm.collection import Collection
from visterm.web.problems import described
from visterm.web.schemas import (
    LARGEST_NUMBER,
    JudgementResponse,
    Judgements,
    NewJudgement,
    QueryText,
    Undone,
)
from visterm.web.server import Server

REFUSED_WRITE = described(400, 403, 409, 413, 415, 422, 429, 503)


def feedback_routes(server: Server) -> APIRouter:
    router = APIRouter(prefix="/feedback", tags=["feedback"])

    @router.post("", status_code=201, responses=REFUSED_WRITE | described(404))
    async def judge(new: NewJudgement) -> JudgementResponse:
        """Say whether a picture is what a query asks for; the ranking learns at once."""
        server.jobs.refuse_while_running()

        def judged(collection: Collection) -> JudgementResponse:
            return JudgementResponse(**vars(collection.judge(new.query, new.picture, new.relevant)))

        return await server.readers.changes.ask(judged)

    @router.get("", responses=described(400, 403, 422, 503))
    async def judgements(
        query: Annotated[QueryText | None, Query(description="Only those of this query.")] = None,
        k: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Judgements:
        """What was answered, the latest first."""

        def listed(collection: Collection) -> Judgements:
            found = collection.judgements(query)
            latest = [JudgementResponse(**vars(one)) for one in found[::-1][:k]]
            return Judgements(judgements=latest, total=len(found))

        return await server.readers.questions.ask(listed)

    @router.delete("/{judgement}", responses=REFUSED_WRITE | described(404))
    async def undo(judgement: Annotated[int, Path(ge=1, le=LARGEST_NUMBER)]) -> Undone:
        """Take one judgement back; the ranking is as if it had never been made."""
        server.jobs.refuse_while_running()
        return await server.readers.changes.ask(lambda collection: _undone(collection, judgement))

    @router.delete("", responses=REFUSED_WRITE)
    async def forget() -> Undone:
        """Take every judgement back."""
        server.jobs.refuse_while_running()
        return await server.readers.changes.ask(
            lambda collection: Undone(undone=collection.forget_judgements())
        )

    return router


def _undone(collection: Collection, judgement: int) -> Undone:
    if all(one.id != judgement for one in collection.judgements()):
        raise HTTPException(404, "there is no such judgement")
    collection.undo(judgement)
    return Undone(undone=1)

"""Relevance feedback: yes and no, given, listed and taken back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query

from visterm.collection import Collection, Judgement
from visterm.web.problems import refusals
from visterm.web.schemas import LARGEST_NUMBER, Judgements, NewJudgement, QueryText, Undone
from visterm.web.server import Server

REFUSED_WRITE = refusals(400, 403, 408, 409, 413, 415, 422, 429, 503)


def feedback_routes(server: Server) -> APIRouter:
    router = APIRouter(prefix="/feedback", tags=["feedback"])

    @router.post("", status_code=201, responses=REFUSED_WRITE | refusals(404))
    async def judge(new: NewJudgement) -> Judgement:
        """Say whether a picture is what a query asks for; the ranking learns at once."""
        return await server.change(Collection.judge, new.query, new.picture, new.relevant)

    @router.get("", responses=refusals(400, 403, 422, 503))
    async def judgements(
        query: Annotated[QueryText | None, Query(description="Only those of this query.")] = None,
        k: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Judgements:
        """What was answered, the latest first."""
        found = await server.readers.questions.ask(Collection.judgements, query)
        return Judgements(judgements=found[::-1][:k], total=len(found))

    @router.delete("/{judgement}", responses=REFUSED_WRITE | refusals(404))
    async def undo(judgement: Annotated[int, Path(ge=1, le=LARGEST_NUMBER)]) -> Undone:
        """Take one judgement back; the ranking is as if it had never been made."""
        return await server.change(_undone, judgement)

    @router.delete("", responses=REFUSED_WRITE)
    async def forget() -> Undone:
        """Take every judgement back."""
        return Undone(undone=await server.change(Collection.forget_judgements))

    return router


def _undone(collection: Collection, judgement: int) -> Undone:
    if all(one.id != judgement for one in collection.judgements()):
        raise HTTPException(404, "there is no such judgement")
    collection.undo(judgement)
    return Undone(undone=1)

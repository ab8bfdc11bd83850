"""The part of the API that teaches: yes and no, jobs in the background, how things stand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from starlette.responses import StreamingResponse

from visterm import __version__
from visterm.collection import looking
from visterm.collection.clicks import words_of
from visterm.web.answers import (
    LARGEST_NUMBER,
    Job,
    Jobs,
    Judgement,
    Judgements,
    NewJob,
    NewJudgement,
    QueryText,
    Status,
    Undone,
)
from visterm.web.problems import described
from visterm.web.readers import Busy, Desk
from visterm.web.server import Server

REFUSED_WRITE = described(400, 403, 409, 413, 415, 422, 429, 503)


def judging(server: Server) -> APIRouter:
    router = APIRouter(prefix="/feedback", tags=["teaching"])

    @router.post("", status_code=201, responses=REFUSED_WRITE | described(404))
    async def judge(new: NewJudgement) -> Judgement:
        """Say whether a picture is what a query asks for; the ranking learns at once."""
        server.jobs.refuse_while_running()

        def said(desk: Desk) -> Judgement:
            looking.card(desk.collection.catalogue, new.picture)
            return Judgement(**vars(desk.collection.judge(new.query, new.picture, new.relevant)))

        return await server.rooms.changes.ask(said)

    @router.get("", responses=described(400, 403, 422, 503))
    async def judgements(
        query: Annotated[QueryText | None, Query(description="Only those of this query.")] = None,
        k: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Judgements:
        """What was said, the latest first."""

        def said(desk: Desk) -> Judgements:
            found = desk.collection.judgements()
            if query is not None:
                words = words_of(query)
                found = [one for one in found if one.query == words]
            latest = sorted(found, key=lambda one: -one.id)
            return Judgements(
                judgements=[Judgement(**vars(one)) for one in latest[:k]], total=len(found)
            )

        return await server.rooms.questions.ask(said)

    @router.delete("/{judgement}", responses=REFUSED_WRITE | described(404))
    async def undo(judgement: Annotated[int, Path(ge=1, le=LARGEST_NUMBER)]) -> Undone:
        """Take one judgement back; the ranking is as if it had never been made."""
        server.jobs.refuse_while_running()
        return await server.rooms.changes.ask(lambda desk: _undone(desk, judgement))

    @router.delete("", responses=REFUSED_WRITE)
    async def forget() -> Undone:
        """Take every judgement back."""
        server.jobs.refuse_while_running()

        return await server.rooms.changes.ask(
            lambda desk: Undone(undone=desk.collection.forget_judgements())
        )

    return router


def working(server: Server) -> APIRouter:
    router = APIRouter(tags=["working"])

    @router.post("/train", status_code=202, responses=REFUSED_WRITE)
    async def train(new: NewJob) -> Job:
        """Begin to learn from all captions, or to look for new pictures, in the background."""
        return Job(**asdict(server.jobs.start(new.kind)))

    @router.get("/train", responses=described(400, 403, 503))
    async def job() -> Jobs:
        """The last job as it stands."""
        last = server.jobs.last
        return Jobs(job=None if last is None else Job(**asdict(last)))

    @router.delete("/train", responses=REFUSED_WRITE)
    async def stop() -> Jobs:
        """Stop the running job; what it had committed stays."""
        last = server.jobs.stop()
        return Jobs(job=None if last is None else Job(**asdict(last)))

    @router.get(
        "/train/events",
        response_class=StreamingResponse,
        responses={
            200: {"content": {"text/event-stream": {}}, "description": "One event a change."},
            **described(400, 403, 503),
        },
    )
    async def events() -> StreamingResponse:
        """The job's progress as server-sent events ``job``; the stream ends with the job."""
        if server.jobs.has_many_watchers:
            raise Busy("too many are watching; close another window")
        return StreamingResponse(_events(server), media_type="text/event-stream")

    @router.get("/status", responses=described(400, 403, 503))
    async def status() -> Status:
        """How much there is of everything, and what is going on."""
        return await server.rooms.questions.ask(lambda desk: _status(desk, server))

    return router


async def _events(server: Server) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    async for job in server.jobs.watch():
        if job is None:
            yield b": still here\n\n"
        else:
            yield f"event: job\ndata: {Job(**asdict(job)).model_dump_json()}\n\n".encode()
    yield b"event: end\ndata: {}\n\n"


def _undone(desk: Desk, judgement: int) -> Undone:
    if all(one.id != judgement for one in desk.collection.judgements()):
        raise HTTPException(404, "there is no such judgement")
    desk.collection.undo(judgement)
    return Undone(undone=1)


def _status(desk: Desk, server: Server) -> Status:
    collection = desk.collection
    found = collection.status()
    last = server.jobs.last
    return Status(
        name=collection.root.name or "/",
        pictures=found.pictures,
        captioned=found.captioned,
        skipped=found.skipped,
        judgements=collection.catalogue.one("SELECT count(*) FROM feedback"),
        model=found.model,
        up_to_date=found.up_to_date,
        writable=collection.is_writable,
        job=None if last is None else Job(**asdict(last)),
        version=__version__,
    )

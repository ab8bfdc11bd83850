"""Jobs in the background, their progress, and the state of the collection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict

from fastapi import APIRouter
from starlette.responses import StreamingResponse

from visterm import __version__
from visterm.collection import Collection
from visterm.web.problems import described
from visterm.web.reader_pool import Busy
from visterm.web.routes.feedback import REFUSED_WRITE
from visterm.web.schemas import JobResponse, LastJob, NewJob, StatusResponse
from visterm.web.server import Server


def job_routes(server: Server) -> APIRouter:
    router = APIRouter(tags=["jobs"])

    @router.post("/train", status_code=202, responses=REFUSED_WRITE)
    async def train(new: NewJob) -> JobResponse:
        """Begin to learn from all captions, or to look for new pictures, in the background."""
        return JobResponse(**asdict(server.jobs.start(new.kind, new.space)))

    @router.get("/train", responses=described(400, 403, 503))
    async def job() -> LastJob:
        """The last job as it stands."""
        last = server.jobs.last
        return LastJob(job=None if last is None else JobResponse(**asdict(last)))

    @router.delete("/train", responses=REFUSED_WRITE)
    async def stop() -> LastJob:
        """Stop the running job; what it had committed stays."""
        last = server.jobs.stop()
        return LastJob(job=None if last is None else JobResponse(**asdict(last)))

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
    async def status() -> StatusResponse:
        """How much there is of everything, and what is going on."""
        return await server.readers.questions.ask(lambda collection: _status(collection, server))

    return router


async def _events(server: Server) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    async for job in server.jobs.watch():
        if job is None:
            yield b": still here\n\n"
        else:
            yield f"event: job\ndata: {JobResponse(**asdict(job)).model_dump_json()}\n\n".encode()
    yield b"event: end\ndata: {}\n\n"


def _status(collection: Collection, server: Server) -> StatusResponse:
    found = collection.status()
    last = server.jobs.last
    return StatusResponse(
        name=collection.root.name or "/",
        pictures=found.pictures,
        captioned=found.captioned,
        skipped=found.skipped,
        judgements=found.judgements,
        model=found.model,
        up_to_date=found.up_to_date,
        writable=collection.is_writable,
        job=None if last is None else JobResponse(**asdict(last)),
        version=__version__,
    )

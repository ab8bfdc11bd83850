"""Jobs in the background, their progress, and the state of the collection."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import APIRouter
from starlette.responses import StreamingResponse

from visterm import __version__
from visterm.collection import Collection
from visterm.web.jobs import Job
from visterm.web.problems import refusals
from visterm.web.reader_pool import Busy
from visterm.web.routes.feedback import REFUSED_WRITE
from visterm.web.schemas import JobResponse, LastJob, NewJob, StatusResponse
from visterm.web.server import Server


def job_routes(server: Server) -> APIRouter:
    router = APIRouter(tags=["jobs"])

    @router.post("/train", status_code=202, responses=REFUSED_WRITE)
    async def train(new: NewJob) -> JobResponse:
        """Begin to learn from all captions, or to look for new pictures, in the background."""
        return JobResponse(**vars(server.jobs.start(new.kind, new.space)))

    @router.get("/train", responses=refusals(400, 403, 503))
    async def job() -> LastJob:
        """The last job as it stands."""
        return LastJob(job=_shown(server.jobs.last))

    @router.delete("/train", responses=REFUSED_WRITE)
    async def stop() -> LastJob:
        """Stop the running job; what it had committed stays."""
        return LastJob(job=_shown(server.jobs.stop()))

    @router.get(
        "/train/events",
        response_class=StreamingResponse,
        responses={
            200: {"content": {"text/event-stream": {}}, "description": "One event a change."},
            **refusals(400, 403, 503),
        },
    )
    async def events() -> StreamingResponse:
        """The job's progress as server-sent events ``job``; the stream ends with the job."""
        if server.jobs.has_many_watchers:
            raise Busy("too many are watching; close another window")
        return StreamingResponse(_events(server), media_type="text/event-stream")

    @router.get("/status", responses=refusals(400, 403, 503))
    async def status() -> StatusResponse:
        """How much there is of everything, and what is going on."""
        return await server.readers.questions.ask(_status, server)

    return router


async def _events(server: Server) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    async for job in server.jobs.watch():
        if job is None:
            yield b": still here\n\n"
        else:
            yield f"event: job\ndata: {JobResponse(**vars(job)).model_dump_json()}\n\n".encode()
    yield b"event: end\ndata: {}\n\n"


def _status(collection: Collection, server: Server) -> StatusResponse:
    return StatusResponse(
        **vars(collection.status()),  # those of its fields that the schema has
        name=collection.root.name or "/",
        writable=collection.is_writable,
        watching=server.living is not None and server.living.is_watching,
        job=_shown(server.jobs.last),
        version=__version__,
    )


def _shown(job: Job | None) -> JobResponse | None:
    return None if job is None else JobResponse(**vars(job))

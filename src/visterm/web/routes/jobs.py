"""Jobs in the background, their progress, and the state of the collection."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from visterm import __version__
from visterm.collection import Collection
from visterm.json_text import json_text
from visterm.web.problems import refusals
from visterm.web.routes.feedback import REFUSED_WRITE
from visterm.web.schemas import LastJob, NewJob, ServerStatus
from visterm.web.server import Server
from visterm.web.writer import Job


def job_routes(server: Server) -> APIRouter:
    router = APIRouter(tags=["jobs"])

    @router.post("/train", status_code=202, responses=REFUSED_WRITE)
    async def train(new: NewJob) -> Job:
        """Begin to learn from all captions, or to look for new pictures, in the background."""
        return server.writer.start(new.kind, new.space)

    @router.get("/train", responses=refusals(400, 403, 503))
    async def job() -> LastJob:
        """The last job as it stands."""
        return LastJob(job=server.writer.job)

    @router.delete("/train", responses=REFUSED_WRITE)
    async def stop() -> LastJob:
        """Stop the running job; what it had committed stays."""
        return LastJob(job=server.writer.stop())

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
        server.writer.check_watchers()
        return StreamingResponse(_events(server), media_type="text/event-stream")

    @router.get("/status", response_model=ServerStatus, responses=refusals(400, 403, 503))
    async def status() -> Response:
        """How much there is of everything, and what is going on."""
        return await server.answer(_status, server)

    return router


async def _events(server: Server) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    async for job in server.writer.watch():
        if job is None:
            yield b": still here\n\n"
        else:
            yield f"event: job\ndata: {json_text(job)}\n\n".encode()
    yield b"event: end\ndata: {}\n\n"


def _status(collection: Collection, server: Server) -> ServerStatus:
    return ServerStatus(
        **vars(collection.status()),
        name=collection.root.name or "/",
        writable=collection.is_writable,
        watching=server.watch is not None and server.watch.is_watching,
        job=server.writer.job,
        version=__version__,
    )

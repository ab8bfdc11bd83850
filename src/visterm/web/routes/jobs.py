"""Jobs in the background, their progress, and the state of the collection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from visterm import __version__
from visterm.collection import Collection
from visterm.json_text import json_text
from visterm.web.problems import refusals
from visterm.web.request_log import RequestLog
from visterm.web.routes.feedback import REFUSED_WRITE
from visterm.web.schemas import Collections, LastJob, NewJob, ServerStatus
from visterm.web.server import Server, json_response
from visterm.web.thread_pool import Busy
from visterm.web.writer import Job

_PROMETHEUS = "text/plain; version=0.0.4"
_MOST_WATCHERS = 32
_LOOK_EVERY = 0.1
_ALIVE = 15.0
"""Seconds after which a quiet stream says that it is still there."""


def job_routes(server: Server) -> APIRouter:
    router = APIRouter(tags=["jobs"])

    @router.post("/train", status_code=202, responses=REFUSED_WRITE)
    async def start_job(new: NewJob) -> Job:
        """Begin to learn from all captions, or to look for new pictures, in the background."""
        return server.writer.start(new.kind, new.space)

    @router.get("/train", responses=refusals(400, 403, 503))
    async def last_job() -> LastJob:
        """The last job as it stands."""
        return LastJob(job=server.writer.job)

    @router.delete("/train", responses=REFUSED_WRITE)
    async def stop_job() -> LastJob:
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
    async def job_events() -> StreamingResponse:
        """The job's progress as server-sent events ``job``; the stream ends with the job."""
        if server.watchers >= _MOST_WATCHERS:
            raise Busy("too many are watching; close another window")
        return StreamingResponse(_events(server), media_type="text/event-stream")

    @router.get("/status", response_model=ServerStatus, responses=refusals(400, 403, 503))
    async def status() -> Response:
        """How much there is of everything, and what is going on."""
        return await server.answer(_status, server)

    return router


def collection_routes(names: list[str]) -> APIRouter:
    router = APIRouter(tags=["jobs"])

    @router.get("/collections", responses=refusals(400, 403))
    async def list_collections() -> Collections:
        """Names of further collections: under ``/collections/NAME`` are the same operations."""
        return Collections(collections=names)

    return router


def health_routes(server: Server, requests: RequestLog) -> APIRouter:
    """For whoever runs the server; not under ``/api/v1``, where programs expect them."""
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    async def health() -> Response:
        """Whether the collection can be read: 200, or an error. No token is needed."""
        await server.questions.ask(lambda collection: collection.is_empty)
        return json_response({"status": "ok"})

    @router.get("/metrics")
    async def metrics() -> Response:
        """Counts of requests and sizes of the collection, as Prometheus reads them."""
        pictures, waiting = await server.questions.ask(lambda c: (len(c), c.log.waiting))
        gauges = (
            ("pictures", "Pictures in the collection.", pictures),
            ("waiting_changes", "Changes in the log that wait to be done.", waiting),
            ("job_running", "Whether a job is at work.", server.writer.is_at_work),
        )
        return PlainTextResponse(requests.metrics(gauges), media_type=_PROMETHEUS)

    return router


async def _events(server: Server) -> AsyncIterator[bytes]:
    """Every state of the job that a look now and then finds, and its last one."""
    yield b"retry: 2000\n\n"
    shown, last_sent = None, time.monotonic()
    server.watchers += 1
    try:
        while not server.writer.is_closed:
            job = server.writer.job
            if job is not shown and job is not None:
                shown, last_sent = job, time.monotonic()
                yield f"event: job\ndata: {json_text(job)}\n\n".encode()
            if job is None or job.is_over:
                break
            if time.monotonic() - last_sent > _ALIVE:
                last_sent = time.monotonic()
                yield b": still here\n\n"
            await asyncio.sleep(_LOOK_EVERY)
    finally:
        server.watchers -= 1
    yield b"event: end\ndata: {}\n\n"


def _status(collection: Collection, server: Server) -> ServerStatus:
    name = collection.root.name or "/"
    # Visitors need not know where on this machine the pictures lie.
    status = replace(collection.status(), folder=name, store=collection.store.name)
    return ServerStatus(
        **vars(status),
        name=name,
        writable=collection.is_writable,
        watching=server.watch is not None and server.watch.is_watching,
        job=server.writer.job,
        version=__version__,
    )

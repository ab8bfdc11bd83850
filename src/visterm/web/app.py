"""The server's app: the page, the API under ``/api/v1``, and the guard before both."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.responses import Response

from visterm import __version__
from visterm.collection import Collection, SharedState
from visterm.errors import VistermError
from visterm.web.jobs import Jobs
from visterm.web.living_folder import LivingFolder
from visterm.web.page_files import page_file, page_files
from visterm.web.problems import answer_with_problems, problem, refuse_unknown_parameters
from visterm.web.reader_pool import ReaderPools
from visterm.web.routes import (
    feedback_routes,
    job_routes,
    library_routes,
    picture_routes,
    search_routes,
)
from visterm.web.security import Guard, Rules
from visterm.web.server import Server

API = "/api/v1"


def make_app(
    folder: Path,
    store: Path | None = None,
    rules: Rules | None = None,
    shared: SharedState | None = None,
    *,
    watches: bool = False,
    learns: bool = False,
    changes_elsewhere: bool = False,
) -> Guard:
    """An ASGI app over a collection, which is made if there is none.

    Parameters
    ----------
    folder, store
        As for `Collection.open`.
    rules
        Who may ask; without any, whoever reaches the loopback address.
    shared
        What all threads share, such as shards on a cluster (`searching_on`).
    watches
        Whether changes of the folder are noticed as they happen.
    learns
        Whether training may start by itself, when enough captions have changed.
    changes_elsewhere
        Whether captions and clicks are done by a process of their own, which delays no search.
    """
    with Collection.open(folder, store=store) as collection:
        where = collection.root, collection.store
    server = Server(ReaderPools(*where, shared, changes_elsewhere=changes_elsewhere), Jobs(*where))
    server.jobs.on_end = lambda job: server.readers.mend_later()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # What is wrong with the collection is said to whoever asks something of it.
        with contextlib.suppress(VistermError):
            await server.readers.questions.ask(lambda collection: collection.prepare_searches())
        living = LivingFolder(*where, server.jobs, learns=learns) if watches else None
        server.living = living
        if living is not None:
            living.start()
        yield
        if living is not None:
            living.stop()
        server.close()

    app = FastAPI(
        title="visterm",
        version=__version__,
        summary="A collection of pictures, searched by words, with relevance feedback.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # the usual pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        separate_input_output_schemas=False,
    )
    app.state.server = server
    api = APIRouter(prefix=API, dependencies=[Depends(refuse_unknown_parameters)])
    for routes in (search_routes, picture_routes, feedback_routes, library_routes, job_routes):
        api.include_router(routes(server))
    app.include_router(api)
    app.include_router(_page())
    answer_with_problems(app)
    return Guard(app, rules or Rules())


def _page() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page(request: Request) -> Response:
        return page_file("index.html").response(request)

    @router.get("/page/{name}")
    async def file(request: Request, name: str) -> Response:
        found = page_files().get(name)
        if found is None:
            return problem(404, "the page has no such file")
        return found.response(request)

    @router.get("/favicon.ico")
    async def icon(request: Request) -> Response:
        return page_file("icon.svg").response(request)

    return router

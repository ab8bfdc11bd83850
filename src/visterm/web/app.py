"""The server's app: the page, the API under ``/api/v1``, and the guard before both."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, Depends, FastAPI

from visterm import __version__
from visterm.collection import Collection, SharedState
from visterm.errors import VistermError
from visterm.web.page_files import page_routes
from visterm.web.problems import answer_with_problems, refuse_unknown_parameters
from visterm.web.routes.feedback import feedback_routes
from visterm.web.routes.jobs import job_routes
from visterm.web.routes.pictures import library_routes, picture_routes
from visterm.web.routes.search import search_routes
from visterm.web.security import Guard, Rules
from visterm.web.server import FolderWatch, Server

API = "/api/v1"


def make_app(
    folder: Path,
    store: Path | None = None,
    rules: Rules | None = None,
    shared: SharedState | None = None,
    *,
    watches: bool = False,
    learns: bool = False,
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
    """
    with Collection.open(folder, store=store) as collection:
        server = Server(collection.root, collection.store, shared or SharedState())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # What is wrong with the collection is said to whoever asks something of it.
        with contextlib.suppress(VistermError):
            await server.questions.ask(Collection.prepare_searches)
        if watches:
            server.watch = FolderWatch(server.folder, server.store, server.writer, learns=learns)
        yield
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
    app.include_router(page_routes())
    answer_with_problems(app)
    return Guard(app, rules or Rules())

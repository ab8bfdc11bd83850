"""The server's app: the page, the API under ``/api/v1``, and the guard before both."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, FastAPI

from visterm import __version__
from visterm.collection import Collection, SharedState
from visterm.errors import BadInput, VistermError
from visterm.web.page_files import page_routes
from visterm.web.problems import answer_with_problems, refuse_unknown_parameters
from visterm.web.request_log import LogFormat
from visterm.web.routes.feedback import feedback_routes
from visterm.web.routes.files import file_routes
from visterm.web.routes.jobs import collection_routes, health_routes, job_routes
from visterm.web.routes.pictures import library_routes, picture_routes
from visterm.web.routes.search import search_routes
from visterm.web.schemas import SCHEMA_LOCK
from visterm.web.security import Guard, Rules
from visterm.web.server import FolderWatch, Server

API = "/api/v1"
_SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of visterm serve, where it has one. A token may allow to read, "
        "to judge (captions, yes and no) or to write (pictures and jobs).",
    }
}


_ROUTES = (
    *(search_routes, picture_routes, file_routes),
    *(feedback_routes, library_routes, job_routes),
)


def make_app(
    folder: Path,
    store: Path | None = None,
    rules: Rules | None = None,
    shared: SharedState | None = None,
    *,
    collections: Mapping[str, Path] | None = None,
    log: LogFormat | None = None,
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
    collections
        Folders of further collections by name, served under ``/api/v1/collections/NAME``.
    log
        Whether a line a request is written to stderr, and how.
    watches
        Whether changes of the folder are noticed as they happen.
    learns
        Whether training may start by itself, when enough captions have changed.
    """
    server = _opened(folder, store, shared or SharedState())
    others: dict[str, Server] = {}
    for name, where in (collections or {}).items():
        address = f"{API}/collections/{name}"
        known = (server, *others.values())
        others[address] = _opened(where, None, SharedState(address=address), known)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for one in app.state.servers:
            # What is wrong with the collection is said to whoever asks something of it.
            with contextlib.suppress(VistermError):
                await one.questions.ask(Collection.prepare_searches)
            if watches:
                one.watch = FolderWatch(one.folder, one.store, one.writer, learns=learns)
        yield
        for one in app.state.servers:
            one.close()

    app = FastAPI(
        title="visterm",
        version=__version__,
        summary="A collection of pictures, searched by words, with relevance feedback.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # the usual pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        separate_input_output_schemas=False,
        servers=[{"url": "/", "description": "Where this description was read."}],
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.server, app.state.servers = server, [server, *others.values()]
    guard = Guard(app, rules or Rules(), log)
    with SCHEMA_LOCK:
        for prefix, served in {API: server, **others}.items():
            # The others are described by the first: they differ in nothing but their addresses.
            options: Any = {
                "include_in_schema": served is server,
                "dependencies": [Depends(refuse_unknown_parameters)],
            }
            api = APIRouter(prefix=prefix, **options)
            for routes in _ROUTES:
                api.include_router(routes(served))
            app.include_router(api)
        app.include_router(collection_routes(list(collections or {})), prefix=API)
        app.include_router(health_routes(server, guard.requests))
        app.include_router(page_routes())
        answer_with_problems(app)
        described = app.openapi()  # the guard checks tokens, and no route: so it is said here
    described["components"]["securitySchemes"] = _SCHEMES
    described["security"] = [{"token": []}, {}]
    return guard


def _opened(
    folder: Path, store: Path | None, shared: SharedState, known: Iterable[Server] = ()
) -> Server:
    with Collection.open(folder, store=store) as collection:
        if any(collection.store.resolve() == one.store.resolve() for one in known):
            raise BadInput(
                f"{folder} is part of the collection {collection.root}, which is served already; "
                "name a folder outside of it"
            )
        return Server(collection.root, collection.store, shared)

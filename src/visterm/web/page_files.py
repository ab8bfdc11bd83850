"""The page: its files, read once from the package; there is no way from a name to a path."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request
from starlette.responses import Response

from visterm.web.problems import problem

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}


@dataclass(frozen=True)
class PageFile:
    """One file with its type and tag."""

    name: str
    content: bytes
    tag: str

    def response(self, request: Request | None = None, status: int = 200) -> Response:
        """The file, or nothing where the browser has it already."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache"}
        if request is not None and self.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        kind = _TYPES[self.name.rpartition(".")[2]]
        return Response(self.content, status, headers, media_type=kind)


@cache
def page_files() -> dict[str, PageFile]:
    """Every file of the page by name.

    >>> sorted(name for name in page_files() if name.endswith(".html"))
    ['index.html', 'token-wrong.html', 'token.html']
    """
    content = {
        entry.name: entry.read_bytes()
        for entry in files("visterm.web").joinpath("page").iterdir()
        if entry.is_file() and entry.name.rpartition(".")[2] in _TYPES
    }
    return {name: PageFile(name, data, _tag(data)) for name, data in content.items()}


def _tag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:16]}"'


def page_routes() -> APIRouter:
    """The page, its files and its icon."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page(request: Request) -> Response:
        return page_files()["index.html"].response(request)

    @router.get("/page/{name}")
    async def file(request: Request, name: str) -> Response:
        if name not in page_files():
            return problem(404, "the page has no such file")
        return page_files()[name].response(request)

    @router.get("/favicon.ico")
    async def icon(request: Request) -> Response:
        return page_files()["icon.svg"].response(request)

    return router

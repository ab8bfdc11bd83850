"""The files of the page, read once from the package: there is no way from a name to a path."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

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
    found = {}
    for entry in files("visterm.web").joinpath("page").iterdir():
        if entry.is_file() and entry.name.rpartition(".")[2] in _TYPES:
            content = entry.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            found[entry.name] = PageFile(entry.name, content, tag)
    return found


def page_file(name: str) -> PageFile:
    """One of them."""
    return page_files()[name]

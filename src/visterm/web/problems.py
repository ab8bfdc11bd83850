"""Errors as JSON objects of one shape: a sentence for the person, a kind for programs.

{"error": "k must be at most 200", "kind": "bad-input"}
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from visterm.collection import Locked, NotTrained, UnknownPicture, UnknownWords
from visterm.errors import BadInput, NotAllowed, UnreadablePicture, VistermError
from visterm.web.thread_pool import Busy
from visterm.web.writer import Interrupted

log = logging.getLogger("visterm.web")


class CannotWrite(VistermError):
    """A picture file cannot be put where it was meant to be."""


class Problem(BaseModel):
    """The answer to every request that could not be answered."""

    error: str = Field(description="What was wrong and what to do, in words for a person.")
    kind: str = Field(description="The same in one word, for programs.")
    unknown: dict[str, list[str]] | None = Field(
        default=None, description="Words that are not known, each with known ones that are close."
    )


_KINDS: dict[int, str] = {
    400: "bad-request",
    401: "no-token",
    403: "forbidden",
    404: "not-found",
    405: "wrong-method",
    408: "too-slow",
    409: "busy",
    413: "too-large",
    415: "wrong-type",
    422: "bad-input",
    429: "too-often",
    503: "busy",
}

_OTHERS: dict[int, str] = {
    400: "too-large",
    403: "wrong-host, wrong-origin",
    404: "no-picture, unreadable",
    409: "cannot-write, locked, nothing-learnt",
    422: "unknown-words",
    503: "interrupted",
}
"""Further kinds of a code."""

# The first that fits; what no line names is our own mistake or a damaged collection.
_ANSWERS: tuple[tuple[type[VistermError], int, str], ...] = (
    (UnknownPicture, 404, "no-picture"),
    (UnreadablePicture, 404, "unreadable"),
    (UnknownWords, 422, "unknown-words"),
    (NotTrained, 409, "nothing-learnt"),
    (NotAllowed, 403, "forbidden"),
    (Locked, 409, "locked"),
    (CannotWrite, 409, "cannot-write"),
    (Busy, 503, "busy"),
    (Interrupted, 503, "interrupted"),
    (BadInput, 422, "bad-input"),
    (VistermError, 500, "failed"),
)


def refusals(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of an operation, for its description."""
    kinds = {code: ", ".join(filter(None, (_KINDS[code], _OTHERS.get(code)))) for code in _KINDS}
    every = (401, 429, *codes)  # a client of many wrong tokens has to wait, whatever it asks
    return {code: {"model": Problem, "description": kinds[code]} for code in every}


def problem(
    status: int,
    error: str,
    kind: str = "",
    *,
    unknown: dict[str, list[str]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer that says what went wrong."""
    sentence = error.encode("utf-8", errors="replace").decode()
    body = Problem(error=sentence, kind=kind or _KINDS.get(status, "failed"), unknown=unknown)
    return JSONResponse(body.model_dump(exclude_none=True), status, dict(headers or {}))


def answer_with_problems(app: FastAPI) -> None:
    """Let an app answer every error in the one shape."""
    app.add_exception_handler(VistermError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


async def refuse_unknown_parameters(request: Request) -> None:
    """A parameter that nobody reads is a mistake of whoever wrote it: it would change nothing."""
    known = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        there_are = f"; there are {', '.join(known)}" if known else ""
        raise BadInput(f"no parameter is called {unknown[0][:40]!r}{there_are}")


async def _ours(request: Request, error: Exception) -> Response:
    status, kind = next((s, k) for cls, s, k in _ANSWERS if isinstance(error, cls))
    unknown = error.unknown if isinstance(error, UnknownWords) else None
    # Not after `Interrupted`: it may be done, and an undo that is sent again takes back another.
    headers = {"Retry-After": "1"} if isinstance(error, Busy) else None
    return problem(status, str(error), kind, unknown=unknown, headers=headers)


async def _invalid(request: Request, error: Exception) -> Response:
    complaints = error.errors() if isinstance(error, RequestValidationError) else []
    return problem(422, "; ".join(map(_sentence, complaints[:3])) or "bad input")


async def _http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    sentences = {
        404: "there is nothing at this address; /api/v1/openapi.json lists what there is",
        405: "this address takes other methods; /api/v1/openapi.json lists them",
        400: "the request cannot be read; its body must be JSON in UTF-8",
    }
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_allowed(request))
    return problem(
        error.status_code, sentences.get(error.status_code, str(error.detail)), headers=headers
    )


def _allowed(request: Request) -> list[str]:
    """The methods of an address, whichever routes take them."""
    scopes = {one: {**request.scope, "method": one} for one in ("GET", "POST", "PUT", "DELETE")}
    return [
        method
        for method, scope in scopes.items()
        if any(route.matches(scope)[0] == Match.FULL for route in request.app.router.routes)
    ]


async def _unexpected(request: Request, error: Exception) -> Response:
    # What happened is for the log; a stranger learns nothing from it.
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "visterm made a mistake; its log says more", "failed")


def _sentence(complaint: Mapping[str, Any]) -> str:
    """One complaint of the validation, without the input it is about: that may be anything."""
    where = [str(part) for part in _named(complaint.get("loc", ()))]
    text = str(complaint.get("msg", "is wrong")).removeprefix("Value error, ")
    for they_say in ("Input should ", "String should ", "List should "):
        text = text.replace(they_say, "must ")
    text = {"Field required": "is missing"}.get(text, text)
    return f"{'.'.join(where) or 'the body'}: {text}"


def _named(loc: Sequence[str | int]) -> Sequence[str | int]:
    return loc[1:] if loc and loc[0] in ("query", "path", "body", "header") else loc

"""Access rules: checks before any answer, and security headers on every one.

A page on the internet can make a browser send requests to this machine, under a name of its own
choosing (DNS rebinding) or from its own origin (CSRF). The first is caught by the Host, the second
by Origin and Sec-Fetch-Site, which no script can forge.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, unquote_to_bytes, urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from visterm.web.page_files import page_files
from visterm.web.problems import problem
from visterm.web.request_log import LogFormat, RequestLog

LARGEST_BODY = 64 << 10
LARGEST_EXAMPLE = 512 << 10
"""Of a vector or a small picture that results should be like."""
LARGEST_PICTURE = 64 << 20
FILE_TYPES = ("application/octet-stream", "image/jpeg", "image/png", "image/webp", "image/tiff")
"""Types of bodies that are picture files; what they are, their bytes say."""
SLOWEST_BODY = 30.0
"""Seconds for a body to come."""
LONGEST_ADDRESS = 16 << 10
_PART = re.compile(r"/api/v1/(?:collections/[^/]+/)?([^/]+)")
_WRITES = ("POST", "PUT", "PATCH", "DELETE")
_READS = ("GET", "HEAD")
_RIGHT = "visterm.right"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
"""Of every answer that has no other value of its own."""


Right = Literal["read", "judge", "write"]
RIGHTS: tuple[Right, ...] = ("read", "judge", "write")
"""What a token allows, each with all before it: to look; to caption and to say yes or no; to add
and remove pictures and to begin jobs."""


@dataclass(frozen=True)
class Rules:
    """What a server allows.

    ``token``, where there is one, must come with every request: as ``Authorization: Bearer``, as a
    cookie, or once as ``?token=`` in the address of the page. It allows everything; ``tokens`` are
    others, each with what it allows. ``names`` are host names besides the loopback's; addresses in
    numbers are no names, and pass where ``beyond`` loopback is served.
    """

    token: str | None = None
    tokens: Mapping[str, Right] = field(default_factory=dict)
    origins: frozenset[str] = frozenset()
    """Origins of other front ends that may ask, such as http://localhost:3000."""
    beyond: bool = False
    names: frozenset[str] = frozenset()
    cookie: str = "visterm"
    writes_a_second: float = 20.0
    most_writes_at_once: int = 60


class Bucket:
    """So many at once, and so many a second after that, for each client (a token bucket).

    >>> bucket = Bucket(rate=1.0, size=2, clock=iter([0.0, 0.0, 0.0, 1.5]).__next__)
    >>> [bucket.take("me") for _ in range(4)]
    [True, True, False, True]
    """

    def __init__(
        self, rate: float, size: int, clock: Callable[[], float] = time.monotonic, most: int = 4096
    ) -> None:
        self.rate, self.size, self._clock, self._most = rate, float(size), clock, most
        self._left: OrderedDict[str, tuple[float, float, str]] = OrderedDict()

    def take(self, client: str, what: str = "") -> bool:
        """Whether a client may; to ask for the same thing again costs nothing."""
        now = self._clock()
        left, since, last = self._left.pop(client, (self.size, now, ""))
        left = min(self.size, left + self.rate * (now - since))
        allowed = left >= 1
        self._left[client] = (left - (allowed and (not what or what != last)), now, what)
        while len(self._left) > self._most:  # many clients must not fill the memory
            self._left.popitem(last=False)
        return allowed


class Guard:
    """An app that lets through what the rules allow, and counts what it answers."""

    def __init__(self, app: ASGIApp, rules: Rules, log: LogFormat | None = None) -> None:
        self.app, self.rules = app, rules
        self.requests = RequestLog(self._answer, log)
        own: dict[str, Right] = {} if rules.token is None else {rules.token: "write"}
        self._tokens = {**rules.tokens, **own}
        self._writes = Bucket(rules.writes_a_second, rules.most_writes_at_once)
        self._wrong_tokens = Bucket(0.5, 10)
        self._checked: ASGIApp = self._check
        if rules.origins:
            self._checked = CORSMiddleware(
                self._check,
                allow_origins=[*rules.origins],
                allow_methods=["GET", "POST", "PUT", "DELETE"],
                allow_headers=["Authorization", "Content-Type"],
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.requests(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                if "access-control-allow-origin" in headers:
                    headers["Cross-Origin-Resource-Policy"] = "cross-origin"
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                message["headers"] = headers.raw
            await send(message)

        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":  # nothing here speaks WebSocket
            await self._checked(scope, receive, with_headers)

    async def _check(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        checks = (
            *(self._bad_host, self._bad_address, self._bad_origin),
            *(self._no_token, self._bad_body, self._too_often),
        )
        for check in checks:
            refusal = check(scope, headers)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self.app(scope, _limited(receive, _largest(scope)), send)

    def _bad_host(self, scope: Scope, headers: Headers) -> Response | None:
        named = headers.getlist("host")
        if len(named) == 1 and self._is_ours(named[0]):
            return None
        return problem(
            403,
            "this server is not known under that name; open the address that visterm serve "
            "printed, or give the name with --name",
            "wrong-host",
        )

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name == "localhost" or name in self.rules.names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self.rules.beyond or address.is_loopback

    def _bad_address(self, scope: Scope, headers: Headers) -> Response | None:
        raw = scope.get("raw_path") or scope["path"].encode()
        query = scope.get("query_string", b"")
        if len(raw) + len(query) > LONGEST_ADDRESS:
            return problem(
                400, f"the address is longer than {LONGEST_ADDRESS:,} bytes", "too-large"
            )
        try:
            text = unquote_to_bytes(raw.partition(b"?")[0] + b"?" + query).decode("utf-8")
        except UnicodeDecodeError:
            return problem(400, "the address is not UTF-8")
        if "\0" in text:
            return problem(400, "the address holds a zero byte")
        return None

    def _bad_origin(self, scope: Scope, headers: Headers) -> Response | None:
        origin = headers.get("origin")
        if origin in self.rules.origins:
            return None
        site = headers.get("sec-fetch-site", "same-origin")
        own = origin is None or _origin(origin) == _origin(f"{scope['scheme']}://{headers['host']}")
        if own and site in ("same-origin", "none"):
            return None
        opens_page = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"
        if scope["method"] in _READS and opens_page and origin is None:
            return None  # a link to the page, from wherever
        return problem(403, "other sites may not ask here", "wrong-origin")

    def _no_token(self, scope: Scope, headers: Headers) -> Response | None:
        if not self._tokens or scope["path"].startswith(("/page/", "/healthz")):
            return None  # the page's own files are the same for everybody
        given, in_address = self._given_token(scope, headers)
        if given is not None:
            found = [right for token, right in self._tokens.items() if _same(given, token)]
            if found and RIGHTS.index(found[0]) < RIGHTS.index(needed_right(scope)):
                return problem(
                    403, f"this token allows to {found[0]}, and not to {needed_right(scope)}"
                )
            if found:
                scope[_RIGHT] = found[0]
                return self._let_in(given) if in_address else None
            if not self._wrong_tokens.take(_client(scope), given):
                return problem(429, "too many wrong tokens; wait a minute", headers=_later(60))
        if scope["path"] == "/" and scope["method"] in _READS:
            return _ask_for_token(wrong=given is not None)
        return problem(
            401,
            "a token is needed: open the address that visterm serve printed, or send "
            "Authorization: Bearer TOKEN",
            headers={"WWW-Authenticate": "Bearer"},
        )

    def _given_token(self, scope: Scope, headers: Headers) -> tuple[str | None, bool]:
        if scope["path"] == "/" and scope["method"] == "GET":
            asked = parse_qs(scope.get("query_string", b"").decode("utf-8", "replace"))
            if "token" in asked:
                return asked["token"][0].strip(), True
        kind, _, value = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return value.strip(), False
        return cookie_parser(headers.get("cookie", "")).get(self.rules.cookie), False

    def _let_in(self, token: str) -> Response:
        """Take the token out of the address, where shoulders and histories would see it."""
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(self.rules.cookie, token, httponly=True, samesite="strict", path="/")
        return answer

    def _bad_body(self, scope: Scope, headers: Headers) -> Response | None:
        if scope["method"] not in _WRITES:
            return None
        length = headers.get("content-length", "0")
        largest = _largest(scope)
        if not length.isascii() or not length.isdigit() or int(length[:20]) > largest:
            return problem(413, f"a body may have at most {largest:,} bytes")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        has_body = int(length) > 0 or "transfer-encoding" in headers
        is_file = _part(scope) in ("files", "ids") and kind in FILE_TYPES
        if has_body and kind != "application/json" and not is_file:
            return problem(415, "the body must be JSON, with Content-Type: application/json")
        return None

    def _too_often(self, scope: Scope, headers: Headers) -> Response | None:
        changes_nothing = scope["method"] not in _WRITES or _part(scope) == "search"
        if changes_nothing or self._writes.take(_client(scope)):
            return None
        return problem(
            429,
            f"more than {self.rules.writes_a_second:.0f} changes a second; wait a moment",
            headers=_later(1),
        )


def needed_right(scope: Scope) -> Right:
    """What a request does, as tokens allow it.

    >>> needed_right({"method": "POST", "path": "/api/v1/feedback"})
    'judge'
    >>> needed_right({"method": "POST", "path": "/api/v1/like"})
    'read'
    """
    part = _part(scope)
    if scope["method"] not in _WRITES or part in ("export", "like", "search"):
        return "read"
    is_write = part in ("files", "ids", "train") or scope["path"].endswith("/fields")
    return "write" if is_write else "judge"


def right_of(scope: Scope) -> Right:
    """What whoever asks may do, as the guard found: anything, where no token is needed.

    >>> right_of({})
    'write'
    """
    right: Right = scope.get(_RIGHT, "write")
    return right


def _part(scope: Scope) -> str:
    """Which part of the API a request is about, of whichever collection."""
    found = _PART.match(scope["path"])
    return "" if found is None else found[1]


def _is_upload(scope: Scope) -> bool:
    return scope["method"] == "PUT" and _part(scope) in ("files", "ids")


def _largest(scope: Scope) -> int:
    if _is_upload(scope):
        return LARGEST_PICTURE
    return LARGEST_EXAMPLE if _part(scope) in ("like", "search") else LARGEST_BODY


def _limited(receive: Receive, largest: int) -> Receive:
    """Bodies that come in chunks are counted as they come, and must have come before long."""
    received, is_whole = 0, False
    until = time.monotonic() + SLOWEST_BODY

    async def counted() -> Message:
        nonlocal received, is_whole
        if is_whole:  # what comes now is that whoever asked has gone
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
        except TimeoutError:
            raise HTTPException(408, "the body came too slowly; send it again") from None
        is_whole = not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > largest:
            raise HTTPException(413, f"a body may have at most {largest:,} bytes")
        return message

    return counted


def _origin(address: str) -> tuple[str, str | None, int | None] | None:
    try:
        parts = urlsplit(address)
        usual = {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme, parts.hostname, parts.port or usual
    except ValueError:
        return None


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _client(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _later(seconds: int) -> dict[str, str]:
    return {"Retry-After": str(seconds)}


def _ask_for_token(*, wrong: bool) -> Response:
    return page_files()["token-wrong.html" if wrong else "token.html"].response(status=401)

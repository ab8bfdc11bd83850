"""Access rules: checks before any answer, and security headers on every one.

A page on the internet can make a browser send requests to this machine, under a name of its own
choosing (DNS rebinding) or from its own origin (CSRF). The first is caught by the Host, the second
by Origin and Sec-Fetch-Site, which no script can forge.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes, urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response

from visterm.web.problems import problem
from visterm.web.rate_limit import Bucket, Guesses

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 64 << 10
SLOWEST_BODY = 30.0
"""Seconds for a body to come."""
LONGEST_ADDRESS = 16 << 10
_WRITES = ("POST", "PUT", "PATCH", "DELETE")
_READS = ("GET", "HEAD")

_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Max-Age": "600",
}
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
}


@dataclass(frozen=True)
class Rules:
    """What a server allows.

    ``token``, where there is one, must come with every request: as ``Authorization: Bearer``, as a
    cookie, or once as ``?token=`` in the address of the page. ``names`` are host names besides the
    loopback's; addresses in numbers are no names, and pass where ``beyond`` loopback is served.
    """

    token: str | None = None
    origins: frozenset[str] = frozenset()
    """Origins of other front ends that may ask, such as http://localhost:3000."""
    beyond: bool = False
    names: frozenset[str] = frozenset()
    cookie: str = "visterm"
    writes_a_second: float = 20.0
    most_writes_at_once: int = 60


@dataclass
class Guard:
    """An app that lets through what the rules allow."""

    app: App
    rules: Rules
    _writes: Bucket = field(init=False)
    _wrong_tokens: Guesses = field(init=False)

    def __post_init__(self) -> None:
        self._writes = Bucket(self.rules.writes_a_second, self.rules.most_writes_at_once)
        self._wrong_tokens = Guesses(0.5, 10)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks WebSocket
            return

        allowed = self._allowed_origin(Headers(scope=scope))

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
                if allowed is not None:
                    headers["Access-Control-Allow-Origin"] = allowed
                    headers["Cross-Origin-Resource-Policy"] = "cross-origin"
                    headers.add_vary_header("Origin")
                message["headers"] = headers.raw
            await send(message)

        if scope["method"] == "OPTIONS" and allowed is not None:
            await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, with_headers)
            return
        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, with_headers)
            return
        await self.app(scope, _limited(receive), with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        checks: Iterable[Callable[[Scope, Headers], Response | None]] = (
            self._bad_host,
            self._bad_address,
            self._bad_origin,
            self._no_token,
            self._bad_body,
            self._too_often,
        )
        return next((found for check in checks if (found := check(scope, headers))), None)

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

    def _allowed_origin(self, headers: Headers) -> str | None:
        """The origin of a request, where it is one that the rules name."""
        origin = headers.get("origin")
        return origin if origin is not None and origin in self.rules.origins else None

    def _bad_origin(self, scope: Scope, headers: Headers) -> Response | None:
        if self._allowed_origin(headers) is not None:
            return None
        site = headers.get("sec-fetch-site", "same-origin")
        origin = headers.get("origin")
        own = origin is None or _origin(origin) == _origin(f"{scope['scheme']}://{headers['host']}")
        if own and site in ("same-origin", "none"):
            return None
        opens_page = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"
        if scope["method"] in _READS and opens_page and origin is None:
            return None  # a link to the page, from wherever
        return problem(403, "other sites may not ask here", "wrong-origin")

    def _no_token(self, scope: Scope, headers: Headers) -> Response | None:
        if self.rules.token is None or scope["path"].startswith("/page/"):
            return None  # the page's own files are the same for everybody
        given, in_address = self._given_token(scope, headers)
        if given is not None:
            client = _client(scope)
            if self._wrong_tokens.are_too_many(client):  # nor is a right one looked at
                return problem(429, "too many wrong tokens; wait a minute", headers=_later(60))
            if _same(given, self.rules.token):
                return self._let_in() if in_address else None
            self._wrong_tokens.add(client, given)
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

    def _let_in(self) -> Response:
        """Take the token out of the address, where shoulders and histories would see it."""
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(
            self.rules.cookie, self.rules.token or "", httponly=True, samesite="strict", path="/"
        )
        return answer

    def _bad_body(self, scope: Scope, headers: Headers) -> Response | None:
        if scope["method"] not in _WRITES:
            return None
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > LARGEST_BODY:
            return problem(413, f"a body may have at most {LARGEST_BODY:,} bytes")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        has_body = int(length) > 0 or "transfer-encoding" in headers
        if has_body and kind != "application/json":
            return problem(415, "the body must be JSON, with Content-Type: application/json")
        return None

    def _too_often(self, scope: Scope, headers: Headers) -> Response | None:
        if scope["method"] not in _WRITES or self._writes.take(_client(scope)):
            return None
        return problem(
            429,
            f"more than {self.rules.writes_a_second:.0f} changes a second; wait a moment",
            headers=_later(1),
        )


def _limited(receive: Receive) -> Receive:
    """Bodies that come in chunks are counted as they come, and must have come before long."""
    got, whole = 0, False
    until = time.monotonic() + SLOWEST_BODY

    async def counted() -> MutableMapping[str, Any]:
        nonlocal got, whole
        if whole:  # what comes now is that whoever asked has gone
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
        except TimeoutError:
            raise HTTPException(408, "the body came too slowly; send it again") from None
        whole = not message.get("more_body", False)
        got += len(message.get("body", b""))
        if got > LARGEST_BODY:
            raise HTTPException(413, f"a body may have at most {LARGEST_BODY:,} bytes")
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
    from visterm.web.page_files import page_file

    return page_file("token-wrong.html" if wrong else "token.html").response(status=401)

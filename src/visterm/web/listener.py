"""From a command to a listening server: address, token, connections, and a clean end.

uvicorn waits without end for the headers of a request. A stranger could hold a thousand connections
that way, and everybody else would find the server full. Its parser takes headers of any length,
and so all of the memory. So these connections hang up on whoever says nothing, too much, or too
slowly to ever end.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import json
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from visterm.errors import BadInput, VistermError

if TYPE_CHECKING:
    import uvicorn

    from visterm.collection import SharedState
    from visterm.web.request_log import LogFormat
    from visterm.web.security import Guard, Right

PORT = 8765
_TRIES = 20
PATIENCE = 15.0
"""Seconds for the headers of a request, from its first byte, or from the beginning."""
LARGEST_HEAD = 64 << 10
"""Bytes of a request besides its body."""
MOST_CONNECTIONS = 4096
"""Connections and requests at once; beyond them new requests are refused."""


@dataclass(frozen=True)
class Address:
    """A socket that listens, and how to reach it."""

    socket: socket.socket
    host: str
    port: int
    token: str | None

    @property
    def is_loopback(self) -> bool:
        return _is_loopback(self.host)

    @property
    def url(self) -> str:
        """What to type into a browser on this machine."""
        anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
        host = anywhere.get(self.host, self.host)
        host = f"[{host}]" if ":" in host else host
        end = "" if self.token is None else f"?token={self.token}"
        return f"http://{host}:{self.port}/{end}"

    def search(self, query: str) -> str:
        """The same with a search, or without one where there are no words.

        >>> Address(socket.socket(), "::", 80, token=None).search("red car")
        'http://[::1]:80/?q=red%20car'
        """
        if not query:
            return self.url
        return f"{self.url}{'?' if self.token is None else '&'}q={quote(query)}"


def listen(
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    *,
    others: Iterable[str] = (),
) -> Address:
    """Take an address; beyond loopback with a token, made up where none is given.

    Without a ``port``, `PORT` or the next one that is free. ``others`` are tokens that allow less:
    with them, too, one is needed that allows everything.
    """
    if port is not None and not 0 <= port <= 65535:
        raise BadInput(f"a port is a number up to 65535, not {port}")
    others = list(others)
    if any(len(given) < 8 for given in (*others, *filter(None, [token]))):
        raise BadInput("a token needs 8 letters or more; leave it out and one is made up")
    if token is None and (others or not _is_loopback(host)):
        token = secrets.token_urlsafe(24)
    ports = range(PORT, PORT + _TRIES) if port is None else [port]
    reason = ""
    for tried in ports:
        try:
            bound = _bind(host, tried)
        except OSError as error:
            reason = error.strerror or str(error)
            continue
        return Address(bound, host, bound.getsockname()[1], token)
    what = f"port {port}" if port is not None else f"ports {ports[0]} to {ports[-1]}"
    raise VistermError(f"cannot listen on {host}, {what}: {reason}; choose another with --port")


def serve(
    folder: Path,
    address: Address,
    *,
    store: Path | None = None,
    names: Iterable[str] = (),
    origins: Iterable[str] = (),
    begin: str | None = None,
    watches: bool = False,
    learns: bool = False,
    open_browser: bool = False,
    query: str = "",
    ready: Callable[[str], None] = lambda url: None,
    shared: SharedState | None = None,
    tokens: Mapping[str, Right] | None = None,
    collections: Mapping[str, Path] | None = None,
    log: LogFormat | None = None,
) -> None:
    """Serve a collection until somebody presses Ctrl-C.

    Parameters
    ----------
    names
        Host names under which this machine is reached, besides ``localhost``.
    origins
        Origins of other front ends that may ask.
    begin
        A job to begin with: ``add`` or ``train``.
    watches, learns
        As for `make_app`.
    open_browser, query
        Whether the page is opened, and what is searched there.
    ready
        Called with the address as soon as the server answers.
    shared, collections, log
        As for `make_app`.
    tokens
        Further tokens, each with what it allows.
    """
    from visterm.web.app import make_app
    from visterm.web.security import Rules

    rules = Rules(
        token=address.token,
        tokens=tokens or {},
        beyond=not address.is_loopback,
        names=frozenset(name.lower() for name in names),
        origins=frozenset(origin.rstrip("/") for origin in origins),
        cookie=f"visterm-{address.port}",  # cookies are the same for all ports
    )
    guard = make_app(
        folder,
        store,
        rules,
        shared,
        collections=collections,
        log=log,
        watches=watches,
        learns=learns,
    )

    def answering() -> None:
        gc.freeze()  # nothing loaded so far is garbage: to visit all of it stops searches for 0.1 s
        first, *others = guard.app.state.servers  # type: ignore[attr-defined]
        for server in (first, *others):
            server.writer.begin()
        if begin is not None:
            first.writer.start(begin)
        for server in others if watches else ():
            server.writer.start("add")
        ready(address.url)
        if open_browser:
            page = address.search(query)
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()

    def ending() -> None:
        for server in guard.app.state.servers:  # type: ignore[attr-defined]
            server.writer.end()

    allow_many_files()
    _server(guard, answering, ending).run(sockets=[address.socket])


def _server(
    guard: Guard, answering: Callable[[], None], ending: Callable[[], None]
) -> uvicorn.Server:
    """What serves an application; it calls ``answering`` once it does, and ``ending`` as soon as a
    signal tells it to end: streams of a job would keep it waiting."""
    import uvicorn

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                answering()

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            ending()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        guard,
        log_level="warning",
        access_log=False,  # a token may stand in an address
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=protocol(),
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
    )
    return Announcing(config)


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, where = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(where)
        bound.listen(1024)
    except OSError:
        bound.close()
        raise
    return bound


def _is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches an address.

    >>> _is_loopback("localhost"), _is_loopback("127.0.0.1"), _is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def hurried(protocol: type[Any], patience: float = PATIENCE) -> type[Any]:
    """uvicorn's protocol of a connection, which hangs up where headers take too long."""

    class Hurried(protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._is_answering():
                self._stop_waiting()
            elif self._timer is None:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _is_answering(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _wait(self) -> None:
            self._timer = self.loop.call_later(patience, self._hang_up)

        def _stop_waiting(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _hang_up(self) -> None:
            self._timer = None
            if not self._is_answering() and not self.transport.is_closing():
                self.transport.close()

    return Hurried


_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
)


def limited(protocol: type[Any], most: int = LARGEST_HEAD) -> type[Any]:
    """uvicorn's protocol over httptools, which refuses headers and trailers without end."""
    sentence = f"the headers of a request may take {most >> 10} KiB"
    content = json.dumps({"error": sentence, "kind": "too-large"}).encode()

    class Limited(protocol):
        _rest = 0
        """What came after the piece in which a request began, less its body."""
        _is_refused = False

        def data_received(self, data: bytes) -> None:
            if self._is_refused:
                return
            self._rest += len(data)
            super().data_received(data)
            if self._rest > most:
                self._refuse()

        def on_message_begin(self) -> None:
            self._rest = 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            if sum(len(name) + len(value) for name, value in self.headers) > most:
                self._refuse()
            if not self._is_refused:
                super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._rest -= len(body)
            if not self._is_refused:
                super().on_body(body)

        def on_message_complete(self) -> None:
            if not self._is_refused:
                super().on_message_complete()

        def _refuse(self) -> None:
            if self._is_refused or self.transport.is_closing():
                return
            self._is_refused = True
            if self.cycle is not None and not self.cycle.response_complete:
                self.transport.close()  # amid another answer nothing can be said
                return
            self.transport.write(_TOO_LARGE % (len(content), content))
            # What still comes is let pass until patience ends: whoever is hung up on while they
            # speak may never read the answer.
            self.transport.write_eof()

    return Limited


def protocol() -> type[Any]:
    """What the server speaks on every connection."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    return hurried(limited(HttpToolsProtocol))


def allow_many_files() -> None:
    """Let this process open as many files as the system lets it: every connection is one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = (
        2 * MOST_CONNECTIONS if most == resource.RLIM_INFINITY else min(2 * MOST_CONNECTIONS, most)
    )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))

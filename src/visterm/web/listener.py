"""From a command to a listening server: address, token, browser, and a clean end."""

from __future__ import annotations

import gc
import ipaddress
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.errors import BadInput, VistermError

if TYPE_CHECKING:
    import uvicorn

    from visterm.collection import SharedState
    from visterm.web.security import Guard

PORT = 8765
_TRIES = 20


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


def listen(host: str = "127.0.0.1", port: int | None = None, token: str | None = None) -> Address:
    """Take an address; beyond loopback with a token, made up where none is given.

    Without a ``port``, `PORT` or the next one that is free.
    """
    if port is not None and not 0 <= port <= 65535:
        raise BadInput(f"a port is a number up to 65535, not {port}")
    if token is not None and len(token) < 8:
        raise BadInput("a token needs 8 letters or more; leave it out and one is made up")
    if token is None and not _is_loopback(host):
        token = secrets.token_urlsafe(24)
    ports = range(PORT, PORT + _TRIES) if port is None else [port]
    reason = ""
    for one in ports:
        try:
            found = _bind(host, one)
        except OSError as error:
            reason = error.strerror or str(error)
            continue
        return Address(found, host, found.getsockname()[1], token)
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
    ready: Callable[[str], None] = lambda url: None,
    shared: SharedState | None = None,
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
    ready
        Called with the address as soon as the server answers.
    shared
        As for `make_app`.
    """
    from visterm.web.app import make_app
    from visterm.web.connections import allow_many_files
    from visterm.web.security import Rules

    rules = Rules(
        token=address.token,
        beyond=not address.is_loopback,
        names=frozenset(name.lower() for name in names),
        origins=frozenset(origin.rstrip("/") for origin in origins),
        cookie=f"visterm-{address.port}",  # cookies are the same for all ports
    )
    guard = make_app(
        folder, store, rules, shared, watches=watches, learns=learns, changes_elsewhere=True
    )

    def answering() -> None:
        gc.freeze()  # nothing loaded so far is garbage: to visit all of it stops searches for 0.1 s
        if begin is not None:
            guard.app.state.server.jobs.start(begin)  # type: ignore[attr-defined]
        ready(address.url)
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(address.url,), daemon=True).start()

    allow_many_files()
    _server(guard, answering).run(sockets=[address.socket])


def _server(guard: Guard, answering: Callable[[], None]) -> uvicorn.Server:
    """What serves an application; it calls ``answering`` once it does."""
    import uvicorn

    from visterm.web.connections import MOST, protocol

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                answering()

    config = uvicorn.Config(
        guard,
        log_level="warning",
        access_log=False,  # a token may stand in an address
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=protocol(),
        limit_concurrency=MOST,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
    )
    return Announcing(config)


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, where = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(where)
        found.listen(1024)
    except OSError:
        found.close()
        raise
    return found


def _is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches an address.

    >>> _is_loopback("localhost"), _is_loopback("127.0.0.1"), _is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

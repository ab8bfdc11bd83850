"""Connections that hang up on whoever says nothing, or says it too slowly to ever end.

uvicorn waits without end for the headers of a request. A stranger could hold a thousand connections
that way, and everybody else would find the server full.
"""

from __future__ import annotations

import asyncio
from typing import Any

PATIENCE = 15.0
"""Seconds for the headers of a request, from its first byte, or from the beginning."""
MOST = 4096
"""Connections and requests at once; beyond them new requests are refused."""


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


def protocol_of(*, is_loopback: bool) -> type[Any]:
    """The protocol for an address: strangers get the parser that limits headers."""
    if is_loopback:
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        return hurried(AutoHTTPProtocol)
    from uvicorn.protocols.http.h11_impl import H11Protocol

    return hurried(H11Protocol)


def allow_many_files() -> None:
    """Let this process open as many files as the system lets it: every connection is one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST if most == resource.RLIM_INFINITY else min(2 * MOST, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))

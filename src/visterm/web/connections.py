"""Connections that hang up on whoever says nothing, too much, or too slowly to ever end.

uvicorn waits without end for the headers of a request. A stranger could hold a thousand connections
that way, and everybody else would find the server full. Its parser takes headers of any length,
and so all of the memory.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

PATIENCE = 15.0
"""Seconds for the headers of a request, from its first byte, or from the beginning."""
LARGEST_HEAD = 64 << 10
"""Bytes of a request besides its body."""
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
    wanted = 2 * MOST if most == resource.RLIM_INFINITY else min(2 * MOST, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))

"""What was asked and how it went: a line a request for the log, and sums for Prometheus.

The words of a query are nobody's business, and a token may stand in an address: neither is logged.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from visterm.json_text import json_text

LogFormat = Literal["lines", "json"]


class RequestLog:
    """An app that counts what another one answers, and writes it down where that is asked for."""

    def __init__(self, app: ASGIApp, log: LogFormat | None = None) -> None:
        self.app, self._log = app, log
        self._count: Counter[tuple[str, str, int]] = Counter()
        self._seconds: Counter[tuple[str, str]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, size = time.perf_counter(), 500, 0

        async def counted(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, counted)
        finally:
            seconds = time.perf_counter() - began
            # By route: numbers and words in an address would make a series of each.
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if route != "other" else "other"
            self._count[method, route, status] += 1
            self._seconds[method, route] += seconds  # type: ignore[assignment]
            if self._log is not None:
                _write(self._log, scope, status, seconds, size)

    def metrics(self, gauges: Iterable[tuple[str, str, float]]) -> str:
        """All sums, and some values of now with their names and meanings, as Prometheus reads
        them."""
        lines = [*_head("requests_total", "counter", "Requests that were answered.")]
        for (method, route, status), count in sorted(self._count.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            lines.append(f"visterm_requests_total{{{labels}}} {count}")
        lines += _head("request_seconds_total", "counter", "Time that answers took.")
        for (method, route), seconds in sorted(self._seconds.items()):
            labels = f'method="{method}",route="{route}"'
            lines.append(f"visterm_request_seconds_total{{{labels}}} {seconds:.6f}")
        for name, meaning, value in gauges:
            lines += [*_head(name, "gauge", meaning), f"visterm_{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP visterm_{name} {meaning}", f"# TYPE visterm_{name} {kind}"


def _write(log: LogFormat, scope: Scope, status: int, seconds: float, size: int) -> None:
    client = (scope.get("client") or ("-",))[0]
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "client": client,
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "ms": round(1000 * seconds, 1),
        "bytes": size,
    }
    if log == "json":
        text = json_text(line)
    else:
        path = line["path"].encode("unicode_escape").decode()
        text = f"{line['time']} {client} {scope['method']} {path} {status} {line['ms']}ms {size}B"
    print(text, file=sys.stderr, flush=True)

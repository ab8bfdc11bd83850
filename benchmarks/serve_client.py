"""A bounded generator of load: so many connections, each with one request on its way.

    python -m benchmarks.serve_client HOST PORT CONNECTIONS SECONDS < addresses

Prints the times of all answers as JSON. It knows just enough HTTP for that, so as to take little of
the machine away from the server.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time


async def load(host: str, port: int, connections: int, seconds: float, paths: list[str]) -> None:
    """Ask until the time is up, and print."""
    turn = itertools.cycle(paths)
    times: list[float] = []
    errors = 0
    began = time.perf_counter()

    async def ask() -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection(host, port)
        while time.perf_counter() < began + seconds:
            sent = time.perf_counter()
            writer.write(f"GET {next(turn)} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(_length(head))
            if head.split(b" ", 2)[1] == b"200":
                times.append(time.perf_counter() - sent)
            else:
                errors += 1
        writer.close()

    await asyncio.gather(*(ask() for _ in range(connections)))
    took = time.perf_counter() - began
    print(json.dumps({"times": times, "errors": errors, "seconds": took}))


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


if __name__ == "__main__":
    host, port, connections, seconds = sys.argv[1:5]
    addresses = sys.stdin.read().splitlines()
    asyncio.run(load(host, int(port), int(connections), float(seconds), addresses))

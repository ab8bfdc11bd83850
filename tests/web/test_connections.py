"""Connections of people who mean harm: silent, slow, half open, and a thousand of them."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from visterm.web import security
from visterm.web.app import make_app
from visterm.web.listener import (
    LARGEST_HEAD,
    MOST_CONNECTIONS,
    allow_many_files,
    hurried,
    limited,
)

PATIENCE = 0.4
Served = Callable[[], int]


@pytest.fixture
def served(taught_folder: Path) -> Iterator[Served]:
    """Starts a server that hangs up soon; gives its port."""
    with contextlib.ExitStack() as open_ones:

        def start() -> int:
            config = uvicorn.Config(
                make_app(taught_folder),
                http=hurried(limited(HttpToolsProtocol), PATIENCE),
                limit_concurrency=MOST_CONNECTIONS,
                log_level="critical",
            )
            server = uvicorn.Server(config)
            listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
            thread = threading.Thread(target=server.run, args=([listening],))
            thread.start()

            def stop() -> None:
                server.should_exit = True
                thread.join()

            open_ones.callback(stop)
            while not server.started:
                time.sleep(0.01)
            return int(listening.getsockname()[1])

        yield start


def status(port: int, connection: http.client.HTTPConnection | None = None) -> int:
    used = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    used.request("GET", "/api/v1/search?query=sky&k=3")
    answer = used.getresponse()
    answer.read()
    return answer.status


def hung_up(connection: socket.socket) -> bool:
    """Whether the server ends a connection before long."""
    connection.settimeout(20)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_whoever_says_nothing_or_half_of_a_request_is_hung_up_on(served: Served) -> None:
    port = served()
    silent, half = (socket.create_connection(("127.0.0.1", port)) for _ in range(2))
    half.sendall(b"GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    assert hung_up(silent)
    assert hung_up(half)
    assert status(port) == 200


def test_a_byte_now_and_then_does_not_keep_a_connection(served: Served) -> None:
    port = served()
    slow = socket.create_connection(("127.0.0.1", port))
    ended = threading.Event()

    def drip() -> None:
        with contextlib.suppress(OSError):
            for byte in b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 10_000:
                slow.sendall(bytes([byte]))
                if ended.wait(0.02):
                    return

    dripping = threading.Thread(target=drip)
    dripping.start()
    assert hung_up(slow)
    ended.set()
    dripping.join()


def test_a_kept_connection_may_rest_between_requests(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served(), timeout=20)
    assert status(0, connection) == 200
    time.sleep(2 * PATIENCE)
    kept = connection.sock
    assert status(0, connection) == 200
    assert connection.sock is kept


def test_a_body_that_comes_too_slowly_is_given_up(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "SLOWEST_BODY", 0.2)
    slow = socket.create_connection(("127.0.0.1", served()))
    slow.sendall(
        b"POST /api/v1/feedback HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60\r\n"
        b"Content-Type: application/json\r\n\r\n{"
    )
    slow.settimeout(20)
    assert slow.recv(100).startswith(b"HTTP/1.1 408")


HEAD = b"GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = b"POST /api/v1/train HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"X: " + b"x" * 6 * LARGEST_HEAD,
        HEAD + b"".join(b"X-%d: y\r\n" % number for number in range(LARGEST_HEAD)),
        HEAD + b"X: " + b"x" * LARGEST_HEAD + b"\r\n\r\n",
        b"GET /" + b"x" * 6 * LARGEST_HEAD,
    ],
    ids=["a header without end", "headers without end", "a long header", "an address without end"],
)
def test_headers_that_are_too_large_are_refused(served: Served, head: bytes) -> None:
    port = served()
    speaking = socket.create_connection(("127.0.0.1", port), timeout=20)
    for begin in range(0, len(head), 4096):
        speaking.sendall(head[begin : begin + 4096])
    answer = b"".join(iter(lambda: speaking.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b'"kind": "too-large"' in answer
    assert status(port) == 200


def test_trailers_without_end_are_refused(served: Served) -> None:
    speaking = socket.create_connection(("127.0.0.1", served()), timeout=20)
    speaking.sendall(CHUNKED + b"0\r\nX: ")
    assert speaking.recv(4096).startswith(b"HTTP/1.1 415 ")  # the answer did not wait for them
    for _ in range(6):
        speaking.sendall(b"x" * LARGEST_HEAD)
    assert b"HTTP/1.1 431 " in b"".join(iter(lambda: speaking.recv(4096), b""))


def test_headers_below_the_limit_and_bodies_above_it_are_no_large_headers(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served(), timeout=20)
    for _ in range(3):
        connection.request("GET", "/api/v1/status", headers={"X": "x" * (LARGEST_HEAD - 1000)})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.request("PUT", "/api/v1/pictures/1/captions", b"x" * 3 * LARGEST_HEAD)
    assert connection.getresponse().status == 413


def test_a_thousand_idle_connections_do_not_keep_others_out(served: Served) -> None:
    allow_many_files()
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2200:
        pytest.skip("this system lets a process open fewer files")
    port = served()
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(1000)]
    assert status(port) == 200
    assert all(hung_up(one) for one in idle)

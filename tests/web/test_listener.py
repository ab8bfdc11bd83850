"""``visterm serve`` as a process: its address, its token, its end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from visterm.errors import BadInput, VistermError
from visterm.web.listener import listen


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server and the address it printed."""
    command = [sys.executable, "-m", "visterm", "serve", str(folder), "--json", "--no-browser"]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        told = ""
        while process.stdout is not None and not told.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            told += line
        yield process, json.loads(told)["url"]
    finally:
        process.kill()
        process.communicate()


def test_it_serves_the_page_and_ends_cleanly_on_ctrl_c(own: Path) -> None:
    with served(own, "--port", "0", "--as-is") as (process, url):
        assert url.startswith("http://127.0.0.1:")
        with urlopen(url) as page:
            assert b"<title>visterm</title>" in page.read()
        with urlopen(f"{url}api/v1/search?query=sea&k=3") as answer:
            assert len(json.load(answer)["results"]) == 3
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=15)
        assert "Traceback" not in said


def test_beyond_loopback_it_makes_a_token_up_and_warns(own: Path) -> None:
    with served(own, "--port", "0", "--as-is", "--host", "0.0.0.0") as (process, url):
        base, _, token = url.partition("?token=")
        assert len(token) >= 20
        with pytest.raises(HTTPError, match="401"):
            urlopen(f"{base}api/v1/status")
        allowed = Request(f"{base}api/v1/status", headers={"Authorization": f"Bearer {token}"})
        with urlopen(allowed) as answer:
            assert json.load(answer)["pictures"] == 200
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=15)
        assert "not encrypted" in said


def test_new_pictures_are_looked_for_while_the_page_answers(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    with served(folder, "--port", "0") as (_, url):
        with urlopen(f"{url}api/v1/train") as answer:
            assert json.load(answer)["job"]["kind"] == "add"
        with urlopen(f"{url}api/v1/pictures") as answer:
            assert json.load(answer)["results"] == []


def test_a_taken_port_is_named_or_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(VistermError, match=f"port {port}: .*choose another with --port"):
            listen(port=port)
    first, second = listen(), listen()
    assert first.port != second.port
    first.socket.close()
    second.socket.close()


def test_wrong_ports_tokens_and_hosts_are_refused() -> None:
    with pytest.raises(BadInput, match="65535"):
        listen(port=99999)
    with pytest.raises(BadInput, match="8 letters"):
        listen(token="short")
    with pytest.raises(VistermError, match=r"cannot listen on no\.such\.host"):
        listen("no.such.host.invalid", 0)


def test_the_command_line_and_the_collection_load_no_server() -> None:
    code = (
        "import sys, visterm.cli.app, visterm.collection; "
        "print([m for m in ('fastapi', 'uvicorn', 'starlette', 'pydantic') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"

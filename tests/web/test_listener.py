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
from visterm.web.app import make_app
from visterm.web.client import ApiError, Client
from visterm.web.listener import listen
from visterm.web.schemas import Changed


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


def test_it_ends_on_a_sigterm_also_amid_a_job_that_somebody_watches(own: Path) -> None:
    with served(own, "--port", "0", "--as-is") as (process, url):
        begin = Request(f"{url}api/v1/train", b"{}", {"Content-Type": "application/json"})
        assert urlopen(begin).status == 202
        with urlopen(f"{url}api/v1/train/events") as stream:
            stream.readline()
            process.terminate()
            _, said = process.communicate(timeout=15)
    assert process.returncode in (0, -signal.SIGTERM)
    assert "Traceback" not in said


def test_health_metrics_and_log_say_what_was_asked_but_not_its_words(own: Path) -> None:
    options = ("--port", "0", "--as-is", "--log", "json", "--token", "quite-a-long-token")
    with served(own, *options) as (process, page):
        url = page.partition("?")[0]
        with urlopen(f"{url}healthz") as health:
            assert json.load(health) == {"status": "ok"}
        with pytest.raises(HTTPError, match="401"):
            urlopen(f"{url}metrics")
        bearer = {"Authorization": "Bearer quite-a-long-token"}
        urlopen(Request(f"{url}api/v1/search?query=sea", headers=bearer)).read()
        with urlopen(Request(f"{url}metrics", headers=bearer)) as metrics:
            lines = metrics.read().decode().splitlines()
        process.terminate()
        _, said = process.communicate(timeout=15)
    asked = 'visterm_requests_total{operation="search",status="200"} 1'
    assert asked in lines
    assert "visterm_pictures 200" in lines
    logged = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert [(one["path"], one["status"]) for one in logged] == [
        *(("/healthz", 200), ("/metrics", 401), ("/api/v1/search", 200), ("/metrics", 200))
    ]
    assert "sea" not in "".join(map(json.dumps, logged)).replace("search", "")


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


def test_one_collection_is_not_served_under_two_names(own: Path) -> None:
    with pytest.raises(BadInput, match="served already"):
        make_app(own, collections={"shop": own / "alps"})


def test_a_program_uses_two_collections_by_the_client(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    monkeypatch.setenv("VISTERM_TOKEN", "quite-a-long-token")  # not in the list of processes
    with served(own, "--port", "0", "--as-is", "--also", f"shop={shop}") as (_, page):
        url = page.partition("?")[0]
        first = Client(url, token="quite-a-long-token")
        other = Client(url, token="quite-a-long-token", collection="shop")
        added = other.put("products/4711.jpg", next(own.glob("*.jpg")).read_bytes())
        assert added != "queued"
        assert other.find("products/4711.jpg") == added
        assert added.thumbnail.startswith("/api/v1/collections/shop/pictures/")
        bearer = {"Authorization": "Bearer quite-a-long-token"}
        with urlopen(Request(f"{url.rstrip('/')}{added.thumbnail}", headers=bearer)) as small:
            assert small.headers["content-type"] == "image/jpeg"
        assert (other.status().pictures, first.status().pictures) == (1, 200)
        with pytest.raises(ApiError, match="no picture at this path") as refused:
            first.find("products/4711.jpg")
        assert (refused.value.status, refused.value.kind) == (404, "no-picture")
        best = first.search("sea", k=3).results[0]
        judged = first.judge("sea", best.picture, True)
        assert judged != "queued"
        assert judged.picture == best.picture
        captioned = first.caption(best.picture, "a boat")
        assert captioned != "queued"
        assert captioned.caption == "a boat"
        assert first.undo() != "queued"
        doubt = first.doubts("sea", k=1).results[0]
        assert first.review("sea", {doubt.picture: not doubt.holds}) == Changed(1)
        described = other.put("products/4711.jpg", id="4711", fields={"price": 9.5, "new": True})
        assert described == other.find(id="4711") == other.put(id="4711", fields=described.fields)
        assert described.fields == {"price": 9.5, "new": True}
        cheap = other.search("field.price:<10 field.new:yes").results
        assert [(one.id, one.fields) for one in cheap] == [("4711", described.fields)]
        other.set_fields(cheap[0].picture, {"price": 11})
        assert other.search("field.price:<10").results == []
        removed = other.remove(id="4711")
        assert removed != "queued"
        assert (removed.changed, other.status().pictures) == (1, 0)

"""Pictures that programs add, replace, find and remove by paths of their own."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from PIL import Image
from starlette.testclient import TestClient

from visterm.collection import Collection
from visterm.errors import BadInput
from visterm.web import fetch as fetching
from visterm.web.fetch import fetch

FILES = "/api/v1/files"
JPEG = {"Content-Type": "image/jpeg"}


def picture(colour: str) -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (60, 40), colour).save(made, "JPEG")
    return made.getvalue()


def test_a_picture_is_added_found_replaced_removed_and_brought_back(
    client: TestClient, own: Path
) -> None:
    path = f"{FILES}/products/4711.jpg"
    assert client.get(path).status_code == 404
    first = client.put(path, content=picture("red"), headers=JPEG)
    assert first.status_code == 200, first.text
    number = first.json()["picture"]
    assert (own / "products/4711.jpg").read_bytes() == picture("red")
    assert client.get(f"/api/v1/pictures/{number}").json()["path"] == "products/4711.jpg"
    assert number in [
        one["picture"] for one in client.get("/api/v1/pictures?k=200").json()["results"]
    ]
    again = client.put(path, content=picture("blue"), headers=JPEG).json()["picture"]
    assert again != number
    assert client.get(path).json()["picture"] == again
    assert client.get(f"/api/v1/pictures/{number}").status_code == 404
    assert client.delete(path).json()["changed"] == 1
    assert client.get(path).status_code == 404
    assert client.delete(path).status_code == 404
    assert client.delete("/api/v1/many").json()["what"] == "removal"
    assert client.get(path).json()["picture"] == again


def test_what_is_added_during_a_job_is_there_after_it_even_if_that_is_killed(
    client: TestClient, own: Path
) -> None:
    assert client.post("/api/v1/train", json={}).status_code == 202
    put = client.put(f"{FILES}/late.jpg", content=picture("green"), headers=JPEG)
    assert (put.status_code, put.json()) == (202, {"queued": True})
    assert client.delete("/api/v1/train").status_code == 200
    assert "event: end" in client.get("/api/v1/train/events").text
    assert client.put("/api/v1/pictures/1/captions", json={"text": "sea"}).status_code == 200
    assert client.get(f"{FILES}/late.jpg").status_code == 200
    with Collection.open(own) as collection:
        assert collection.log.waiting == 0


@pytest.mark.parametrize(
    "path", ["../out.jpg", "a/../../out.jpg", ".visterm/x.jpg", "a//b.jpg", "a.txt", "a\\b.jpg"]
)
def test_no_path_leads_out_of_the_folder_or_to_what_is_no_picture(
    shared: TestClient, path: str
) -> None:
    address = f"{FILES}/{path.replace('.', '%2e').replace('/', '%2f')}"
    answer = shared.put(address, content=picture("red"), headers=JPEG)
    assert answer.status_code in (404, 422), answer.text


def test_a_link_inside_the_folder_leads_nowhere_else(client: TestClient, own: Path) -> None:
    away = own.parent / "away"
    away.mkdir()
    (own / "link").symlink_to(away)
    put = client.put(f"{FILES}/link/a.jpg", content=picture("red"), headers=JPEG)
    assert put.status_code == 422
    assert list(away.iterdir()) == []


def test_what_is_no_picture_is_refused_and_leaves_the_old_one(
    client: TestClient, own: Path
) -> None:
    path = f"{FILES}/one.jpg"
    assert client.put(path, content=picture("red"), headers=JPEG).status_code == 200
    refused = client.put(path, content=b"nothing", headers=JPEG)
    assert refused.status_code == 422
    assert "the picture that was sent" in refused.json()["error"]
    assert (own / "one.jpg").read_bytes() == picture("red")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/a.jpg",
        "http://localhost/a.jpg",
        "http://[::1]/a.jpg",
        "http://10.0.0.1/a.jpg",
        "http://169.254.169.254/latest/meta-data",
        "http://192.168.1.1/a.jpg",
        "http://0.0.0.0/a.jpg",
        "http://[::ffff:127.0.0.1]/a.jpg",
        "file:///etc/passwd",
        "ftp://example.org/a.jpg",
        "http://me:secret@example.org/a.jpg",
        "http://[nonsense/a.jpg",
    ],
)
def test_no_url_makes_the_server_ask_its_own_network(shared: TestClient, url: str) -> None:
    answer = shared.put(f"{FILES}/a.jpg", json={"url": url})
    assert answer.status_code == 422, answer.text
    assert answer.json()["kind"] == "bad-input"


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, bytes], str]:
    """A server that answers once, at an address that counts as public."""

    def answering(status: int, content: bytes) -> str:
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1/")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=server.handle_request, daemon=True).start()
        port = server.server_port
        at = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", port))
        monkeypatch.setattr(fetching.socket, "getaddrinfo", lambda *_, **__: [at])
        near = socket.socket()
        near.connect(("127.0.0.1", port))
        monkeypatch.setattr(fetching.socket, "create_connection", lambda *_: near)
        return f"http://pictures.example:{port}/a.jpg"

    return answering


def test_a_file_comes_from_a_public_address(elsewhere: Callable[[int, bytes], str]) -> None:
    assert fetch(elsewhere(200, picture("red")), 10_000) == picture("red")


def test_redirects_and_files_that_are_too_large_are_refused(
    elsewhere: Callable[[int, bytes], str],
) -> None:
    with pytest.raises(BadInput, match="answered 302"):
        fetch(elsewhere(302, b""), 10_000)
    with pytest.raises(BadInput, match="more than 10 bytes"):
        fetch(elsewhere(200, b"x" * 11), 10)

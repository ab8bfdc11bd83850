"""Pictures that programs add, replace, find and remove by paths of their own."""

from __future__ import annotations

import base64
import errno
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


def test_fields_and_an_id_of_ones_own_stay_with_a_path_and_filter_searches(
    client: TestClient, own: Path
) -> None:
    image = base64.b64encode(picture("red")).decode()
    fields = {"price": 12.5, "made": "2026-05-01", "sale": True, "brand": "Acme Ltd"}
    new = {"image": image, "id": "sku 1", "fields": fields}
    put = client.put(f"{FILES}/products/1.jpg", json=new)
    assert put.status_code == 200, put.text
    assert (put.json()["id"], put.json()["fields"]) == ("sku 1", fields)

    def found(query: str) -> list[str]:
        answer = client.get("/api/v1/search", params={"query": query})
        assert answer.status_code == 200, answer.text
        assert all(one["fields"] == fields for one in answer.json()["results"])
        return [one["id"] for one in answer.json()["results"]]

    for query in ("price:12.5", "price:>=10", "sale:yes", "made:>=2026-05", 'brand:"acme ltd"'):
        assert found(f"field.{query}") == ["sku 1"], query
    for query in ("price:>12.5", "sale:no", "made:<2026", "brand:acme", "unheard:1"):
        assert found(f"field.{query}") == [], query
    assert {"kind": "field", "term": "field.sale:true", "count": 1} in (
        client.get("/api/v1/filters").json()["filters"]
    )
    # Another file in its place has the same fields, and is found by the same id.
    again = client.put("/api/v1/ids/sku 1", content=picture("blue"), headers=JPEG).json()
    assert (again["path"], again["fields"]) == ("products/1.jpg", fields)
    assert (own / "products/1.jpg").read_bytes() == picture("blue")
    # The same bytes at another path are the same picture, and so have the same id.
    twice = client.put(f"{FILES}/2.jpg?id=2", content=picture("blue"), headers=JPEG)
    assert twice.status_code == 422
    assert "sku 1" in twice.json()["error"]
    fields = {"price": 9}
    number = again["picture"]
    changed = client.put(f"/api/v1/pictures/{number}/fields", json={"fields": fields})
    assert (changed.json()["fields"], changed.json()["id"]) == (fields, "sku 1")
    assert found("field.price:<10") == ["sku 1"]
    assert client.delete("/api/v1/many").json()["what"] == "fields"
    fields = {"price": 12.5, "made": "2026-05-01", "sale": True, "brand": "Acme Ltd"}
    assert found("field.price:>=10") == ["sku 1"]
    assert client.delete("/api/v1/ids/sku 1").json()["changed"] == 1
    assert client.get("/api/v1/ids/sku 1").status_code == 404
    assert client.delete("/api/v1/many").json()["what"] == "removal"
    assert client.get("/api/v1/ids/sku 1").json()["fields"] == fields
    with Collection.open(own) as collection:
        saved = own.parent / "backup"
        saved.write_text("\n".join(collection.backup()))
        collection.set_fields(number, {}, own_id="")
        assert collection.restore(saved).fields == 1
        assert collection.pictures([collection.with_id("sku 1")])[number].fields == fields


def test_an_id_stays_with_the_path_it_was_put_at_and_no_other_copy_is_touched(
    client: TestClient, own: Path
) -> None:
    (own / "canyon.jpg").write_bytes(picture("red"))
    assert client.put(f"{FILES}/canyon.jpg", json={"fields": {"a": 1}}).status_code == 404
    body = {"image": base64.b64encode(picture("red")).decode(), "fields": {"n": 1}, "id": "A1"}
    assert (
        client.put(f"{FILES}/canyon.jpg", content=picture("red"), headers=JPEG).status_code == 200
    )
    assert client.put(f"{FILES}/zz/up.jpg", json=body).json()["id"] == "A1"
    refused = client.put("/api/v1/ids/A1", content=picture("blue"), headers=JPEG)
    assert (refused.status_code, refused.json()["kind"]) == (409, "cannot-write")
    assert "zz/up.jpg" in refused.json()["error"]
    assert client.put("/api/v1/ids/A1", json={"fields": {"n": 2}}).json()["fields"] == {"n": 2}
    replaced = client.put(f"{FILES}/zz/up.jpg", content=picture("blue"), headers=JPEG).json()
    assert (replaced["id"], replaced["fields"]) == ("A1", {"n": 2})
    assert client.get("/api/v1/ids/A1").json()["path"] == "zz/up.jpg"
    assert client.get(f"{FILES}/canyon.jpg").json()["id"] is None
    assert (own / "canyon.jpg").read_bytes() == picture("red")
    assert (own / "zz/up.jpg").read_bytes() == picture("blue")


@pytest.mark.parametrize(
    "new",
    [
        {},
        {"fields": {"id": "x"}},
        {"fields": {"a b": 1}},
        {"fields": {"a": 1, "A": 2}},
        {"fields": {"a": None}},
        {"fields": {"a": [1]}},
        {"fields": {"a": "two\nlines"}},
        {"fields": {"a": "x" * 1001}},
        {"id": ""},
        {"vector": []},
        {"vector": [1.0, 2.0]},
        {"image": "no base 64"},
    ],
)
def test_what_cannot_be_kept_with_a_picture_is_refused(
    shared: TestClient, new: dict[str, object]
) -> None:
    path = shared.get("/api/v1/pictures/1").json()["path"]
    answer = shared.put(f"{FILES}/{path}", json=new)
    assert answer.status_code == 422, answer.text


def test_pictures_come_with_vectors_of_ones_own_and_are_found_by_one(empty: TestClient) -> None:
    for number, (colour, vector) in enumerate({"red": [1, 0, 0], "blue": [0, 1, 0]}.items()):
        image = base64.b64encode(picture(colour)).decode()
        new = {"image": image, "vector": vector, "fields": {"n": number}}
        answer = empty.put(f"{FILES}/{colour}.jpg", json=new)
        assert answer.status_code == 200, answer.text

    def ranked(vector: list[float], query: str = "") -> list[str]:
        answer = empty.post("/api/v1/search", json={"vector": vector, "query": query})
        assert answer.status_code == 200, answer.text
        return [one["path"] for one in answer.json()["results"]]

    assert ranked([0.1, 1, 0]) == ["blue.jpg", "red.jpg"]
    assert ranked([0.1, 1, 0], "field.n:0") == ["red.jpg"]
    assert empty.put(f"{FILES}/red.jpg", json={"vector": [0, 1, 0]}).status_code == 200
    assert empty.put(f"{FILES}/blue.jpg", json={"vector": [0, 0, 1]}).status_code == 200
    assert ranked([0, 1, 0.1]) == ["red.jpg", "blue.jpg"]
    for wrong in ([1, 2], [1, 2, 3, 4]):
        assert empty.post("/api/v1/search", json={"vector": wrong}).status_code == 422
        assert empty.put(f"{FILES}/red.jpg", json={"vector": wrong}).status_code == 422
    without = empty.put(f"{FILES}/green.jpg", content=picture("green"), headers=JPEG)
    assert without.status_code == 422
    assert "vectors of your own" in without.json()["error"]


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


def test_a_file_that_cannot_be_written_is_refused_without_a_path_of_the_server(
    client: TestClient, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "one.txt").write_text("no folder")
    below = client.put(f"{FILES}/one.txt/a/b.jpg", content=picture("red"), headers=JPEG)
    assert (below.status_code, below.json()["error"][:20]) == (422, "one.txt is no folder")

    def read_only(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("visterm.files.os.replace", read_only)
    refused = client.put(f"{FILES}/b.jpg", content=picture("red"), headers=JPEG)
    assert (refused.status_code, refused.json()["kind"]) == (409, "cannot-write")
    assert "read-only" in refused.json()["error"]
    assert str(own) not in refused.json()["error"]


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


@pytest.mark.parametrize(
    ("path", "methods"),
    [("files/a.jpg", "GET, PUT, DELETE"), ("search", "GET, POST"), ("train", "GET, POST, DELETE")],
)
def test_an_address_says_which_methods_it_takes(
    shared: TestClient, path: str, methods: str
) -> None:
    answer = shared.request("PATCH", f"/api/v1/{path}", content=b"{}", headers=JPEG)
    other = shared.options(f"/api/v1/{path}")
    assert other.status_code == 405
    assert other.headers["allow"] == methods
    assert answer.status_code == (405 if path.startswith("files") else 415)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("many", {"pictures": [1], "caption": "sea", "more": 0}),
        ("many", {"pictures": ["1"], "caption": "sea"}),
        ("teach", {"query": "sea", "answers": {"1": "yes"}}),
        ("search", {"vector": ["1"]}),
        ("like", {"image": "À" * 80_000}),
    ],
)
def test_values_of_other_types_than_described_are_refused(
    shared: TestClient, path: str, body: dict[str, object]
) -> None:
    assert shared.post(f"/api/v1/{path}", json=body).status_code == 422

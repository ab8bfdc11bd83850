"""Hostile requests, each with its expected answer: a 4xx, a sentence, and never a traceback."""

from __future__ import annotations

import hmac
import json
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

from visterm.web import security
from visterm.web.app import make_app
from visterm.web.page_files import page_files
from visterm.web.security import LARGEST_BODY, Bucket, Rules

API = "/api/v1"
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Hostile:
    """A request and what must come back."""

    what: str
    method: str
    path: str
    status: int
    said: str = ""
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.what


def get(what: str, path: str, status: int, said: str = "", **headers: str) -> Hostile:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Hostile(what, "GET", path, status, said, headers=named)


def post(what: str, path: str, status: int, said: str, body: object, **headers: str) -> Hostile:
    given = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    return Hostile(what, "POST", path, status, said, given, JSON | named)


FEEDBACK = f"{API}/feedback"
OK = {"query": "sea", "picture": 1, "relevant": True}
NO = OK | {"relevant": False}
ABOUT = b'{"query":"sea","picture":%s,"relevant":true}'
HALF = b'{"query":"\\ud800","picture":1,"relevant":true}'
HOSTILE = [
    # Files
    get("traversal by dots", "/page/../../../etc/passwd", 404, "nothing at this address"),
    get("traversal, encoded", "/page/..%2f..%2f..%2fetc%2fpasswd", 404, "nothing at this"),
    get("traversal, encoded twice", "/page/%252e%252e%252fpyproject.toml", 404),
    get("traversal, backslashes", "/page/..\\..\\app.py", 404, "no such file"),
    get("a module's source", "/page/app.py", 404, "no such file"),
    get("a picture by path", f"{API}/pictures/..%2fscene-0001.jpg/thumbnail", 404),
    get("a path for a number", f"{API}/pictures/scene-0001.jpg/thumbnail", 422, "picture:"),
    get("an absolute path", "//etc/passwd", 404),
    get("the catalogue", "/.visterm/catalogue.sqlite", 404),
    # Numbers
    get("huge k", f"{API}/search?query=sea&k=100000000", 422, "k: must be less than or equal to"),
    get("k of nothing", f"{API}/search?query=sea&k=0", 422, "k:"),
    get("negative k", f"{API}/search?query=sea&k=-5", 422, "k:"),
    get("k in words", f"{API}/search?query=sea&k=many", 422, "k:"),
    get("k as NaN", f"{API}/search?query=sea&k=NaN", 422, "k:"),
    get("k beyond every integer", f"{API}/search?query=sea&k={'9' * 400}", 422, "k:"),
    get("huge offset", f"{API}/search?query=sea&offset=1000000000000", 422, "offset:"),
    get("picture 0", f"{API}/pictures/0", 422, "picture:"),
    get("a negative picture", f"{API}/pictures/-1", 422, "picture:"),
    get("a picture beyond SQLite", f"{API}/pictures/99999999999999999999", 422, "picture:"),
    get("a picture that is not there", f"{API}/pictures/4444444", 404, "there is no picture"),
    get("a side of one's own", f"{API}/pictures/1/thumbnail?side=99999", 422, "side:"),
    # Queries
    get("no query", f"{API}/search", 422, "an empty query"),
    get("an empty query", f"{API}/search?query=", 422, "empty query"),
    get("a query of spaces", f"{API}/search?query=%20%20", 422, "empty query"),
    get("a giant query", f"{API}/search?query={'a' * 3000}", 422, "query: must have at most 500"),
    get("a giant address", f"{API}/search?query={'a' * 30000}", 400, "longer than"),
    get("very many words", f"{API}/search?query={'ab+' * 120}", 422, "at most 32 words"),
    get("an open quote", f"{API}/search?query=%22sea", 422, "quote is not closed"),
    get("a weight of NaN", f"{API}/search?query=sea:nan", 422, "must be a number"),
    get("an endless weight", f"{API}/search?query=sea:inf", 422, "must be a number"),
    get("no folder", f"{API}/search?query=sea&folder=atlantis", 422, "no folder 'atlantis'"),
    get("SQL in a folder", f"{API}/search?query=sea+in:%27%3BDROP%20TABLE", 422, "no folder"),
    get("bad UTF-8", f"{API}/search?query=%ff%fe", 400, "not UTF-8"),
    get("a zero byte", f"{API}/search?query=sea%00", 400, "zero byte"),
    get("control characters", f"{API}/search?query=sea%07", 422, "control characters"),
    get("a wrong truth", f"{API}/search?query=sea&captioned=maybe", 422, "captioned:"),
    # Other sites
    get("another host", f"{API}/status", 403, "not known under that name", host="evil.example"),
    get("another host with a port", f"{API}/status", 403, "not known", host="evil.example:8765"),
    get("a host that looks like ours", f"{API}/status", 403, host="127.0.0.1.evil.example"),
    get("a host of nonsense", f"{API}/status", 403, host="[::1"),
    get("a name of ours with a tail", f"{API}/status", 403, host="localhost.evil.example"),
    get("another site's script", f"{API}/status", 403, origin="http://evil.example"),
    get("another site's picture", f"{API}/pictures/1/thumbnail", 403, sec_fetch_site="cross-site"),
    get("another port's script", f"{API}/status", 403, origin="http://127.0.0.1:9999"),
    get("another port, same site", f"{API}/status", 403, sec_fetch_site="same-site"),
    post("a write from elsewhere", FEEDBACK, 403, "other sites", OK, origin="https://evil.example"),
    post("a write from nowhere", FEEDBACK, 403, "other sites", OK, origin="null"),
    post("a write from a file", FEEDBACK, 403, "other sites", OK, origin="file://"),
    post("a write across", FEEDBACK, 403, "other sites", OK, sec_fetch_site="cross-site"),
    post("training from elsewhere", f"{API}/train", 403, "other", {}, origin="http://evil.example"),
    # Bodies
    post("a form's body", FEEDBACK, 415, "must be JSON", b"query=sea", content_type="text/plain"),
    post("no JSON", FEEDBACK, 422, "", b"{nonsense"),
    post("JSON in Latin-1", FEEDBACK, 400, "UTF-8", '{"query": "é"}'.encode("latin-1")),
    post("a list", FEEDBACK, 422, "", [1, 2]),
    post("null", FEEDBACK, 422, "", None),
    post("a number for a query", FEEDBACK, 422, "query:", OK | {"query": 5}),
    post("a query of a megabyte", FEEDBACK, 413, "at most", OK | {"query": "a" * 2**20}),
    post("NaN for a picture", FEEDBACK, 422, "picture:", ABOUT % b"NaN"),
    post("infinity for a picture", FEEDBACK, 422, "picture:", ABOUT % b"1e999"),
    post("half a picture", FEEDBACK, 422, "picture:", OK | {"picture": 1.5}),
    post("perhaps", FEEDBACK, 422, "relevant:", OK | {"relevant": "perhaps"}),
    post("a number for yes", FEEDBACK, 422, "relevant:", OK | {"relevant": 1}),
    post("more than was asked", FEEDBACK, 422, "admin:", OK | {"admin": True}),
    post("half a letter", FEEDBACK, 422, "query:", HALF),
    post("a yes to conditions", FEEDBACK, 422, "needs words", OK | {"query": "in:alps"}),
    post("a no to unknown words", FEEDBACK, 422, "nothing to correct", NO | {"query": "qqqq"}),
    post("a picture that is not", FEEDBACK, 404, "there is no picture", OK | {"picture": 777777}),
    post("deep JSON", FEEDBACK, 400, "cannot be read", b"[" * 20_000 + b"]" * 20_000),
    post("no such job", f"{API}/train", 422, "kind:", {"kind": "rm -rf"}),
    Hostile(
        "a caption of a zero byte", "PUT", f"{API}/pictures/1/captions", 422, "control characters",
        b'{"text": "a\\u0000b"}', JSON,
    ),
    Hostile(
        "a caption too long", "PUT", f"{API}/pictures/1/captions", 422, "4000",
        json.dumps({"text": "a" * 5000}).encode(), JSON,
    ),
    Hostile(
        "a length that lies", "POST", FEEDBACK, 413, "at most", b"{}",
        JSON | {"Content-Length": "99999999999999999999999999"},
    ),
    # Methods
    Hostile("a wrong method", "POST", f"{API}/pictures", 405, "other methods"),
    Hostile("a method of one's own", "BREW", f"{API}/status", 405, "other methods"),
    Hostile("undoing nothing", "DELETE", f"{FEEDBACK}/424242", 404, ""),
    Hostile("undoing everything by letter", "DELETE", f"{FEEDBACK}/all", 422, "judgement:"),
]  # fmt: skip


@pytest.mark.parametrize("one", HOSTILE, ids=str)
def test_a_hostile_request_gets_its_answer(shared: TestClient, one: Hostile) -> None:
    answer = shared.request(one.method, one.path, content=one.body, headers=one.headers)
    assert answer.status_code == one.status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert one.said in answer.json()["error"]
    assert answer.json()["kind"]
    assert "Traceback" not in answer.text
    assert gettempdir() not in answer.text


def test_nothing_hostile_has_changed_anything(shared: TestClient) -> None:
    for one in HOSTILE:
        shared.request(one.method, one.path, content=one.body, headers=one.headers)
    status = shared.get(f"{API}/status").json()
    assert (status["judgements"], status["job"], status["pictures"]) == (0, None, 200)


def test_a_body_in_chunks_is_counted_as_it_comes(shared: TestClient) -> None:
    def chunks() -> object:
        for _ in range(2 * LARGEST_BODY // 1000):
            yield b" " * 1000

    answer = shared.post(FEEDBACK, content=chunks(), headers=JSON)
    assert answer.status_code == 413


def test_every_answer_carries_the_headers(shared: TestClient) -> None:
    for path in ("/", "/page/main.js", f"{API}/status", "/nowhere", f"{API}/openapi.json"):
        headers = shared.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


def test_the_page_asks_nobody_else_and_holds_no_script_inside() -> None:
    for name, file in page_files().items():
        text = file.content.decode()
        assert "https://" not in text, name
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), name
        if name.endswith(".html"):
            assert "<style" not in text
            assert " style=" not in text
            assert " onclick=" not in text
            assert text.count("<script") == text.count('<script type="module" src="/page/')


def test_a_link_to_the_page_from_elsewhere_opens_it(shared: TestClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert shared.get("/", headers=headers).status_code == 200
    assert shared.get(f"{API}/status", headers=headers).status_code == 403


def test_loopback_is_known_by_all_its_names(shared: TestClient) -> None:
    for host in ("localhost", "localhost:1234", "127.0.0.1", "127.5.5.5:80", "[::1]:8765"):
        assert shared.get(f"{API}/status", headers={"Host": host}).status_code == 200
    for host in ("192.168.0.7", "10.0.0.1:8765"):
        assert shared.get(f"{API}/status", headers={"Host": host}).status_code == 403


def test_with_a_token_nobody_enters_without(guarded: Callable[..., TestClient]) -> None:
    client = guarded(token="quite-a-long-token", beyond=True)
    refused = client.get(f"{API}/status")
    assert (refused.status_code, refused.json()["kind"]) == (401, "no-token")
    assert "visterm serve" in client.get("/").text
    assert client.get("/").status_code == 401
    assert client.get("/page/style.css").status_code == 200
    bearer = {"Authorization": "Bearer quite-a-long-token"}
    assert client.get(f"{API}/status", headers=bearer).status_code == 200
    entered = client.get("/?token=quite-a-long-token")
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert client.get(f"{API}/status").status_code == 200, "the cookie lets in"


def test_whoever_guesses_tokens_must_wait_and_a_right_one_is_let_in_all_the_same(
    guarded: Callable[..., TestClient],
) -> None:
    client = guarded(token="quite-a-long-token")

    def tried(token: str) -> int:
        bearer = {"Authorization": f"Bearer {token}"}
        return client.get(f"{API}/status", headers=bearer).status_code

    codes = [tried(f"wrong-{number}") for number in range(15)]
    assert codes[0] == 401
    assert codes[-1] == 429
    assert tried("quite-a-long-token") == 200, "else a stranger behind one proxy locks all out"
    assert tried("wrong-again") == 429


def test_an_old_page_that_asks_on_with_its_old_token_locks_nobody_out(
    guarded: Callable[..., TestClient],
) -> None:
    client = guarded(token="quite-a-long-token")
    old = {"Authorization": "Bearer the-token-before"}
    assert {client.get(f"{API}/status", headers=old).status_code for _ in range(15)} == {401}
    assert client.get("/?token=quite-a-long-token").status_code == 303


def test_every_token_is_compared_whole_and_in_constant_time(
    guarded: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "quite-a-long-token"
    client = guarded(token=token)
    compared: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, wanted: bytes) -> bool:
        compared.append((given, wanted))
        return hmac.compare_digest(given, wanted)

    monkeypatch.setattr(security, "hmac", SimpleNamespace(compare_digest=compare))
    for given in ("q", token[:-1], token[:-1] + "x", token * 9, token):
        for path, headers in (
            (f"{API}/status", {"Authorization": f"Bearer {given}"}),
            (f"{API}/status", {"Cookie": f"visterm={given}"}),
            (f"/?token={given}", {}),
        ):
            answer = client.get(path, headers=headers)
            assert compared == [(given.encode(), token.encode())], (path, headers)
            assert (answer.status_code < 400) == (given == token)
            compared.clear()


def test_a_token_allows_what_it_is_for_and_no_more(guarded: Callable[..., TestClient]) -> None:
    tokens = {"token-for-reading": "read", "token-for-judging": "judge"}
    client = guarded(token="token-for-all-things", tokens=tokens, most_writes_at_once=100)
    calls = (
        ("GET", f"{API}/search?query=sea", None, "read"),
        ("POST", f"{API}/export", {"pictures": [1]}, "read"),
        ("DELETE", f"{FEEDBACK}/424242", None, "judge"),
        ("PUT", f"{API}/pictures/777777/captions", {"text": "sea"}, "judge"),
        ("DELETE", f"{API}/files/nothing.jpg", None, "write"),
        ("DELETE", f"{API}/train", None, "write"),
    )
    for token, right in {**tokens, "token-for-all-things": "write"}.items():
        for method, path, body, needed in calls:
            bearer = {"Authorization": f"Bearer {token}"}
            answer = client.request(method, path, json=body, headers=bearer)
            allowed = security.RIGHTS.index(right) >= security.RIGHTS.index(needed)  # type: ignore[arg-type]
            assert (answer.status_code != 403) == allowed, (token, path, answer.text)
    assert client.get(f"{API}/status").status_code == 401


def test_a_token_for_judging_undoes_what_was_said_and_nothing_else(own: Path) -> None:
    rules = Rules(token="token-for-all-things", tokens={"token-for-judging": "judge"})
    where = {"base_url": "http://127.0.0.1:8765", "client": ("127.0.0.1", 50000)}
    with TestClient(make_app(own, rules=rules), **where) as client:  # type: ignore[arg-type]

        def asked(token: str, method: str, path: str, body: object = None) -> int:
            bearer = {"Authorization": f"Bearer {token}"}
            return client.request(method, f"{API}/{path}", json=body, headers=bearer).status_code

        judge, write = "token-for-judging", "token-for-all-things"
        assert asked(judge, "PUT", "pictures/1/captions", {"text": "lisbon"}) == 200
        assert asked(judge, "DELETE", "many") == 200
        assert asked(write, "PUT", "pictures/1/fields", {"fields": {"price": 1}}) == 200
        assert asked(judge, "DELETE", "many") == 403
        assert asked(write, "DELETE", "many") == 200


def test_a_token_for_reading_learns_no_path_of_the_server(
    guarded: Callable[..., TestClient], taught_folder: Path
) -> None:
    client = guarded(token="token-for-all-things", tokens={"token-for-reading": "read"})
    for token, starts in (("token-for-reading", "alps"), ("token-for-all-things", "/")):
        bearer = {"Authorization": f"Bearer {token}"}
        path = f"alps/{min(file.name for file in (taught_folder / 'alps').iterdir())}"
        found = client.get(f"{API}/files/{path}", headers=bearer).json()
        assert found["location"].startswith(starts)


def test_beyond_loopback_addresses_and_given_names_are_known(
    guarded: Callable[..., TestClient],
) -> None:
    client = guarded(token="quite-a-long-token", beyond=True, names=frozenset({"attic.local"}))
    bearer = {"Authorization": "Bearer quite-a-long-token"}
    for host, code in (("192.168.0.7:8765", 200), ("attic.local", 200), ("evil.example", 403)):
        answer = client.get(f"{API}/status", headers=bearer | {"Host": host})
        assert answer.status_code == code, host


def test_writes_are_limited_and_reads_are_not(guarded: Callable[..., TestClient]) -> None:
    client = guarded(writes_a_second=0.001, most_writes_at_once=3)
    codes = [client.delete(f"{FEEDBACK}/1").status_code for _ in range(5)]
    assert codes == [404, 404, 404, 429, 429]
    assert client.get(f"{API}/status").status_code == 200


def test_buckets_of_many_clients_do_not_fill_the_memory() -> None:
    bucket = Bucket(rate=1, size=1, most=100)
    for number in range(1000):
        bucket.take(str(number))
    assert len(bucket._left) == 100


def test_changes_at_the_same_time_are_made_one_after_the_other(client: TestClient) -> None:
    """Twenty clients judge and caption together; nothing is lost and nothing fails."""
    pictures = [one["picture"] for one in client.get(f"{API}/pictures?k=10").json()["results"]]
    codes: list[int] = []

    def change(picture: int, relevant: bool) -> None:
        body = {"query": "sea", "picture": picture, "relevant": relevant}
        codes.append(client.post(FEEDBACK, json=body).status_code)
        caption = {"text": f"sea number {picture}"}
        codes.append(client.put(f"{API}/pictures/{picture}/captions", json=caption).status_code)

    threads = [
        threading.Thread(target=change, args=(picture, relevant))
        for picture in pictures
        for relevant in (True, False)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(codes)) == [200, 201]
    assert client.get(f"{API}/status").json()["judgements"] == len(pictures)
    for picture in pictures:
        said = client.get(f"{API}/pictures/{picture}/captions").json()["caption"]
        assert said == f"sea number {picture}"


def test_an_unexpected_error_is_one_sentence_without_its_reason(
    client: TestClient, own: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Nobody foresees this, and every thread meets it, whatever it has open already.
    with sqlite3.connect(own / ".visterm" / "catalogue.sqlite") as db:
        db.execute("DROP TABLE pictures")
    answer = client.get(f"{API}/status")
    assert answer.status_code == 500
    assert "Traceback" not in answer.text
    assert answer.json()["kind"] == "failed"

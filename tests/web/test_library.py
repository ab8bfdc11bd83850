"""Many pictures, teaching, words, near-duplicates and other front ends, over HTTP."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.drawn_videos import encode
from PIL import Image
from starlette.testclient import TestClient

from visterm.collection import Collection

API = "/api/v1"


def numbers(client: TestClient, query: str, k: int = 20) -> list[int]:
    found = client.get(f"{API}/search", params={"query": query, "k": k}).json()
    return [one["picture"] for one in found["results"]]


def test_a_step_of_many_pictures_and_its_undo(client: TestClient) -> None:
    before = numbers(client, "sea", 60)
    some = before[5:15]
    body = {"pictures": some, "query": "sea", "relevant": False}
    assert client.post(f"{API}/many", json=body).json()["changed"] == 10
    assert numbers(client, "sea", 60) != before
    body = {"pictures": some, "caption": "lisbon"}
    assert client.post(f"{API}/many", json=body).json()["changed"] == 10
    assert set(numbers(client, "lisbon")) == set(some)
    undone = [client.delete(f"{API}/many").json() for _ in range(2)]
    assert undone == [
        {"changed": 10, "what": "caption"},
        {"changed": 10, "what": "answer to 'sea'"},
    ]
    assert numbers(client, "sea", 60) == before
    assert client.delete(f"{API}/many").json() == {"changed": 180, "what": "caption"}  # a table
    assert client.delete(f"{API}/many").status_code == 422
    assert client.post(f"{API}/many", json={"pictures": some}).status_code == 422


def test_pictures_are_exported_as_text(shared: TestClient) -> None:
    some = numbers(shared, "sea", 3)
    listed = shared.post(f"{API}/export", json={"pictures": some}).text.splitlines()
    assert len(listed) == 3
    table = shared.post(f"{API}/export", json={"pictures": some, "kind": "csv"}).text
    assert table.startswith("path,caption,taken")
    assert shared.post(f"{API}/export", json={"pictures": [], "kind": "csv"}).status_code == 422


def test_a_round_of_teaching(client: TestClient) -> None:
    asked = client.get(f"{API}/teach", params={"query": "tree"}).json()["results"]
    assert len(asked) == 10
    answers = {str(one["picture"]): "tree" in (one["caption"] or "") for one in asked}
    report = client.post(f"{API}/teach", json={"query": "tree", "answers": answers}).json()
    assert report["answers"] == 10
    assert report["after"] is not None
    again = client.get(f"{API}/teach", params={"query": "tree"}).json()["results"]
    assert not {str(one["picture"]) for one in again} & set(answers)


def test_doubtful_captions_are_corrected_as_one_step(client: TestClient) -> None:
    best = numbers(client, "sea", 60)
    for number, text in ((best[0], "nothing of it"), (best[-1], "sea")):
        client.put(f"{API}/pictures/{number}/captions", json={"text": text})
    found = client.get(f"{API}/review", params={"query": "sea"}).json()["results"]
    doubts = {one["picture"]: one for one in found}
    assert (doubts[best[0]]["holds"], doubts[best[-1]]["holds"]) == (False, True)
    assert not any(one["is_likely"] and one["holds"] and one["probability"] > 0.05 for one in found)
    for wrong in ("-sea", "sea tree", "qqqq"):
        body = {"query": wrong, "answers": {str(best[0]): True}}
        assert client.post(f"{API}/review", json=body).status_code == 422, wrong
    body = {"query": "sea", "answers": {str(best[0]): True, str(best[-1]): False}}
    assert (
        client.post(f"{API}/review", json=body).json()["changed"] == 1
    )  # of "sea" nothing is left
    caption = client.get(f"{API}/pictures/{best[0]}/captions").json()["caption"]
    assert caption == "nothing of it\nsea"
    again = client.get(f"{API}/review", params={"query": "sea"}).json()["results"]
    assert not {one["picture"] for one in again} & {best[0], best[-1]}
    client.delete(f"{API}/many")
    assert client.get(f"{API}/review", params={"query": "sea"}).json()["results"] == found
    assert client.get(f"{API}/review", params={"query": "zeppelin"}).status_code == 422


def test_a_page_of_a_word(shared: TestClient) -> None:
    found = shared.get(f"{API}/words/sea").json()
    assert found["known"]
    assert found["captions"] > 10
    assert 0 < found["avgp"] <= 1
    assert "sea" not in found["nearest"]
    assert all("sea" in one["caption"] for one in found["examples"][:3])
    assert shared.get(f"{API}/words/xyzzy").status_code == 422


def test_years_and_types_narrow_and_sort(shared: TestClient) -> None:
    filters = shared.get(f"{API}/filters").json()["filters"]
    assert {"kind": "folder", "term": "in:alps", "count": 20} in filters
    found = shared.get(f"{API}/search", params={"sort": "time", "k": 5}).json()
    assert len(found["results"]) == 5
    assert found["results"][0]["taken_from"] == "file"
    narrowed = shared.get(f"{API}/search", params={"query": "sea type:video"}).json()
    assert (narrowed["results"], narrowed["conditions"]) == ([], ["that are videos"])


def test_a_video_is_shown_by_the_frame_that_answers(client: TestClient, own: Path) -> None:
    pytest.importorskip("av")
    scenes = sorted(own.glob("*.jpg"))[:3]
    encode(own / "film.mp4", scenes)
    with Collection.open(own) as collection:
        assert collection.add().new == 1
    (video,) = client.get(f"{API}/search", params={"query": "sea type:video"}).json()["results"]
    assert (video["type"], video["width"], video["height"]) == ("video", 72, 48)
    assert video["frame_time"] in (0, 2, 4)
    shown = client.get(f"{video['thumbnail']}&side=160")
    drawn = np.asarray(Image.open(scenes[int(video["frame_time"]) // 2]).convert("RGB"), int)
    still = np.asarray(Image.open(io.BytesIO(shown.content)), int)
    assert np.abs(still - drawn).mean() < 20
    assert client.get(f"{API}/pictures/{video['picture']}/words").json()["words"]
    body = {"query": "sea", "picture": video["picture"], "relevant": True}
    assert client.post(f"{API}/feedback", json=body).status_code == 201


def test_a_dropped_picture_finds_its_like(client: TestClient, own: Path) -> None:
    data = (own / "scene-0003.jpg").read_bytes()
    body = {"image": base64.b64encode(data).decode(), "k": 3}
    found = client.post(f"{API}/like", json=body).json()["results"]
    assert found[0]["path"] == "scene-0003.jpg"
    assert client.post(f"{API}/like", json={"image": "no picture"}).status_code == 422
    wrong = base64.b64encode(b"no picture at all").decode()
    refused = client.post(f"{API}/like", json={"image": wrong})
    assert (refused.status_code, refused.json()["kind"]) == (422, "bad-input")
    assert refused.json()["error"].startswith("the picture that was sent: it is not a picture")


def test_near_duplicates_are_those_of_the_last_job(shared: TestClient) -> None:
    assert shared.get(f"{API}/duplicates").json() == {"groups": [], "total": 0, "up_to_date": False}


def test_a_front_end_of_ones_own_may_ask_if_it_is_named(
    guarded: Callable[..., TestClient],
) -> None:
    client = guarded(origins=frozenset({"http://localhost:3000"}))
    own = {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "cross-site"}
    allowed = client.get(f"{API}/status", headers=own)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == "http://localhost:3000"
    assert allowed.headers["cross-origin-resource-policy"] == "cross-origin"
    preflight = own | {"Access-Control-Request-Method": "PUT"}
    asked = client.options(f"{API}/feedback", headers=preflight)
    assert asked.status_code == 200
    assert "PUT" in asked.headers["access-control-allow-methods"]
    other = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    refused = client.get(f"{API}/status", headers=other)
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers

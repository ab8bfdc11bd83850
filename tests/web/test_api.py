"""The API as a program meets it: every operation, what it answers, and what it changes."""

from __future__ import annotations

import io
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient
from tests.readers import reading_by

from visterm.collection import Collection, SearchRequest
from visterm.compute import LocalReplicas
from visterm.pictures.sandbox import Readers
from visterm.web.app import make_app

API = "/api/v1"


def found(client: TestClient, query: str, **asked: object) -> dict:
    answer = client.get(f"{API}/search", params={"query": query, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


def order(client: TestClient, query: str, k: int = 60) -> list[int]:
    return [one["picture"] for one in found(client, query, k=k)["results"]]


def test_a_search_gives_what_the_collection_gives(shared: TestClient, taught_folder: Path) -> None:
    answer = found(shared, "sea boat", k=5)
    with Collection.open(taught_folder) as collection:
        own = collection.search("sea boat", 5)
    assert [one["picture"] for one in answer["results"]] == [one.picture for one in own.results]
    assert [one["score"] for one in answer["results"]] == pytest.approx(
        [one.score for one in own.results]
    )
    assert [one["probability"] for one in answer["results"]] == [
        one.probability for one in own.results
    ]
    assert answer["cutoff"] == own.cutoff
    assert answer["more"] is True
    first = answer["results"][0]
    assert (first["width"], first["height"]) == (72, 48)
    assert not first["path"].startswith("/")


def test_an_answer_without_some_shard_says_how_much_was_searched(
    shared: TestClient, sharded: TestClient, shards: LocalReplicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = found(sharded, "sea boat")
    assert whole == found(shared, "sea boat")
    assert whole["partial"] is None
    monkeypatch.setattr(shards, "ask", lambda method, arguments: [None, None])
    none = found(sharded, "sea boat")
    assert none["partial"] == {"searched": 0, "pictures": 200}
    assert (none["results"], none["more"]) == ([], False)


def test_pages_follow_each_other_without_gap_or_overlap(shared: TestClient) -> None:
    whole = order(shared, "sky", k=200)
    pages = [found(shared, "sky", k=40, offset=offset) for offset in range(0, 200, 40)]
    assert [one["picture"] for page in pages for one in page["results"]] == whole
    assert [page["more"] for page in pages] == [True, True, True, True, False]


def test_filters_are_what_the_query_language_says(shared: TestClient) -> None:
    in_folder = found(shared, "sky", folder="alps", k=200)["results"]
    assert in_folder == found(shared, "sky in:alps", k=200)["results"]
    assert {one["path"].split("/")[0] for one in in_folder} == {"alps"}
    without = found(shared, "sky", captioned="false", k=200)["results"]
    assert len(without) == 20
    assert all(one["caption"] is None for one in without)


def test_unknown_words_come_with_close_ones(shared: TestClient) -> None:
    assert found(shared, "sea zebra moutain")["replaced"] == {"moutain": ["mountain"]}
    answer = shared.get(f"{API}/search", params={"query": "boast"})
    assert answer.status_code == 422
    assert answer.json()["kind"] == "unknown-words"
    assert answer.json()["unknown"]["boast"][0] == "boat"


def test_all_pictures_come_newest_first_page_after_page(shared: TestClient) -> None:
    pages = [shared.get(f"{API}/pictures", params={"k": 100, "offset": o}).json() for o in (0, 100)]
    numbers = [one["picture"] for page in pages for one in page["results"]]
    assert numbers == sorted(numbers, reverse=True)
    assert len(numbers) == 200
    assert [page["more"] for page in pages] == [True, False]


def test_words_are_completed_with_how_many_captions_hold_them(
    shared: TestClient, taught_folder: Path
) -> None:
    words = shared.get(f"{API}/words", params={"start": "S", "k": 50}).json()["words"]
    assert all(one["word"].startswith("s") for one in words)
    counts = [one["captions"] for one in words]
    assert counts == sorted(counts, reverse=True)
    captions = (taught_folder.parent / "captions.tsv").read_text().splitlines()
    held = sum("snow" in line.split("\t")[1].split() for line in captions)
    assert next(one for one in words if one["word"] == "snow")["captions"] == held


def test_a_picture_by_number_has_its_files_and_captions(shared: TestClient) -> None:
    first = found(shared, "sea")["results"][0]
    details = shared.get(f"{API}/pictures/{first['picture']}").json()
    assert details["path"] == first["path"]
    assert details["captions"]["table"] == first["caption"]
    assert shared.get(f"{API}/pictures/999999").status_code == 404


def test_thumbnails_are_small_cached_and_tagged(shared: TestClient) -> None:
    one = found(shared, "sea")["results"][0]
    answer = shared.get(f"{one['thumbnail']}&side=160")
    assert answer.headers["content-type"] == "image/jpeg"
    with Image.open(io.BytesIO(answer.content)) as picture:
        assert picture.size == (72, 48)
        assert not picture.getexif()
    assert "immutable" in answer.headers["cache-control"]
    same = shared.get(
        f"{one['thumbnail']}&side=160", headers={"If-None-Match": answer.headers["etag"]}
    )
    assert (same.status_code, same.content) == (304, b"")
    # Without the content's name in the address, the browser has to ask each time.
    plain = shared.get(f"{API}/pictures/{one['picture']}/thumbnail")
    assert plain.headers["cache-control"] == "private, no-cache"


def test_a_file_that_changed_since_is_shown_but_never_kept(client: TestClient, own: Path) -> None:
    one = found(client, "sea")["results"][0]
    Image.new("RGB", (30, 30), (255, 0, 0)).save(own / one["path"])
    answer = client.get(one["thumbnail"])
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "private, no-store"
    assert "etag" not in answer.headers


def test_a_picture_whose_file_has_gone_says_so(client: TestClient, own: Path) -> None:
    one = found(client, "sea")["results"][0]
    (own / one["path"]).unlink()
    answer = client.get(one["thumbnail"])
    assert answer.status_code == 404
    assert "no such file" in answer.json()["error"]
    assert str(own) not in answer.json()["error"]
    assert found(client, "sea")["results"][0]["width"] == 72, "what was measured is remembered"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/pictures/3/captions", r'{"text": "half \ud83d"}'),
        ("POST", "/feedback", r'{"query": "sea \ud83d", "picture": 3, "relevant": true}'),
        ("POST", "/many", r'{"pictures": [3], "caption": "half \ud83d"}'),
        ("POST", "/teach", r'{"query": "sea \ud83d", "answers": {"3": true}}'),
    ],
)
def test_half_a_character_is_refused(shared: TestClient, method: str, path: str, body: str) -> None:
    as_json = {"content-type": "application/json"}
    refused = shared.request(method, f"{API}{path}", content=body, headers=as_json)
    assert (refused.status_code, refused.json()["kind"]) == (422, "bad-input")
    assert shared.get(f"{API}/status").json()["set_aside"] == []


def test_a_caption_is_set_read_and_taken_back(client: TestClient) -> None:
    number = found(client, "sea")["results"][0]["picture"]
    at = f"{API}/pictures/{number}/captions"
    before = client.get(at).json()
    said = client.put(at, json={"text": "  Ünusual boat  "}).json()
    assert said["captions"]["person"] == "Ünusual boat"
    assert said["caption"] == "Ünusual boat"
    assert client.get(at).json() == said
    assert client.get(f"{API}/words", params={"start": "ünu"}).json()["words"][0]["captions"] == 1
    assert client.put(at, json={"text": ""}).json() == before
    assert client.put(f"{API}/pictures/99999/captions", json={"text": "x"}).status_code == 404


def test_neighbours_are_the_collections_own(shared: TestClient, taught_folder: Path) -> None:
    one = found(shared, "sea")["results"][0]
    alike = shared.get(f"{API}/pictures/{one['picture']}/similar", params={"k": 4}).json()
    with Collection.open(taught_folder) as collection:
        own = collection.search(SearchRequest(like=taught_folder / one["path"], k=4))
    assert [n["picture"] for n in alike["results"]] == [n.picture for n in own.results]
    assert all(n["picture"] != one["picture"] for n in alike["results"])


def test_a_region_is_searched_for_as_in_python(shared: TestClient, taught_folder: Path) -> None:
    number = found(shared, "sea")["results"][0]["picture"]
    asked = {"like": number, "region": "0,0.5,1,1", "k": 6}
    ran = shared.get(f"{API}/search", params=asked).json()["results"]
    with Collection.open(taught_folder) as collection:
        own = collection.search(SearchRequest(like=number, region=(0, 0.5, 1, 1), k=6)).results
        whole = collection.search(SearchRequest(like=number, k=6)).results
    assert [(one["picture"], one["score"]) for one in ran] == [(n.picture, n.score) for n in own]
    assert [one["score"] for one in ran] != [n.score for n in whole]


@pytest.mark.parametrize("region", ["", "0,0,1", "a,b,c,d", "0,0,2,1", "nan,0,1,1"])
def test_a_region_that_is_none_is_refused(shared: TestClient, region: str) -> None:
    ran = shared.get(f"{API}/search", params={"like": 1, "region": region})
    assert ran.status_code == 422
    assert "region" in ran.json()["error"]
    assert shared.get(f"{API}/search", params={"region": "0,0,1,1"}).status_code == 422


def test_a_picture_says_its_likeliest_words(shared: TestClient) -> None:
    number = found(shared, "sea")["results"][0]["picture"]
    words = shared.get(f"{API}/pictures/{number}/words", params={"k": 5}).json()["words"]
    assert len(words) == 5
    assert "sea" in [one["word"] for one in words]


def test_why_takes_the_score_apart_exactly(shared: TestClient) -> None:
    for one in found(shared, "sea boat -night", k=3)["results"]:
        why = shared.get(
            f"{API}/pictures/{one['picture']}/why", params={"query": "sea boat -night"}
        ).json()
        assert {part["word"] for part in why["words"]} == {"sea", "boat", "night"}
        places = sum(np.sum(part["places"]) for part in why["words"])
        assert places + why["rest"] == pytest.approx(one["score"], rel=1e-4, abs=1e-5)
        for part in why["words"]:
            assert np.sum(part["places"]) == pytest.approx(part["total"])


def test_yes_and_no_change_the_order_and_undo_restores_it(client: TestClient) -> None:
    before = found(client, "sea boat", k=60)
    low = before["results"][25]["picture"]
    top = before["results"][0]["picture"]
    made = client.post(
        f"{API}/feedback", json={"query": "sea boat in:alps", "picture": low, "relevant": True}
    )
    assert made.status_code == 201
    assert made.json()["query"] == "sea boat"
    client.post(f"{API}/feedback", json={"query": "sea boat", "picture": top, "relevant": False})
    after = found(client, "sea boat", k=60)["results"]
    place = [one["picture"] for one in after].index(low)
    assert place < 25
    assert after[place]["judged"] is True
    listed = client.get(f"{API}/feedback", params={"query": "sea boat"}).json()
    assert [one["picture"] for one in listed["judgements"]] == [top, low]
    assert client.get(f"{API}/feedback", params={"query": "sea"}).json()["total"] == 0
    for one in listed["judgements"]:
        assert client.delete(f"{API}/feedback/{one['id']}").json() == {"undone": 1}
    assert found(client, "sea boat", k=60) == before
    assert client.delete(f"{API}/feedback/12345").status_code == 404


def test_a_quoted_or_given_name_is_taught_as_itself(client: TestClient) -> None:
    low = order(client, "sea")[25]
    for name in ("Rosa", '"Himmel"'):
        said = {"query": name, "picture": low, "relevant": True}
        assert client.post(f"{API}/feedback", json=said).status_code == 201
        answer = found(client, name, k=1)
        assert answer["replaced"] == {}
        assert answer["results"][0]["picture"] == low
        assert answer["results"][0]["judged"] is True
    assert order(client, "rosa")[0] == low


def test_all_answers_can_be_taken_back_at_once(client: TestClient) -> None:
    before = found(client, "sky", k=60)
    for place in (10, 20, 30):
        picture = before["results"][place]["picture"]
        client.post(f"{API}/feedback", json={"query": "sky", "picture": picture, "relevant": True})
    assert client.get(f"{API}/status").json()["judgements"] == 3
    assert client.delete(f"{API}/feedback").json() == {"undone": 3}
    assert found(client, "sky", k=60) == before


def test_training_tells_its_progress_and_searches_go_on(client: TestClient) -> None:
    number = found(client, "sea")["results"][0]["picture"]
    client.put(f"{API}/pictures/{number}/captions", json={"text": "sea boat lighthouse"})
    started = client.post(f"{API}/train", json={})
    assert (started.status_code, started.json()["state"]) == (202, "running")
    again = client.post(f"{API}/train", json={})
    assert (again.status_code, again.json()["kind"]) == (409, "locked")
    for text in ("first", "second"):  # nobody is refused: what cannot be done now waits
        said = client.put(f"{API}/pictures/{number}/captions", json={"text": text})
        assert said.status_code in (200, 202)
    assert len(order(client, "sea")) == 60, "readers never wait for a writer"
    told = events(client)
    assert [one["state"] for one in told][-1] == "done"
    assert max(one["total"] for one in told) > 0
    assert told[-1]["result"]["words"] > 10
    status = client.get(f"{API}/status").json()
    assert status["job"]["state"] == "done"
    assert client.get(f"{API}/train").json()["job"] == status["job"]
    assert client.get(f"{API}/pictures/{number}").json()["captions"]["person"] == "second"
    assert len(order(client, "sea")) == 60


def events(client: TestClient) -> list[dict]:
    with client.stream("GET", f"{API}/train/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = list(stream.iter_lines())
    assert "event: end" in lines
    return [json.loads(line[6:]) for line in lines if line.startswith('data: {"id"')]


def test_a_job_can_be_stopped(client: TestClient) -> None:
    client.post(f"{API}/train", json={"kind": "train"})
    assert client.delete(f"{API}/train").status_code == 200
    assert events(client)[-1]["state"] == "stopped"
    assert len(order(client, "sea")) == 60


def test_new_pictures_are_found_by_a_job(client: TestClient, own: Path) -> None:
    shutil.copy2(next(own.glob("*.jpg")), own / "again.jpg")
    Image.new("RGB", (64, 48), (10, 200, 30)).save(own / "green.png")
    assert client.get(f"{API}/status").json()["up_to_date"] is False
    client.post(f"{API}/train", json={"kind": "add"})
    assert events(client)[-1]["result"]["new"] == 1
    assert client.get(f"{API}/status").json()["pictures"] == 201
    newest = client.get(f"{API}/pictures", params={"k": 1}).json()["results"][0]
    assert newest["path"] == "green.png"
    assert (newest["width"], newest["height"]) == (64, 48)


def test_an_empty_collection_answers_everything_with_what_to_do(empty: TestClient) -> None:
    assert empty.get(f"{API}/status").json()["pictures"] == 0
    assert empty.get(f"{API}/pictures").json()["results"] == []
    assert empty.get(f"{API}/words").json() == {"words": []}
    answer = empty.get(f"{API}/search", params={"query": "sea"})
    assert (answer.status_code, answer.json()["kind"]) == (409, "nothing-learnt")
    empty.post(f"{API}/train", json={})
    assert "there are no pictures yet" in events(empty)[-1]["error"]


def test_a_collection_trained_elsewhere_is_seen_at_the_next_search(
    client: TestClient, own: Path
) -> None:
    before = order(client, "sea")
    with Collection.open(own) as collection:
        collection.train(force=True, C=0.001)
        new = [one.picture for one in collection.search("sea", 60).results]
    assert order(client, "sea") == new != before


def test_the_api_says_which_words_were_replaced(shared: TestClient) -> None:
    answer = shared.get("/api/v1/search", params={"query": "ocean"}).json()
    assert answer["replaced"] == {"ocean": ["sea"]}
    assert answer["unknown"] == {}


def test_good_likeness_and_sentences_are_asked_for_by_parameters(client: TestClient) -> None:
    def found(**parameters: Any) -> list[int]:
        answer = client.get("/api/v1/search", params={"k": 200, **parameters}).json()
        return [one["picture"] for one in answer["results"]]

    whole = client.get("/api/v1/search", params={"query": "sea", "k": 200}).json()
    assert found(query="sea", good=True) == found(query="sea")[: whole["cutoff"]]
    like = found(like=5)
    assert 5 not in like
    assert sorted([5, *like]) == sorted(found(query="sea"))
    assert found(query="sea", like=5) not in (like, found(query="sea"))


def test_a_parameter_that_does_not_exist_is_refused(shared: TestClient) -> None:
    ran = shared.get("/api/v1/search", params={"query": "sea", "spcae": "lsa"})
    assert ran.status_code == 422
    assert "no parameter is called 'spcae'" in ran.json()["error"]
    assert shared.get("/api/v1/status", params={"k": 1}).status_code == 422


def test_a_thumbnail_whose_decoder_dies_costs_itself_and_a_bomb_gives_a_reason(
    client: TestClient, own: Path
) -> None:
    dies = "import os, sys; print('{}', flush=True); sys.stdin.readline(); os.abort()"
    dying = (sys.executable, "-c", dies)
    with reading_by(Readers(1, command=dying)):
        answer = client.get("/api/v1/pictures/3/thumbnail")
        assert (answer.status_code, answer.json()["kind"]) == (404, "unreadable")
        assert "crashes the decoder" in answer.json()["error"]
    assert client.get("/api/v1/pictures/3/thumbnail").status_code == 200
    one = found(client, "sea")["results"][0]
    Image.new("1", (20_000, 20_000)).save(own / one["path"], "PNG")
    answer = client.get(one["thumbnail"])
    assert answer.status_code == 404
    assert "pixels" in answer.json()["error"]


def test_status_does_not_say_where_on_the_machine_the_pictures_lie(shared: TestClient) -> None:
    answer = shared.get(f"{API}/status")
    assert (answer.json()["folder"], answer.json()["store"]) == ("holidays", ".visterm")
    assert "/holidays" not in answer.text


def test_status_says_whether_changes_of_the_folder_are_noticed(tmp_path: Path) -> None:
    folder, away = tmp_path / "pictures", tmp_path / "away"
    folder.mkdir()
    app = make_app(folder, store=tmp_path / "store", watches=True)
    with TestClient(app, base_url="http://127.0.0.1") as client:

        def until(is_watching: bool) -> None:
            for _ in range(400):
                if client.get(f"{API}/status").json()["watching"] is is_watching:
                    return
                time.sleep(0.05)
            pytest.fail(f"watching is not {is_watching}")

        until(True)
        folder.rename(away)
        until(False)
        away.rename(folder)
        until(True)
    with TestClient(make_app(folder), base_url="http://127.0.0.1") as client:
        assert client.get(f"{API}/status").json()["watching"] is False, "nobody asked for it"


def test_words_to_begin_with_are_shown_by_their_pictures(shared: TestClient) -> None:
    words = shared.get(f"{API}/suggestions", params={"k": 4}).json()["words"]
    assert 0 < len(words) <= 4
    assert len({one["picture"]["picture"] for one in words}) == len(words)
    assert [one["probability"] for one in words] == sorted(
        (one["probability"] for one in words), reverse=True
    )
    for one in words:
        said = shared.get(f"{API}/pictures/{one['picture']['picture']}/words").json()["words"]
        assert one["word"] in {word["word"] for word in said}


def test_an_empty_collection_has_no_words_to_begin_with(empty: TestClient) -> None:
    assert empty.get(f"{API}/suggestions").json() == {"words": []}


def test_the_original_file_is_shown_or_kept_as_it_is(client: TestClient, own: Path) -> None:
    picture = order(client, "sea", 1)[0]
    path = Path(client.get(f"{API}/pictures/{picture}").json()["location"])
    shown = client.get(f"{API}/pictures/{picture}/original")
    assert shown.content == path.read_bytes()
    assert shown.headers["content-type"] == "image/jpeg"
    assert shown.headers["content-disposition"].startswith("inline")
    kept = client.get(f"{API}/pictures/{picture}/original", params={"download": True})
    assert kept.headers["content-disposition"].startswith("attachment")
    path.unlink()
    assert client.get(f"{API}/pictures/{picture}/original").status_code >= 400
    assert client.get(f"{API}/pictures/999999/original").status_code == 404

"""Changes in a process of their own: the same answers, seen at once, and one that is killed."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest
from starlette.testclient import TestClient

from visterm.collection import Collection, Queued
from visterm.collection.store import events
from visterm.errors import VistermError
from visterm.web import change_process, problems
from visterm.web.change_process import ChangeProcess, Interrupted, answer_to
from visterm.web.reader_pool import Busy

API = "/api/v1"
CLICK = {"query": "sea", "picture": 20, "relevant": True}
CHANGES: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/feedback", CLICK),
    ("POST", "/feedback", {"query": "moutain", "picture": 3, "relevant": False}),
    ("POST", "/feedback", {"query": '"sea', "picture": 3, "relevant": True}),
    ("POST", "/feedback", {**CLICK, "picture": 99999}),
    ("PUT", "/pictures/7/captions", {"text": "an Ünusual boat\nat sea"}),
    ("POST", "/many", {"pictures": [4, 5], "query": "sky", "relevant": False}),
    ("POST", "/many", {"pictures": [4, 5], "caption": "lisbon", "more": True}),
    ("DELETE", "/many", None),
    ("POST", "/teach", {"query": "tree", "answers": {"8": True, "9": False}}),
    ("DELETE", "/feedback/1", None),
    ("DELETE", "/many", None),
    ("DELETE", "/many", None),
)
READ = ("/search?query=sea%20sky%20tree&k=200", "/words?start=%C3%BCnu", "/pictures/7/captions")


def child_of(client: TestClient) -> subprocess.Popen[bytes]:
    return client.app.app.state.server.readers.change_process.begin()  # type: ignore[attr-defined]


def answers(client: TestClient) -> list[tuple[int, Any]]:
    """What comes of all changes, and what is read after each of them."""
    found = []
    for method, path, body in CHANGES:
        changed = client.request(method, f"{API}{path}", json=body)
        found.append((changed.status_code, {**changed.json(), "time": None}))
        found += [(one.status_code, one.json()) for one in map(client.get, map(API.__add__, READ))]
    return found


def test_it_answers_as_the_server_itself_would_and_searches_see_each_change(
    client: TestClient, elsewhere: TestClient
) -> None:
    found = answers(elsewhere)
    assert found == answers(client)
    assert {status for status, _ in found} == {200, 201, 404, 422}
    assert any(said.get("unknown") == {"moutain": ["mountain"]} for _, said in found)
    rankings = [json.dumps(said) for _, said in found if "cutoff" in said]
    assert len(set(rankings)) > 5


def test_what_waited_for_another_writer_is_mended_there(own: Path) -> None:
    process = ChangeProcess(own, own / ".visterm")
    with Collection.open(own) as writer:
        with writer.catalogue.writing("a long job"):
            assert isinstance(process.submit("caption", picture=7, text="lisbon"), Queued)
        process.mend()
        assert (writer.waiting, writer.captions(7)["person"]) == (0, "lisbon")
    process.close()


def test_one_that_is_killed_in_the_middle_costs_one_declared_answer(
    elsewhere: TestClient, tmp_path: Path
) -> None:
    def click() -> tuple[int, str | None]:
        answer = elsewhere.post(f"{API}/feedback", json=CLICK)
        assert "retry-after" not in answer.headers  # which would do twice what may be done
        return answer.status_code, answer.json().get("kind")

    child = child_of(elsewhere)
    os.kill(child.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as person:
        clicked = person.submit(click)
        assert child.stdin is not None
        while not any(fcntl.ioctl(child.stdin, termios.FIONREAD, bytes(4))):
            time.sleep(0.01)  # until it was asked
        with Collection.open(tmp_path / "elsewhere" / "holidays") as collection:
            events.put(collection.catalogue, "caption", {"picture": 7, "text": "lisbon"})
        child.kill()
        assert clicked.result() == (503, "interrupted")
    assert elsewhere.get(f"{API}/pictures/7/captions").json()["caption"] == "lisbon"
    assert elsewhere.get(f"{API}/feedback").json()["total"] == 0
    assert click() == (201, None)
    assert elsewhere.get(f"{API}/feedback").json()["total"] == 1


@pytest.mark.skipif(not hasattr(os, "nice"), reason="priorities are others here")
def test_searches_come_before_clicks_and_those_before_jobs(elsewhere: TestClient) -> None:
    assert elsewhere.post(f"{API}/feedback", json=CLICK).status_code == 201
    changing, jobs = child_of(elsewhere), elsewhere.app.app.state.server.jobs  # type: ignore[attr-defined]
    elsewhere.post(f"{API}/train", json={})
    while not elsewhere.get(f"{API}/train").json()["job"]["what"]:
        time.sleep(0.01)  # until it has begun
    every = (0, changing.pid, jobs._process.pid)
    own, change, job = (os.getpriority(os.PRIO_PROCESS, one) for one in every)
    assert own < change < job


def test_one_that_is_killed_while_nobody_asks_costs_nothing(elsewhere: TestClient) -> None:
    child = child_of(elsewhere)
    child.kill()
    child.wait()
    assert elsewhere.post(f"{API}/feedback", json=CLICK).status_code == 201


def test_it_ends_when_its_server_has_gone_and_answers_in_order(own: Path) -> None:
    asked = [["caption", {"picture": 1, "text": f"boat {n}"}] for n in range(2)]
    ran = subprocess.run(
        [sys.executable, "-m", change_process.__name__, str(own)],
        input="".join(f"{json.dumps(one)}\n" for one in [*asked, ["undo", {"number": 9}]]),
        capture_output=True,
        text=True,
        check=True,
    )
    *done, refused = map(json.loads, ran.stdout.splitlines())
    assert done == [{"result": None}] * 2
    assert (refused["kind"], ran.stderr) == ("BadInput", "")
    with Collection.open(own) as collection:
        assert collection.captions(1)["person"] == "boat 1"


def test_after_its_end_nothing_is_begun(own: Path) -> None:
    process = ChangeProcess(own, None)
    child = process.begin()
    process.close()
    assert child.returncode == 0
    with pytest.raises(Interrupted, match="say it again"):
        process.mend()


def test_a_mistake_of_ours_is_one_for_the_log() -> None:
    def broken() -> NoReturn:
        raise ZeroDivisionError("far away")

    said = json.loads(answer_to(b'["mend", {}]', broken))
    with pytest.raises(RuntimeError, match="ZeroDivisionError: far away"):
        change_process._result(said)


def test_every_error_that_the_api_tells_apart_comes_back_as_itself() -> None:
    told_apart = {one for one, _, _ in problems._ANSWERS} - {Busy, Interrupted}
    assert told_apart == {*change_process.ERRORS.values(), VistermError}

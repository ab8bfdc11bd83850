"""The one writer: the answers of the collection itself, seen at once, and kills in the middle."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest
from starlette.testclient import TestClient

from visterm.collection import Collection, Queued
from visterm.collection.store import events
from visterm.errors import VistermError
from visterm.web import problems, writer
from visterm.web.thread_pool import Busy
from visterm.web.writer import Interrupted, Writer, WriterProcess, answer_to

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


def writer_of(client: TestClient) -> Writer:
    return client.app.app.state.server.writer  # type: ignore[attr-defined]


def child_of(client: TestClient) -> subprocess.Popen[bytes]:
    return writer_of(client).process.begin()


def test_what_it_answers_is_what_the_collection_does_and_searches_see_each_change(
    client: TestClient,
) -> None:
    answers = []
    for method, path, body in CHANGES:
        changed = client.request(method, f"{API}{path}", json=body)
        answers.append((changed.status_code, changed.json()))
        read = map(client.get, map(API.__add__, READ))
        answers += [(one.status_code, one.json()) for one in read]
    assert [status for status, _ in answers[:: 1 + len(READ)]] == [
        *(201, 422, 422, 404, 200, 200, 200, 200, 200, 200, 200, 200)
    ]
    assert any(said.get("unknown") == {"moutain": ["mountain"]} for _, said in answers)
    rankings = [json.dumps(said) for _, said in answers if "cutoff" in said]
    assert len(set(rankings)) > 5
    assert any("ünusual" in json.dumps(said, ensure_ascii=False) for _, said in answers)


def test_what_waited_for_another_writer_is_mended_there(own: Path) -> None:
    with Collection.open(own) as other, WriterProcess(own, own / ".visterm") as process:
        with other.catalogue.writing("a long job"):
            asked = process.ask("caption", {"picture": 7, "text": "lisbon"})
            assert isinstance(asked, Queued)
        process.ask("catch_up")
        assert (other.waiting, other.captions(7)["person"]) == (0, "lisbon")


def test_one_that_is_killed_in_the_middle_costs_one_declared_answer(
    client: TestClient, own: Path
) -> None:
    def click() -> tuple[int, str | None]:
        answer = client.post(f"{API}/feedback", json=CLICK)
        assert "retry-after" not in answer.headers  # which would do twice what may be done
        return answer.status_code, answer.json().get("kind")

    child = child_of(client)
    os.kill(child.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as person:
        clicked = person.submit(click)
        assert child.stdin is not None
        while not any(fcntl.ioctl(child.stdin, termios.FIONREAD, bytes(4))):
            time.sleep(0.01)  # until it was asked
        with Collection.open(own) as collection:
            events.put(collection.catalogue, "caption", {"picture": 7, "text": "lisbon"})
        child.kill()
        assert clicked.result() == (503, "interrupted")
    assert client.get(f"{API}/pictures/7/captions").json()["caption"] == "lisbon"
    assert client.get(f"{API}/feedback").json()["total"] == 0
    assert click() == (201, None)
    assert client.get(f"{API}/feedback").json()["total"] == 1


@pytest.mark.skipif(not hasattr(os, "nice"), reason="priorities are others here")
def test_searches_come_before_clicks_and_those_before_jobs(client: TestClient) -> None:
    assert client.post(f"{API}/feedback", json=CLICK).status_code == 201
    child = child_of(client)
    own, change = (os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, child.pid))
    job = change
    client.post(f"{API}/train", json={})
    with contextlib.suppress(ProcessLookupError):
        while child.returncode is None:  # it ends with the job
            job = max(job, os.getpriority(os.PRIO_PROCESS, child.pid))
            time.sleep(0.001)
    assert own < change < job


def test_what_is_said_during_a_job_waits_for_its_end_even_if_it_is_killed(
    client: TestClient,
) -> None:
    assert client.post(f"{API}/train", json={}).status_code == 202
    said = client.put(f"{API}/pictures/7/captions", json={"text": "lisbon"})
    assert (said.status_code, said.json()) == (202, {"queued": True})
    missing = client.put(f"{API}/pictures/99999/captions", json={"text": "lisbon"})
    assert missing.status_code == 404, "who says something wrong hears of it at once"
    child_of(client).kill()
    assert '"state":"stopped"' in client.get(f"{API}/train/events").text
    other = client.put(f"{API}/pictures/8/captions", json={"text": "porto"})
    assert other.status_code == 200
    assert client.get(f"{API}/pictures/7/captions").json()["caption"] == "lisbon"


def test_nobody_waits_until_all_that_was_said_during_a_job_is_done(tmp_path: Path) -> None:
    is_catching_up, may_end = threading.Event(), threading.Event()

    class Slow(WriterProcess):
        def ask(self, verb: str, *_: Any, **__: Any) -> Any:
            if verb == "catch_up":
                is_catching_up.set()
                assert may_end.wait(60)

    made = Writer(tmp_path, tmp_path)
    made.process = Slow(tmp_path, tmp_path)
    made.start("duplicates")
    assert is_catching_up.wait(60)
    assert made.submit("caption", {"picture": 1, "text": "sea"}) is None, "the log takes it"
    may_end.set()
    while made.is_at_work:
        time.sleep(0.001)
    later = made.submit("caption", {"picture": 1, "text": "sea"})
    assert later is not None
    assert later.result(60) is None
    made.close()


def test_one_that_is_killed_while_nobody_asks_costs_nothing(client: TestClient) -> None:
    child = child_of(client)
    child.kill()
    child.wait()
    assert client.post(f"{API}/feedback", json=CLICK).status_code == 201


def test_it_ends_when_its_server_has_gone_and_answers_in_order(own: Path) -> None:
    asked = [["caption", {"picture": 1, "text": f"boat {n}"}] for n in range(2)]
    ran = subprocess.run(
        [sys.executable, "-m", writer.__name__, str(own), str(own / ".visterm")],
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
    with WriterProcess(own, own / ".visterm") as process:
        child = process.begin()
    assert child.returncode == 0
    with pytest.raises(Interrupted, match="say it again"):
        process.ask("catch_up")


def test_a_mistake_of_ours_is_one_for_the_log() -> None:
    def broken() -> NoReturn:
        raise ZeroDivisionError("far away")

    answer = answer_to(b'["catch_up", {}]', broken)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: far away"):
        writer._result(answer)


def test_every_error_that_the_api_tells_apart_comes_back_as_itself() -> None:
    of_the_server = {Busy, Interrupted, problems.CannotWrite}  # the writer never raises these
    told_apart = {one for one, _, _ in problems._ANSWERS} - of_the_server
    assert told_apart == {*writer.ERRORS.values(), VistermError}

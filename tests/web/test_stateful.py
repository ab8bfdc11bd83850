"""The API against what it should remember: any calls in any order, and the same answers after."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from starlette.testclient import TestClient

from visterm.web.app import make_app
from visterm.web.security import Rules

API = "/api/v1"
PICTURES = st.integers(1, 5)
QUERIES = st.sampled_from(["sea", "sky -tree", "dodo"])
TEXTS = st.text(max_size=30)


class Remembered(RuleBasedStateMachine):
    """A client that writes down what it said, and asks for it again after every call."""

    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        copy = shutil.copytree(self.folder, Path(self.place.name, "holidays"))
        rules = Rules(writes_a_second=1e9, most_writes_at_once=10**9)
        self.client = TestClient(make_app(Path(copy), rules=rules), base_url="http://127.0.0.1")
        self.client.__enter__()
        self.clicks: dict[tuple[str, int], tuple[int, bool]] = {}
        self.captions: dict[int, str] = {}

    def teardown(self) -> None:
        self.client.__exit__(None, None, None)
        self.place.cleanup()

    @rule(query=QUERIES, picture=PICTURES, relevant=st.booleans())
    def judge(self, query: str, picture: int, relevant: bool) -> None:
        body = {"query": query, "picture": picture, "relevant": relevant}
        answer = self.client.post(f"{API}/feedback", json=body)
        begun = relevant or any(words == "dodo" for words, _ in self.clicks)
        if query == "dodo" and not begun:
            assert answer.status_code == 422, "nobody knows that word yet"
            return
        assert answer.status_code == 201, answer.text
        self.clicks[query, picture] = (answer.json()["id"], relevant)

    @rule(data=st.data())
    def undo(self, data: Any) -> None:
        if not self.clicks:
            assert self.client.delete(f"{API}/feedback/1").status_code == 404
            return
        key = data.draw(st.sampled_from(sorted(self.clicks)))
        number = self.clicks.pop(key)[0]
        assert self.client.delete(f"{API}/feedback/{number}").status_code == 200
        assert self.client.delete(f"{API}/feedback/{number}").status_code == 404

    @rule()
    def forget(self) -> None:
        answer = self.client.delete(f"{API}/feedback")
        assert answer.json() == {"undone": len(self.clicks)}
        self.clicks.clear()

    @rule(picture=PICTURES, text=TEXTS)
    def caption(self, picture: int, text: str) -> None:
        answer = self.client.put(f"{API}/pictures/{picture}/captions", json={"text": text})
        if answer.status_code == 200:
            self.captions[picture] = answer.json()["captions"].get("person", "")

    @rule(picture=PICTURES, text=TEXTS)
    def caption_while_a_job_runs(self, picture: int, text: str) -> None:
        assert self.client.post(f"{API}/train", json={}).status_code == 202
        self.client.put(f"{API}/pictures/{picture}/captions", json={"text": text})  # or it waits
        assert self.client.delete(f"{API}/train").status_code == 200
        assert "event: end" in self.client.get(f"{API}/train/events").text  # it has been stopped
        self.caption(picture, text)

    @invariant()
    def everything_said_is_there(self) -> None:
        told = self.client.get(f"{API}/feedback", params={"k": 1000}).json()["judgements"]
        found = {(one["query"], one["picture"]): (one["id"], one["relevant"]) for one in told}
        assert found == self.clicks
        for picture, text in self.captions.items():
            said = self.client.get(f"{API}/pictures/{picture}/captions").json()["captions"]
            assert said.get("person", "") == text
        assert self.client.get(f"{API}/search", params={"query": "sea", "k": 3}).json()["results"]


def test_whatever_is_called_in_whatever_order_what_was_said_is_there(taught_folder: Path) -> None:
    Remembered.folder = taught_folder
    run_state_machine_as_test(
        Remembered,
        settings=settings(
            max_examples=2,
            stateful_step_count=12,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )

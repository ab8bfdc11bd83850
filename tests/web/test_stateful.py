"""The API against what it should remember: any calls in any order, and the same answers after."""

from __future__ import annotations

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

    client: TestClient
    called: set[str]

    def __init__(self) -> None:
        super().__init__()
        assert self.client.delete(f"{API}/feedback").status_code == 200
        self.clicks: dict[tuple[str, int], tuple[int, bool]] = {}
        self.captions: dict[int, str] = {}
        self.waiting: dict[int, str] = {}

    @rule(query=QUERIES, picture=PICTURES, relevant=st.booleans())
    def judge(self, query: str, picture: int, relevant: bool) -> None:
        self.called.add("judge")
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
        self.called.add("undo")
        if not self.clicks:
            assert self.client.delete(f"{API}/feedback/1").status_code == 404
            return
        key = data.draw(st.sampled_from(sorted(self.clicks)))
        number = self.clicks.pop(key)[0]
        assert self.client.delete(f"{API}/feedback/{number}").status_code == 200
        assert self.client.delete(f"{API}/feedback/{number}").status_code == 404

    @rule()
    def forget(self) -> None:
        self.called.add("forget")
        answer = self.client.delete(f"{API}/feedback")
        assert answer.json() == {"undone": len(self.clicks)}
        self.clicks.clear()

    @rule(picture=PICTURES, text=TEXTS)
    def caption(self, picture: int, text: str) -> None:
        self.called.add("caption")
        self.say(picture, text)

    @rule(picture=PICTURES, text=TEXTS)
    def caption_while_a_job_runs(self, picture: int, text: str) -> None:
        self.called.add("caption_while_a_job_runs")
        assert self.client.post(f"{API}/train", json={}).status_code == 202
        self.say(picture, text)
        assert self.client.delete(f"{API}/train").status_code == 200
        assert "event: end" in self.client.get(f"{API}/train/events").text  # it has been stopped
        self.say(picture % 5 + 1, "a boat")  # what waited is done before it

    def say(self, picture: int, text: str) -> None:
        """Caption a picture; what waits is sure to be there once a later change is."""
        answer = self.client.put(f"{API}/pictures/{picture}/captions", json={"text": text})
        if any(letter < " " and letter not in "\t\n\r" for letter in text):
            assert answer.status_code == 422, answer.text
            return
        assert answer.status_code in (200, 202), answer.text
        self.waiting[picture] = text.strip()
        if answer.status_code == 200:
            self.captions |= self.waiting
            self.waiting.clear()

    @invariant()
    def everything_said_is_there(self) -> None:
        told = self.client.get(f"{API}/feedback", params={"k": 1000}).json()["judgements"]
        found = {(one["query"], one["picture"]): (one["id"], one["relevant"]) for one in told}
        assert found == self.clicks
        for picture in self.captions.keys() - self.waiting.keys():
            said = self.client.get(f"{API}/pictures/{picture}/captions").json()["captions"]
            assert said.get("person", "") == self.captions[picture]
        assert self.client.get(f"{API}/search", params={"query": "sea", "k": 3}).json()["results"]


def test_whatever_is_called_in_whatever_order_what_was_said_is_there(own: Path) -> None:
    rules = Rules(writes_a_second=1e9, most_writes_at_once=10**9)
    with TestClient(make_app(own, rules=rules), base_url="http://127.0.0.1") as Remembered.client:
        Remembered.called = set()
        first = Remembered()
        first.caption_while_a_job_runs(picture=2, text="a boat")
        first.judge(query="sea", picture=2, relevant=True)
        first.everything_said_is_there()
        Remembered.called = set()  # only what the machine itself calls counts
        run_state_machine_as_test(
            Remembered,
            settings=settings(
                max_examples=5,
                stateful_step_count=10,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
    assert len(Remembered.called) >= 4, "a rule that is never followed shows nothing"

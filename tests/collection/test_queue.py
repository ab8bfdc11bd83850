"""What people say while somebody else writes waits on the disk, and is done in its order."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from visterm.collection import Collection, Queued, SharedState
from visterm.errors import BadInput

KILLED = """
import os, signal, sys
from visterm.collection import Collection
collection = Collection.open(sys.argv[1])
for number in range(40):
    collection.submit("caption", picture=1 + number % 4, text=f"word{number}")
    collection.submit("judge", query="sky", picture=1 + number % 4, relevant=number % 3 > 0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_waits_is_done_in_order_even_if_whoever_said_it_was_killed(
    learnt: Collection,
) -> None:
    with learnt.catalogue.writing("training"):
        done = subprocess.run([sys.executable, "-c", KILLED, str(learnt.root)], check=False)
        assert done.returncode == -signal.SIGKILL
        assert learnt.waiting == 80
        assert learnt.captions(1).get("person") is None
    with Collection.open(learnt.root) as other:
        other.search("sky")  # whoever asks next does what waits
        assert other.waiting == 0
        assert [other.captions(n)["person"] for n in (1, 2, 3, 4)] == [
            f"word{number}" for number in (36, 37, 38, 39)
        ]
        said = [(one.picture, one.relevant) for one in other.judgements("sky")]
    last = [(1 + number % 4, number % 3 > 0) for number in range(40)]
    assert sorted(said) == sorted(dict(last).items())


def test_a_kill_between_a_change_and_its_end_does_it_once(learnt: Collection) -> None:
    from visterm.collection.store import queue

    learnt.submit("judge", query="sky", picture=3, relevant=True)
    before = learnt.search("sky", 60)
    queue.put(learnt.catalogue, "judge", {"query": "sky", "picture": 3, "relevant": True})
    learnt.apply_waiting()
    assert len(learnt.judgements()) == 1
    assert learnt.search("sky", 60) == before


def test_a_search_of_a_server_waits_for_nothing_that_waits(learnt: Collection) -> None:
    from visterm.collection.store import queue

    queue.put(learnt.catalogue, "judge", {"query": "sky", "picture": 3, "relevant": True})
    told: list[int] = []
    shared = SharedState(mend_later=lambda: told.append(reader.waiting))
    with Collection.open(learnt.root, shared=shared) as reader:
        assert reader.search("sky").results
        assert (told, reader.waiting) == ([1], 1)
        reader.mend()  # as the server's thread for changes does
        assert (reader.waiting, len(reader.judgements())) == (0, 1)
        assert reader.search("sky").results
        assert told == [1]


def test_a_mistake_is_told_to_whoever_made_it_and_delays_nobody(learnt: Collection) -> None:
    with pytest.raises(BadInput):
        learnt.submit("caption", picture=9999, text="nobody")
    with pytest.raises(BadInput, match="cannot wait"):
        learnt.submit("train")
    with Collection.open(learnt.root) as other, other.catalogue.writing("training"):
        assert isinstance(learnt.submit("undo", number=77), Queued)
        assert isinstance(learnt.submit("caption", picture=2, text="a boat"), Queued)
    learnt.caption(3, "a later one")
    assert learnt.waiting == 0
    assert learnt.captions(2)["person"] == "a boat"


def test_what_waits_is_done_before_a_writer_that_may_be_ended(learnt: Collection) -> None:
    from visterm.collection.store import queue

    queue.put(learnt.catalogue, "caption", {"picture": 2, "text": "a boat"})

    def end(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learnt.train(progress=end)
    assert (learnt.waiting, learnt.captions(2)["person"]) == (0, "a boat")

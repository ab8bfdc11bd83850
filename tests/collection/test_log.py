"""What people say is in the log at once, and done in its order, once, by whoever writes next."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from visterm.collection import Collection, Queued, SharedState
from visterm.errors import BadInput, VistermError

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
    from visterm.collection.store import events

    learnt.submit("judge", query="sky", picture=3, relevant=True)
    before = learnt.search("sky", 60)
    events.put(learnt.catalogue, "judge", {"query": "sky", "picture": 3, "relevant": True})
    learnt.apply_waiting()
    assert len(learnt.judgements()) == 1
    assert learnt.search("sky", 60) == before


def test_a_search_of_a_server_waits_for_nothing_that_waits(learnt: Collection) -> None:
    from visterm.collection.store import events

    events.put(learnt.catalogue, "judge", {"query": "sky", "picture": 3, "relevant": True})
    told: list[int] = []
    shared = SharedState(catch_up_later=lambda: told.append(reader.waiting))
    with Collection.open(learnt.root, shared=shared) as reader:
        assert reader.search("sky").results
        assert (told, reader.waiting) == ([1], 1)
        reader.catch_up()  # as the server's thread for changes does
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


def test_what_waits_is_done_before_a_writer_that_may_be_ended(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from visterm.collection.store import events
    from visterm.collection.training import training_set

    monkeypatch.setattr(training_set, "_ENOUGH_TO_JUDGE", 1000)  # training has no best until then

    events.put(learnt.catalogue, "caption", {"picture": 2, "text": "a boat"})

    def end(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learnt.train(progress=end)
    assert (learnt.waiting, learnt.captions(2)["person"]) == (0, "a boat")


def test_half_a_character_is_refused_before_it_is_acknowledged(learnt: Collection) -> None:
    """SQLite cannot encode a lone surrogate: queued, it would have failed for ever."""
    for verb, values in (
        ("caption", {"picture": 1, "text": "a \ud83d boat"}),
        ("caption_many", {"pictures": [1], "text": "a \ud83d boat"}),
        ("judge", {"picture": 1, "query": "sky\udcff", "relevant": True}),
        ("teach", {"query": "sky", "answers": [[1, "\ud83d"]]}),
        ("caption", {"picture": learnt.root / "no \udcff.jpg", "text": "a boat"}),
    ):
        with pytest.raises(BadInput, match="half of a character"):
            learnt.submit(verb, **values)
        with (
            Collection.open(learnt.root) as other,
            other.catalogue.writing("training"),
            pytest.raises(BadInput, match="half of a character"),
        ):
            learnt.submit(verb, **values)
    with pytest.raises(BadInput, match="half of a character"):
        learnt.caption(1, "a \ud83d boat")
    with pytest.raises(BadInput, match="half of a character"):
        learnt.search("sky\ud83d")
    with pytest.raises(BadInput, match="half of a character"):
        learnt.search("in:sky\ud83d")
    assert learnt.waiting == 0


def test_what_can_never_be_done_is_set_aside_and_delays_nobody(learnt: Collection) -> None:
    with Collection.open(learnt.root) as other, other.catalogue.writing("training"):
        for verb, values in (
            ("caption", {"picture": 1, "text": {"no": "text"}}),
            ("caption", {"picture": 1, "nothing": "like it"}),
            ("judge_many", {"query": "sky", "answers": [[2**70, True]]}),
            ("caption_many", {"pictures": [9999], "text": "a picture that was removed"}),
            ("undo", {"number": {"no": "number"}}),
            ("undo", {"number": 77}),  # nothing to take back is nothing lost
            ("caption", {"picture": 2, "text": "a boat"}),
        ):
            assert isinstance(learnt.submit(verb, **values), Queued)
        old = '["caption", {"picture": 3, "text": "half \\ud83d"}]'  # as it was written before
        learnt.catalogue.db.execute("INSERT INTO events (change) VALUES (?)", (old,))
    learnt.search("sky")
    assert (learnt.waiting, learnt.captions(2)["person"]) == (0, "a boat")
    told = learnt.status().set_aside
    assert len(told) == 6
    assert told[0].startswith('caption {"picture": 1, "text": {"no": "text"}} could not be done: ')
    assert "half of a character" in told[-1]
    assert "".join(told).isprintable()
    with pytest.raises(TypeError):
        learnt.submit("caption", picture=1, nothing="like it")
    assert len(learnt.status().set_aside) == 6  # whoever said it was told


def test_what_fails_for_the_disk_waits_for_better_days(learnt: Collection) -> None:
    from visterm.collection.store import events

    events.put(learnt.catalogue, "judge", {"query": "sky", "picture": 3, "relevant": True})
    (model,) = (learnt.store / "models").glob("*/model.safetensors")
    kept = model.read_bytes()
    model.write_bytes(b"{")
    with Collection.open(learnt.root) as other, pytest.raises(VistermError):
        other.apply_waiting()
    assert (learnt.waiting, learnt.status().set_aside) == (1, [])
    model.write_bytes(kept)
    learnt.apply_waiting()
    assert (learnt.waiting, len(learnt.judgements())) == (0, 1)


def test_a_file_that_is_torn_and_a_read_that_fails_set_nothing_aside(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from visterm.collection.store import events

    def fail(*values: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    events.put(learnt.catalogue, "judge", {"query": "sky", "picture": 3, "relevant": True})
    with monkeypatch.context() as patched:
        patched.setattr("visterm.collection.feedback.changes.entries", fail)
        with pytest.raises(VistermError, match="I/O"):
            learnt.apply_waiting()
    assert (learnt.waiting, learnt.status().set_aside) == (1, [])
    (mean,) = (learnt.store / "models").glob("*/mean.npy")
    kept = mean.read_bytes()
    mean.write_bytes(kept[:90])
    with Collection.open(learnt.root) as other, pytest.raises(VistermError, match="damaged"):
        other.apply_waiting()
    assert (learnt.waiting, learnt.status().set_aside) == (1, [])
    mean.write_bytes(kept)
    learnt.apply_waiting()
    assert (learnt.waiting, len(learnt.judgements())) == (0, 1)


def test_a_click_that_waits_for_a_repair_which_was_killed_waits_on(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from visterm.collection import repair
    from visterm.collection.store import events

    def cut(*values: object) -> None:
        raise KeyboardInterrupt

    (model,) = (learnt.store / "models").glob("*/model.safetensors")
    model.write_bytes(b"damaged")
    with monkeypatch.context() as patched:
        patched.setattr(repair, "_models_again", cut)
        with pytest.raises(KeyboardInterrupt):
            learnt.check(repair=True)
    events.put(learnt.catalogue, "judge", {"query": "sky", "picture": 3, "relevant": True})
    learnt.apply_waiting()
    assert isinstance(learnt.submit("judge", query="sky", picture=4, relevant=True), Queued)
    assert (learnt.waiting, learnt.status().set_aside) == (2, [])
    learnt.check(repair=True)
    learnt.apply_waiting()
    assert (len(learnt.judgements()), learnt.status().set_aside) == (2, [])


def test_a_store_that_came_from_others_can_ask_for_nothing_but_changes(
    learnt: Collection, tmp_path: Path
) -> None:
    """A row of the log could name any method, such as one that copies files anywhere."""
    aim = tmp_path / "autostart"
    rows = [
        json.dumps(["export_folder", {"pictures": [1], "to": str(aim), "copies": True}]),
        *("[]", "7", "[1, 2]", '["caption", []]', "[" * 100_000, b"\xff", 1.5),
    ]
    for row in rows:
        learnt.catalogue.db.execute("INSERT INTO events (change) VALUES (?)", (row,))
    learnt.catalogue.db.execute(
        "INSERT INTO events (change, state, reason) VALUES ('[]', 'refused', 'nobody knows')"
    )
    learnt.caption(2, "a boat")
    assert not aim.exists()
    assert (learnt.waiting, learnt.captions(2)["person"]) == (0, "a boat")
    assert len(learnt.status().set_aside) == len(rows) + 1


def test_what_is_said_while_a_change_is_done_is_left_to_the_next_one(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from visterm.collection.store import events

    finish = events.finish

    def busy(*values: Any) -> None:
        finish(*values)
        more = json.dumps(["caption", {"picture": 3, "text": f"sea {time.time()}"}])
        learnt.catalogue.db.execute("INSERT INTO events (change) VALUES (?)", (more,))

    monkeypatch.setattr(events, "finish", busy)  # as if somebody said more all the time
    learnt.caption(2, "a boat")
    assert (learnt.captions(2)["person"], learnt.waiting) == ("a boat", 1)
    learnt.apply_waiting()
    assert learnt.waiting == 1


def test_nobody_else_does_a_change_between_its_writing_down_and_its_doing(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from visterm.collection.store import events

    put = events.put

    def overtaken(*values: Any) -> int:
        number = put(*values)
        with Collection.open(learnt.root) as other:
            other.apply_waiting()
        return number

    monkeypatch.setattr(events, "put", overtaken)
    assert learnt.submit("undo_last").what == "caption"
    said = learnt.submit("judge", query="sky", picture=3, relevant=True)
    assert learnt.judgements() == [said]


def test_a_click_that_waits_while_a_model_is_repaired_is_learnt_by_the_repaired_one(
    learnt: Collection,
) -> None:
    (model,) = (learnt.store / "models").glob("*/model.safetensors")
    (rows,) = (learnt.store / "features").glob("*/*/codes")
    for file in (model, rows):
        file.write_bytes(b"damaged")
    with Collection.open(learnt.root) as other, other.catalogue.writing("training"):
        assert isinstance(learnt.submit("judge", query="sky", picture=3, relevant=True), Queued)
    learnt.check(repair=True)
    assert learnt.search("sky").results
    assert (len(learnt.judgements()), learnt.status().set_aside) == (1, [])


@pytest.mark.parametrize("verb", ["caption_many", "judge_many", "undo", "undo_last"])
def test_a_step_that_was_done_when_the_power_was_cut_is_not_done_twice(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    from visterm.collection.store import events

    learnt.caption_many([1, 2], "lisbon")
    learnt.caption_many([1, 2], "porto")
    for picture in (3, 4):
        learnt.judge("sky", picture, True)
    values = {
        "caption_many": {"pictures": [1], "text": "boat", "more": True},
        "judge_many": {"query": "sea", "answers": [[5, True]]},
        "undo": {"number": None},
        "undo_last": {},
    }

    def cut(catalogue: object, number: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(events, "settle", cut)
        with pytest.raises(KeyboardInterrupt):
            learnt.submit(verb, **values[verb])
    learnt.apply_waiting()
    said = {
        "caption_many": ("porto\nboat", 2, 6),
        "judge_many": ("porto", 3, 6),
        "undo": ("porto", 1, 5),
        "undo_last": ("porto", 1, 4),
    }
    steps = learnt.catalogue.one(
        "SELECT count(*) FROM events WHERE state = 'done' AND before IS NOT NULL"
    )
    found = learnt.captions(1)["person"], len(learnt.judgements()), steps
    assert (learnt.waiting, found) == (0, said[verb])

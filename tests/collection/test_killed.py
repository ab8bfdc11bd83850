"""Kills: whatever moment they come at, what was committed is there and what is there is sound."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slow_scores import assert_ranked, slow_scores

from visterm.collection import Collection
from visterm.collection.feedback.changes import caption_many, current_offsets
from visterm.collection.feedback.offsets import is_up_to_date
from visterm.collection.store.caption_words import COMPLETENESS
from visterm.collection.store.events import entries
from visterm.collection.store.feature_rows import findable
from visterm.collection.store.versions import current

KILLS = 30
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills and forks are POSIX")


class Worker:
    """The process that works in children."""

    def __init__(self, root: Path, journal: Path) -> None:
        here = Path(__file__).parent
        self.journal = journal
        self.journal.touch()
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, here / "killed.py", root, journal],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **single, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])},
        )
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def run(self, job: dict[str, Any], kill_after: float | None = None) -> int:
        """Do a job, or begin it; returns how it ended."""
        self.say(json.dumps(job))
        child = int(self.line())
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(child, signal.SIGKILL)
        self.say("wait for it")
        return int(self.line())

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def committed(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.journal.read_text().splitlines()]


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    (tmp_path / "pictures").mkdir()
    working = Worker(tmp_path / "pictures", tmp_path / "journal")
    yield working
    assert working.process.stdin is not None
    working.process.stdin.close()
    working.process.wait()


def check_sound(collection: Collection, told: list[dict[str, Any]]) -> None:
    """Everything committed is there, nothing is damaged, and searching equals a fresh build."""
    found = collection.check()
    assert found.problems == []
    pictures = [note["added"] for note in told if "added" in note]
    assert len(collection) >= max(pictures, default=0)
    for name, texts in possible_captions(told).items():
        assert collection.captions(collection.root / name)["person"] in texts
    version = current(collection.catalogue)
    trained = [note["version"] for note in told if "version" in note]
    if version is None:
        assert not trained
        return
    assert version.id >= max(trained, default=0)
    check_search(collection)


def possible_captions(told: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Of each captioned picture the last text committed, and those begun since."""
    possible: dict[str, list[str]] = {}
    for note in told:
        if "captioned" in note:
            possible[note["captioned"]] = [note["text"]]
        elif "begun" in note and note["begun"] in possible:
            possible[note["begun"]].append(note["text"])
    return possible


def check_search(collection: Collection) -> None:
    version = current(collection.catalogue)
    assert version is not None
    ids = findable(collection.catalogue, version.extractor)
    text = "sky tree -sea"
    answer = collection.search(text, len(ids)).results
    assert sorted(one.picture for one in answer) == ids.tolist()
    assert_ranked(answer, slow_scores(collection, text), text)


def check_nothing_left_over(collection: Collection) -> None:
    """After the next writer, the disk holds what the catalogue names and nothing else."""
    collection.add()
    named = {row[0] for row in collection.catalogue.db.execute("SELECT file FROM extractors")}
    question = "SELECT extractor, generation FROM feature_files"
    for extractor, generation in collection.catalogue.db.execute(question):
        folder = f"features/{extractor}/{generation}"
        named |= {f"{folder}/{file}" for file in ("ids", "codes", "scales")}
    kept = {
        path.relative_to(collection.store).as_posix()
        for path in (collection.store / "features").rglob("*")
        if path.is_file() and path.parent.name != "columns"  # which anybody may keep
    }
    assert kept == named
    assert len(list((collection.store / "models").iterdir())) == 1


def test_thirty_kills_lose_nothing_that_was_committed(
    worker: Worker, drawn: Path, tmp_path: Path
) -> None:
    root, dice = tmp_path / "pictures", random.Random(20)
    pool = Pool(drawn, root, dice)
    pool.put(20)
    for _ in range(4):  # while there is no collection yet, or just the beginning of one
        worker.run({"do": "add"}, kill_after=dice.uniform(0, 0.2))
        with Collection.open(root) as collection:
            check_sound(collection, worker.committed())
    assert worker.run({"do": "add"}) == 0
    assert worker.run({"do": "caption", "captions": pool.captions(20)}) == 0
    assert worker.run({"do": "train"}) == 0
    lasts: dict[str, float] = {}
    killed = 0
    for number in range(KILLS):
        job: dict[str, Any] = {"do": ("add", "train", "caption", "compact")[number % 4]}
        if job["do"] in ("add", "compact"):
            pool.put(6)
            pool.move()
        elif job["do"] == "caption":
            job["captions"] = pool.captions(4)
        if job["do"] not in lasts:  # how long it takes, to know when to strike
            began = time.monotonic()
            assert worker.run(job) == 0
            lasts[job["do"]] = time.monotonic() - began
            if job["do"] in ("add", "compact"):
                pool.put(6)
        died = worker.run(job, kill_after=dice.uniform(0, lasts[job["do"]])) != 0
        killed += died
        if not died:  # the machine has become quicker than it was: strike earlier
            lasts[job["do"]] *= 0.7
        with Collection.open(root) as collection:
            check_sound(collection, worker.committed())
    assert killed >= KILLS // 2, "most kills should have come in time"
    with Collection.open(root) as collection:
        check_nothing_left_over(collection)
        check_sound(collection, worker.committed())
        assert len(collection) == len({path.read_bytes() for path in root.rglob("*.jpg")})


@pytest.mark.parametrize("kind", ["add", "compact"])
@pytest.mark.parametrize("point", ["append_synced", "commit", "committed"])
def test_a_kill_at_any_write_leaves_the_last_committed_state(
    worker: Worker, drawn: Path, tmp_path: Path, kind: str, point: str
) -> None:
    root = tmp_path / "pictures"
    pool = Pool(drawn, root, random.Random(3))
    pool.put(20)
    assert worker.run({"do": "add"}) == 0
    assert worker.run({"do": "caption", "captions": pool.captions(20)}) == 0
    assert worker.run({"do": "train"}) == 0
    pool.put(5)
    (root / "00021.jpg").unlink(missing_ok=True)
    (root / "00019.jpg").write_bytes(drawn.joinpath("scene-0030.jpg").read_bytes())  # other bytes
    last = 0
    for number in range(40):
        died = worker.run({"do": kind, "die_at": (point, number)})
        with Collection.open(root) as collection:
            check_sound(collection, worker.committed())
        if died == 0:
            break
        assert died == -signal.SIGKILL
        last = number + 1
    assert died == 0, "in the end nobody is killed"
    assert last > 1, "and before that somebody was"
    with Collection.open(root) as collection:
        assert len(collection.search("sky tree", 60).results) == 24
        check_nothing_left_over(collection)


def check_clicks(collection: Collection, told: list[dict[str, Any]], untold: int) -> None:
    """Every click that was told is there, and the directions are what the log says, bit for bit.

    As many as ``untold`` may have been taken back by somebody who was killed before telling it.
    """
    judged = {note["judged"] for note in told if "judged" in note}
    undone = {note["undone"] for note in told if "undone" in note}
    assert collection.search("sky tree", 5).results  # mends what was left
    assert collection.check().problems == []
    log = entries(collection.catalogue)
    there = {one.id for one in log}
    assert not there & undone
    assert len(judged - undone - there) <= untold
    offsets = current_offsets(collection.catalogue)
    before = dict(offsets.directions)
    offsets.replay(log)
    assert before.keys() == offsets.directions.keys()
    for word, direction in before.items():
        assert direction.tobytes() == offsets.directions[word].tobytes()
    assert is_up_to_date(collection.catalogue)


def test_kills_while_somebody_clicks_lose_no_click_that_was_told(
    worker: Worker, drawn: Path, tmp_path: Path
) -> None:
    root, dice = tmp_path / "pictures", random.Random(7)
    pool = Pool(drawn, root, dice)
    pool.put(20)
    assert worker.run({"do": "add"}) == 0
    assert worker.run({"do": "caption", "captions": pool.captions(20)}) == 0
    assert worker.run({"do": "train"}) == 0

    queries, names = ("sky", "sky tree", "sea -boat"), [f"{n:05d}.jpg" for n in range(20)]
    pairs = [(query, name) for query in queries for name in names]
    dice.shuffle(pairs)

    def job(undo: bool) -> dict[str, Any]:
        clicks = [(*pairs.pop(), dice.random() < 0.5) for _ in range(4)]
        return {"do": "judge", "clicks": clicks, "undo": undo}

    began = time.monotonic()
    assert worker.run(job(undo=True)) == 0
    lasts = time.monotonic() - began
    killed = untold = 0
    for number in range(12):
        undo = number % 3 == 0
        died = worker.run(job(undo), kill_after=dice.uniform(0, lasts)) != 0
        killed += died
        untold += died and undo
        lasts *= 1.0 if died else 0.7
        with Collection.open(root) as collection:
            check_clicks(collection, worker.committed(), untold)
    assert killed >= 6, "most kills should have come in time"
    with Collection.open(root) as collection:
        collection.forget_judgements()
        check_search(collection)


class Pool:
    """Pictures that differ, as many as are asked for, put into and moved about in a folder."""

    def __init__(self, drawn: Path, root: Path, dice: random.Random) -> None:
        self.sources = sorted(drawn.glob("*.jpg"))
        self.root, self.dice = root, dice
        self.count = 0

    def put(self, count: int) -> None:
        for _ in range(count):
            source = self.sources[self.count % len(self.sources)]
            # Bytes after the end of a JPEG make another file of the same picture.
            content = source.read_bytes() + self.count.to_bytes(4, "big")
            (self.root / f"{self.count:05d}.jpg").write_bytes(content)
            self.count += 1

    def move(self) -> None:
        """Rename a picture that no caption is asked for."""
        name = f"{self.dice.randrange(20, max(21, self.count)):05d}.jpg"
        if (self.root / name).exists():
            (self.root / "moved").mkdir(exist_ok=True)
            (self.root / name).rename(self.root / "moved" / name)

    def captions(self, count: int) -> dict[str, str]:
        words = ("sky", "tree", "sea", "snow", "boat", "people")
        names = range(20) if count == 20 else (self.dice.randrange(20) for _ in range(count))
        return {f"{n:05d}.jpg": " ".join(self.dice.sample(words, 2)) + f" {n}" for n in names}


def test_how_complete_captions_are_is_learnt_by_the_next_search_where_a_kill_came_first(
    learnt: Collection,
) -> None:
    before = learnt.search("sky tree", 60)
    with learnt.catalogue.writing("dying"), learnt.catalogue.transaction():
        learnt.catalogue.set(COMPLETENESS, None)  # a model was named, and then it was killed
    assert learnt.search("sky tree", 60) == before


def test_how_complete_many_new_captions_are_is_learnt_although_whoever_gave_them_was_killed(
    learnt: Collection, tmp_path: Path
) -> None:
    shutil.copytree(learnt.root, tmp_path / "other")
    pictures = range(1, 21)
    with learnt.catalogue.writing("dying"):
        caption_many(learnt.catalogue, pictures, "a lake", more=False)
    with Collection.open(tmp_path / "other") as other:
        other.caption_many(pictures, "a lake")
        said, expected = (
            [(one.picture, one.score) for one in found.search("sky tree", 60).results]
            for found in (learnt, other)
        )
    assert said == expected

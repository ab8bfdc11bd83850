"""One trial: a command in a process of its own whose disk fails, and somebody who looks afterwards.

Importing takes seconds and forking none, so thousands of trials are affordable: whatever a command
needs is loaded once, here, and every trial is a child of this process.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import typer.main

from benchmarks.campaign import disk
from benchmarks.campaign.children import CRASHED, acknowledge, be_a_child, waited
from benchmarks.campaign.disk import Fault
from benchmarks.campaign.power import cut_power
from benchmarks.campaign.promise import State, between, read_state
from benchmarks.campaign.scenarios import Scenario, scenario
from benchmarks.campaign.states import make_base
from visterm.index import columns

_PRELOADED = (
    "visterm.calibration.estimation",
    "visterm.cli.app",
    "visterm.collection.library.backup",
    "visterm.collection.feedback.changes",
    "visterm.collection.feedback.changes",
    "visterm.collection.ingest.pipeline",
    "visterm.collection.library.descriptions",
    "visterm.collection.repair",
    "visterm.collection.library.teaching",
    "visterm.collection.training.shared_starter",
    "visterm.collection.training.text_spaces",
    "visterm.collection.training.trainer",
    "visterm.encoders",
    "visterm.evaluation",
    "visterm.features.blocks._kernels",
    "visterm.index._kernels",
    "visterm.models.pamir._solvers",
    "visterm.pictures.sidecar_writer",
    "visterm.starter",
    "visterm.web.app",
    "scipy.sparse.linalg",
    "starlette.testclient",
)


def preload(bench: Bench) -> None:
    """Load what commands need, compiled code too, so that children are born with it."""
    for name in _PRELOADED:
        import_module(name)
    columns._KEPT_FROM = 0  # columns of so few rows would lie in no file
    # Options are parsed in every child, but what is parsed by is made once: it takes longest.
    typer.main.get_command = functools.cache(typer.main.get_command)
    stdout, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
    try:
        make_base("clicked", bench.folder)
        bench.put(scenario("train"))
        for one in ("train", "feedback", "server", "remove"):
            scenario(one).work(bench.root, lambda text: None)
        _unsound(bench.root)
        _answers(bench.root)
    finally:
        sys.stdout = stdout
    gc.freeze()  # pages that no collector touches stay shared with all children


@dataclass
class Ended:
    """How a command ended."""

    code: int
    """Its exit code; negative where a signal ended it."""
    seconds: float
    """What it computed, in seconds of a processor."""
    said: str
    """What it wrote on stderr."""
    acknowledged: list[str] = field(default_factory=list)
    changes: str = ""
    """Writes, syncs and names that it asked of the disk."""


@dataclass(frozen=True)
class Expected:
    """What a scenario begins with and ends in, if nothing happens."""

    before: State
    after: State
    answers: dict[str, Any]
    """What searches say afterwards."""
    changes: str
    seconds: float


class Bench:
    """Where trials are made.

    Parameters
    ----------
    folder
        For states, trials and what they say; best in memory. It is made, and emptied by `close`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.root = self.folder / "trial" / "pictures"
        self.journal = self.folder / "journal"
        self._expected: dict[str, Expected] = {}
        self.folder.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def expected(self, scenario: Scenario) -> Expected:
        """How a scenario goes when the disk is sound, tried once."""
        if scenario.name not in self._expected:
            ended = self.child(lambda: str(make_base(scenario.base, self.folder)))
            if ended.code:
                raise SystemExit(f"{scenario.base} could not be made: {ended.said}")
            self.put(scenario)
            before = read_state(self.root)
            ended = self.run(scenario, Fault.COUNT, 0)
            if ended.code:
                raise SystemExit(f"{scenario.name} fails on a sound disk: {ended.said}")
            after = read_state(self.root)
            if after.problems:
                raise SystemExit(f"{scenario.name} leaves {after.problems[0]}")
            answers = json.loads(self.child(lambda: _answers(self.root)).acknowledged[0])
            self._expected[scenario.name] = Expected(
                before, after, answers, ended.changes, ended.seconds
            )
        return self._expected[scenario.name]

    def put(self, scenario: Scenario) -> None:
        """Begin anew with the state that a scenario finds."""
        shutil.rmtree(self.root.parent, ignore_errors=True)
        shutil.copytree(self.folder / scenario.base / "pictures", self.root)

    def fault(self, scenario: Scenario, fault: Fault, at: int, seed: int = 0) -> list[str]:
        """Which promises are broken when a fault comes at the n-th change; none should be."""
        expected = self.expected(scenario)
        self.put(scenario)
        ended = self.run(scenario, fault, at)
        if fault.needs_journal and ended.code in (0, -signal.SIGKILL):  # done, or on the way
            store = self.root / ".visterm"
            cut_power(self.journal, store, None if fault is Fault.POWER else seed)
        return self.judge(scenario, expected, ended)

    def kill(self, scenario: Scenario, after: float) -> tuple[bool, list[str]]:
        """Kill a command that computed so long; whether that was in time, and what is broken."""
        expected = self.expected(scenario)
        self.put(scenario)
        ended = self.run(scenario, Fault.COUNT, 0, kill_after=after)
        return ended.code < 0, self.judge(scenario, expected, ended)

    def run(
        self, scenario: Scenario, fault: Fault, at: int, kill_after: float | None = None
    ) -> Ended:
        """Do a scenario's work on a disk that fails."""
        shutil.rmtree(self.journal, ignore_errors=True)
        self.journal.mkdir()
        journal = self.journal if fault.needs_journal else None
        told = self.folder / "changes"
        told.write_text("")

        def work() -> int:
            disk.arm(self.root, fault, at, journal)
            code = scenario.work(self.root, acknowledge)
            found = disk.changes()
            disk.disarm()
            told.write_text(found)
            return code

        ended = self.child(work, kill_after)
        ended.changes = told.read_text()
        return ended

    def child(self, work: Callable[[], int | str], kill_after: float | None = None) -> Ended:
        """Do some work in a child; what it returns as text is acknowledged at its end."""
        said, told = self.folder / "stderr", self.folder / "acknowledged"
        for path in (said, told):  # whoever is killed early leaves nothing of the one before
            path.write_bytes(b"")
        number = os.fork()
        if number == 0:
            be_a_child(work, said, told)
        code, seconds = waited(number, kill_after)
        lines = told.read_text().splitlines()
        whole = lines if told.read_text().endswith("\n") else lines[:-1]
        return Ended(code, seconds, said.read_text(errors="replace"), whole)

    def judge(self, scenario: Scenario, expected: Expected, ended: Ended) -> list[str]:
        """Which promises are broken after a command ended as it did."""
        broken = []
        if ended.code == CRASHED or "Traceback" in ended.said:
            broken.append(f"no sentence but a traceback: {ended.said[-600:]}")
        if ended.code not in (0, 1, -signal.SIGKILL):
            broken.append(f"it ended with {ended.code}: {ended.said[-300:]}")
        if ended.code == 1 and not ended.said.strip():
            broken.append("it failed and did not say why")
        looked = self.child(lambda: json.dumps(_look(self.root, scenario, expected, ended)))
        if looked.code:
            return [*broken, f"whoever looked afterwards failed: {looked.said[-900:]}"]
        return broken + json.loads(looked.acknowledged[0])


def _look(root: Path, scenario: Scenario, expected: Expected, ended: Ended) -> list[str]:
    """What an independent reader, `visterm check`, a search and the next command say."""
    before, after = expected.before, expected.after
    now = read_state(root)
    broken = [problem for problem in now.problems if problem not in before.problems]
    if scenario.damaged:  # a damaged model is let go of before there is another one
        before = replace(before, models={} if now.models == {} else before.models)
    broken += between(before, after, now, whole=scenario.whole)
    if ended.code == 0 and not now.same(after):
        broken.append("it said that it was done, and it is not")
    broken += _lost(root, ended.acknowledged)
    if broken:
        return broken
    unsound = _unsound(root)
    if not scenario.damaged:
        broken += unsound
    _do_what_waits(root)  # what the log holds was said, and is not to be said again
    if not read_state(root).same(after) or unsound:
        broken += _go_on(scenario, root)
        final = read_state(root)
        if not broken and not final.same(after):
            broken.append("the next command does not end in what was asked for")
        broken += [*final.problems, *_unsound(root)]
    if broken:
        return broken
    found, wanted, final = json.loads(_answers(root)), expected.answers, read_state(root)
    if found != wanted and [*final.clicks] != [*after.clicks]:
        _say_again(root, before, final)  # what failed was said later: clicks count in their order
        wanted = json.loads(_answers(root))
    different = f"searches answer otherwise: {_first_difference(found, wanted)}"
    return [] if found == wanted else [different]


def _do_what_waits(root: Path) -> None:
    """As whoever searches next does."""
    from visterm.collection import Collection
    from visterm.errors import VistermError

    with contextlib.suppress(VistermError), Collection.open(root, create=False) as collection:
        collection.catch_up()


def _say_again(root: Path, before: State, now: State) -> None:
    """Give all clicks again, undisturbed: those of before, and then the others in their order."""
    from visterm.collection import Collection

    new = [one for one in now.clicks.items() if one not in before.clicks.items()]
    with Collection.open(root) as collection:
        db = collection.catalogue.db
        numbers = dict(db.execute("SELECT hex(hash), id FROM pictures"))
        collection.forget_judgements()
        for (query, picture), answer in [*before.clicks.items(), *new]:
            collection.judge(query, numbers[picture], answer == "1")


def _go_on(scenario: Scenario, root: Path) -> list[str]:
    code = scenario.work(root, lambda text: None)
    return [] if code == 0 else [f"the next command fails with {code}"]


def _unsound(root: Path) -> list[str]:
    from visterm.collection import Collection

    with Collection.open(root) as collection:
        return [f"visterm check: {line}" for line in collection.check().problems]


def _lost(root: Path, acknowledged: list[str]) -> list[str]:
    """What the server acknowledged and the collection does not have."""
    from visterm.collection import Collection

    if not acknowledged:
        return []
    with Collection.open(root) as collection:
        collection.apply_waiting()  # as any command or search would
        clicks = {(one.query, one.picture): one.relevant for one in collection.judgements()}

        def is_there(url: str, body: dict[str, Any]) -> bool:
            if "text" in body:
                said = collection.captions(int(url.split("/")[4])).get("person", "")
                return bool(said == body["text"])
            return clicks.get((body["query"], body["picture"])) == body["relevant"]

        given = [json.loads(line) for line in acknowledged]
        return [f"acknowledged and lost: {body}" for url, body in given if not is_there(url, body)]


def _answers(root: Path) -> str:
    """Rankings with scores, rounded as far as sums in another order may move them."""
    from visterm.collection import WORDS, Collection, SearchRequest
    from visterm.collection.store.versions import every_current

    found: dict[str, Any] = {}
    with Collection.open(root) as collection:
        for version in every_current(collection.catalogue):
            for query in ("sky", "sea -tree" if version.space == WORDS else "sea", "boat snow"):
                request = SearchRequest(query, 30, space=version.space)
                results = collection.search(request).results
                found[f"{version.space}: {query}"] = sorted(
                    (one.path, round(one.score, 4)) for one in results
                )
    return json.dumps(
        {query: [list(map(str, one)) for one in rows] for query, rows in found.items()}
    )


def _first_difference(found: Any, expected: Any) -> str:
    for query in expected:
        for one, other in zip(found.get(query, []), expected[query], strict=False):
            if one != other:
                return f"{query}: {one} instead of {other}"
    return "other queries or numbers of results"


__all__ = ["Bench", "Ended", "Expected", "preload"]

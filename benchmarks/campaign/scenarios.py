"""What is done to a collection, and to the encoders of a person, while their disk fails: every
command that writes them, and the server."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.campaign.states import (
    ENCODERS,
    FEATURES,
    TRAIN,
    caption_list,
    command,
    feedback_list,
)


@dataclass(frozen=True)
class Scenario:
    """A state that a command finds, and the command."""

    name: str
    base: str
    """Which of `states.BASES` it begins with."""
    work: Callable[[Path, Callable[[str], None]], int]
    """Does it in the folder of the pictures; returns the exit code. What it calls with a text is
    acknowledged before the command ends: keys of what must be there from then on."""
    whole: bool = True
    """Whether all of it is one change, done or not; else each part of it is."""
    damaged: bool = False
    """Whether it begins with damage, which may stay until the command has mended it."""


def typed(*arguments: str) -> Callable[[Path, Callable[[str], None]], int]:
    """Scenarios' work: one command; ``@`` stands for the folder of the pictures."""

    def work(root: Path, acknowledge: Callable[[str], None]) -> int:
        return command(*(word.replace("@", str(root)) for word in arguments), "-C", str(root))

    return work


def _small_batches(root: Path, acknowledge: Callable[[str], None]) -> int:
    """Adding in batches of three."""
    from visterm.collection.ingest import pipeline

    pipeline.BATCH = 3
    return command("add", "-C", str(root), "--features", FEATURES)


def _served(root: Path, acknowledge: Callable[[str], None]) -> int:
    """Captions and clicks through the HTTP API, of which two wait for another writer (202); every
    answer acknowledges one."""
    from starlette.testclient import TestClient

    from visterm.errors import VistermError
    from visterm.web.app import make_app

    api = "/api/v1"
    try:
        app = make_app(root)
    except VistermError as error:
        print(error, file=sys.stderr)
        return 1
    with _writing_here(root), TestClient(app, base_url="http://127.0.0.1") as client:
        said: list[tuple[str, str, Any]] = [
            ("PUT", f"{api}/pictures/2/captions", {"text": "a quiet sea"}),
            ("POST", f"{api}/feedback", {"query": "sea", "picture": 2, "relevant": True}),
            ("POST", f"{api}/feedback", {"query": "sky", "picture": 4, "relevant": False}),
        ]
        queued: list[tuple[str, str, Any]] = [
            ("PUT", f"{api}/pictures/3/captions", {"text": ""}),
            ("POST", f"{api}/feedback", {"query": "tree", "picture": 8, "relevant": True}),
        ]
        last = ("POST", f"{api}/feedback", {"query": "dodo", "picture": 5, "relevant": True})
        codes = [_call(client, acknowledge, *one) for one in said]
        with (root / ".visterm" / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # as a job that trains
            codes += [_call(client, acknowledge, *one, successes=(202,)) for one in queued]
        codes.append(_call(client, acknowledge, *last))  # which does what waits, too
    return max(codes)


@contextmanager
def _writing_here(root: Path) -> Iterator[None]:
    """Let the writer of a server work in its thread here: faults of a child are not counted."""
    from visterm.collection import Collection
    from visterm.web import writer

    @functools.cache
    def opened() -> Collection:
        return Collection.open(root, create=False)

    def ask(process: object, verb: str, values: dict[str, Any] | None = None) -> Any:
        return writer._result(writer.answer_to(json.dumps([verb, values or {}]).encode(), opened))

    with patch.object(writer.WriterProcess, "ask", ask):
        yield


def _call(
    client: Any,
    acknowledge: Callable[[str], None],
    method: str,
    url: str,
    body: dict[str, Any],
    successes: tuple[int, ...] = (200, 201),
) -> int:
    """One call; an exit code as of a command."""
    answer = client.request(method, url, json=body)
    if answer.status_code in successes:
        acknowledge(json.dumps([url, body]))
        return 0
    said = answer.json().get("error", f"visterm made a mistake: {answer.status_code}")
    print(said, file=sys.stderr)
    is_declared = answer.status_code in _DECLARED and "visterm made a mistake" not in said
    return 1 if is_declared else 70


_DECLARED = (409, 500, 503)
"""What a disk may make of an answer: somebody else writes, it failed, it cannot be read now."""


def _written_xmp(root: Path, acknowledge: Callable[[str], None]) -> int:
    pictures = [str(root / f"{number:02d}.png") for number in range(3)]
    return command("describe", *pictures, "--write-xmp", "--least", "0.01", "-C", str(root))


def _taught(root: Path, acknowledge: Callable[[str], None]) -> int:
    """A round of questions, every other one answered with yes."""
    return command("teach", "sky", "--rounds", "1", "-C", str(root), stdin="y\nn\n" * 5)


def encoder(*arguments: str) -> Callable[[Path, Callable[[str], None]], int]:
    """Scenarios' work: a command about encoders, which lie in the folder of the pictures here."""

    def work(root: Path, acknowledge: Callable[[str], None]) -> int:
        os.environ["VISTERM_ENCODERS"] = str(root / ENCODERS)
        # A text and a picture go through it in a process that writes nothing, and takes a second.
        with patch("visterm.encoders.installation._tried", return_value=32):
            return command("encoder", *(word.replace("@", str(root)) for word in arguments))

    return work


_REPAIR = typed("check", "--repair")

SCENARIOS = [
    Scenario("create", "pictures", _small_batches, whole=False),
    Scenario("add", "grown", _small_batches, whole=False),
    Scenario("caption", "clicked", typed("caption", "@/03.png", "red", "boat")),
    Scenario("caption-table", "added", typed("caption", "--from", "@/captions.tsv")),
    Scenario("first-train", "captioned", typed(*TRAIN)),
    Scenario("train", "clicked", typed(*TRAIN)),
    Scenario("feedback", "clicked", typed("feedback", "yes", "tree", "@/09.png")),
    Scenario("feedback-opposite", "clicked", typed("feedback", "no", "sky", "@/03.png")),
    Scenario(
        "feedback-several",
        "clicked",
        typed("feedback", "no", "sea", "@/01.png", "@/02.png"),
        whole=False,
    ),
    Scenario("feedback-new-word", "clicked", typed("feedback", "yes", "dodo", "@/09.png")),
    Scenario("undo", "clicked", typed("feedback", "undo")),
    Scenario("reset", "clicked", typed("feedback", "reset")),
    Scenario("remove", "clicked", typed("remove", "@/03.png", "@/04.png")),
    Scenario("repair-columns", "columns-harmed", _REPAIR, whole=False, damaged=True),
    Scenario("repair-features", "features-harmed", _REPAIR, whole=False, damaged=True),
    Scenario("repair-model", "model-harmed", _REPAIR, whole=False, damaged=True),
    Scenario("write-xmp", "clicked", _written_xmp, whole=False),
    Scenario("caption-list", "spoken", lambda root, _: caption_list(root)),
    Scenario("caption-list-undo", "list-captioned", typed("undo")),
    Scenario("feedback-list", "spoken", lambda root, _: feedback_list(root)),
    Scenario("feedback-list-undo", "list-clicked", typed("undo")),
    Scenario("teach", "clicked", _taught),
    Scenario("import", "backed-up", typed("import", "@/backup.jsonl")),
    Scenario("space", "sentences", typed("search", "sky tree", "--space", "lsa")),
    Scenario("space-again", "sentences-changed", typed("search", "sky tree", "--space", "lsa")),
    Scenario("starter", "shared", typed("starter", "use", "@/first.starter"), whole=False),
    Scenario("starter-other", "started", typed("starter", "use", "@/other.starter"), whole=False),
    Scenario("starter-none", "started", typed("starter", "use"), whole=False),
    Scenario("remove-everything", "clicked", typed("remove", "--everything", "--yes")),
    Scenario("encoder-add", "encoder-files", encoder("add", "@/first", "--name", "mine")),
    Scenario("encoder-replace", "encoder", encoder("add", "@/other", "--name", "mine")),
    Scenario("encoder-remove", "encoder", encoder("remove", "mine")),
    Scenario("server", "clicked", _served, whole=False),
]


def scenario(name: str) -> Scenario:
    return next(one for one in SCENARIOS if one.name == name)

"""What is done to a collection while its disk fails: every command that writes, and the server."""

from __future__ import annotations

import fcntl
import json
import shutil
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.features.own_features import use_function

_SAMPLE = Path(__file__).parents[2] / "tests/collection/store/samples/first-edition.tar.xz"
_PICTURES = 16
_WORDS = ("sky", "tree", "sea", "snow")
_TRAIN = ("train", "--force", "--model", "pamir(max_iter=200,C=0.1)")


def grid(pictures: list[Any]) -> list[NDArray[np.float32]]:
    """Features that cost nothing: a picture's colours, top and bottom."""
    halves = [half for pixels in pictures for half in np.array_split(pixels, 2)]
    means = np.array([half.mean(axis=(0, 1)) for half in halves], np.float32) / 255
    return list(means.reshape(len(pictures), 6))


_FEATURES = f"own:{use_function(grid)}"


@dataclass(frozen=True)
class Scenario:
    """A state that a command finds, and the command."""

    name: str
    base: str
    """Which of `BASES` it begins with."""
    work: Callable[[Path, Callable[[str], None]], int]
    """Does it in the folder of the pictures; returns the exit code. What it calls with a text is
    acknowledged before the command ends: keys of what must be there from then on."""
    whole: bool = True
    """Whether all of it is one change, done or not; else each part of it is."""
    damaged: bool = False
    """Whether it begins with damage, which may stay until the command has mended it."""


def command(*arguments: str) -> int:
    """A command as a person types it, in this process; returns its exit code."""
    from visterm.cli import main

    before, sys.argv = sys.argv, ["visterm", *arguments]
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.argv = before
    return 0


def typed(*arguments: str) -> Callable[[Path, Callable[[str], None]], int]:
    """Scenarios' work: one command; ``@`` stands for the folder of the pictures."""

    def work(root: Path, acknowledge: Callable[[str], None]) -> int:
        return command(*(word.replace("@", str(root)) for word in arguments), "-C", str(root))

    return work


# The states that scenarios begin with, each made from the one before it.


def _pictures(root: Path) -> None:
    """A few small pictures, drawn without help so that nothing else need be loaded."""
    from PIL import Image

    dice = np.random.default_rng(7)
    root.mkdir(parents=True)
    for number in range(_PICTURES):
        colours = dice.integers(0, 255, (2, 2, 3), np.uint8)
        picture = Image.fromarray(colours).resize((16, 16))
        picture.save(root / f"{number:02d}.png")
    lines = (f"{n:02d}.png\t{_WORDS[n % 4]} {_WORDS[(n // 2) % 4]}\n" for n in range(_PICTURES))
    (root / "captions.tsv").write_text("".join(lines))


def _added(root: Path) -> None:
    _check(command("add", "-C", str(root), "--features", _FEATURES))


def _captioned(root: Path) -> None:
    _check(command("caption", "--from", str(root / "captions.tsv"), "-C", str(root)))


def _trained(root: Path) -> None:
    _check(command(*_TRAIN, "-C", str(root)))


def _clicked(root: Path) -> None:
    for answer, query, picture in (("yes", "sky", 3), ("no", "sky tree", 5), ("yes", "zebra", 6)):
        _check(
            command("feedback", answer, query, str(root / f"{picture:02d}.png"), "-C", str(root))
        )


def _grown(root: Path) -> None:
    """Pictures came, went, moved and changed, and one has a sidecar; nobody has looked yet."""
    for number in range(6):
        content = (root / f"{number:02d}.png").read_bytes()
        (root / f"new-{number}.png").write_bytes(content + bytes([number]))
    (root / "new-1.txt").write_text("a boat")
    (root / "deep").mkdir()
    (root / "07.png").rename(root / "deep" / "07.png")
    (root / "08.png").unlink()


def _turn_a_byte(root: Path, pattern: str) -> None:
    path = sorted((root / ".visterm").glob(pattern))[0]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def _first_edition(root: Path) -> None:
    """A collection of the first edition, with fewer pictures, so that trials are quick."""
    with tarfile.open(_SAMPLE) as tar:
        tar.extractall(root.parent, filter="data")
    (root.parent / "first-edition").rename(root)


BASES: dict[str, tuple[str | None, Callable[[Path], None]]] = {
    "pictures": (None, _pictures),
    "added": ("pictures", _added),
    "captioned": ("added", _captioned),
    "trained": ("captioned", _trained),
    "clicked": ("trained", _clicked),
    "grown": ("clicked", _grown),
    "index-harmed": ("clicked", lambda root: _turn_a_byte(root, "index/*/*.columns")),
    "features-harmed": ("clicked", lambda root: _turn_a_byte(root, "features/*/*.npy")),
    "model-harmed": ("clicked", lambda root: _turn_a_byte(root, "models/*/model.safetensors")),
    "first-edition": (None, _first_edition),
}


def make_base(name: str, folder: Path) -> Path:
    """A state, made in a folder of that name unless it is there."""
    root = folder / name / "pictures"
    if not root.exists():
        before, change = BASES[name]
        part = folder / f"{name}.making" / "pictures"
        shutil.rmtree(part.parent, ignore_errors=True)
        part.parent.mkdir(parents=True)
        if before is not None:
            shutil.copytree(make_base(before, folder), part)
        change(part)
        part.parent.rename(folder / name)
    return root


def _check(code: int) -> None:
    if code:
        raise SystemExit(f"a command that prepares trials ended with {code}")


def _small_batches(root: Path, acknowledge: Callable[[str], None]) -> int:
    """Adding in batches of three, with segments that are soon written together."""
    from visterm.collection.ingest import pipeline
    from visterm.collection.store import feature_rows

    pipeline.BATCH, feature_rows.RUN = 3, 3
    return command("add", "-C", str(root), "--features", _FEATURES)


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
    with TestClient(app, base_url="http://127.0.0.1") as client:
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


_REPAIR = typed("check", "--repair")

SCENARIOS = [
    Scenario("create", "pictures", _small_batches, whole=False),
    Scenario("add", "grown", _small_batches, whole=False),
    Scenario("caption", "clicked", typed("caption", "@/03.png", "red", "boat")),
    Scenario("caption-table", "added", typed("caption", "--from", "@/captions.tsv")),
    Scenario("first-train", "captioned", typed(*_TRAIN)),
    Scenario("train", "clicked", typed(*_TRAIN)),
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
    Scenario("repair-index", "index-harmed", _REPAIR, whole=False, damaged=True),
    Scenario("repair-features", "features-harmed", _REPAIR, whole=False, damaged=True),
    Scenario("repair-model", "model-harmed", _REPAIR, whole=False, damaged=True),
    Scenario("write-xmp", "clicked", _written_xmp, whole=False),
    Scenario("server", "clicked", _served, whole=False),
    Scenario("convert", "first-edition", typed("add")),
]


def scenario(name: str) -> Scenario:
    return next(one for one in SCENARIOS if one.name == name)

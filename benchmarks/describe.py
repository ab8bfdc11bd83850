"""How long does ``visterm describe`` take for 100 pictures it has never seen, as a new process?

    python -m benchmarks.describe --json [--data DATA/iaprtc12]

A collection of IAPR TC-12 pictures with their captions is described by the CNN and learnt from,
unmeasured. Then 100 pictures outside of it are described, with words, phrases and captions, each
time by a new process. The limit is 8 seconds. The peer, run in turns with it so that both meet the
same machine, is a process that does nothing but decode the same files and run the network over
them: ``ratio_network`` is what words, phrases and captions cost on top. The same is given for 100
pictures of the collection, whose vectors are kept, so that no network runs. ``phrases_right`` is
the share of the phrases said that the picture's own caption, which nobody was shown, holds too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common import say, show
from visterm.collection import Collection
from visterm.datasets import data_folder
from visterm.text.phrases import phrases

LIMIT = 8.0
PICTURES = 100
NETWORK = """import sys; from visterm.features.cnn import CNN
rows = CNN().fit().transform(sys.argv[1:]); assert len(rows) == len(sys.argv) - 1"""


class Lap(NamedTuple):
    """Seconds on the clock, and of processors."""

    wall: float
    busy: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.describe", description=__doc__)
    parser.add_argument("--data", help="the folder of IAPR TC-12")
    parser.add_argument("--collection", type=int, default=2000, help="pictures to learn from")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    data = data_folder("iaprtc12", arguments.data).absolute()
    with tempfile.TemporaryDirectory() as folder:
        taught = _taught(Path(folder, "pictures"), data, arguments.collection)
        unseen = {data / path: text for path, text in _rows(data, "test")[:PICTURES]}
        show(measure(taught, unseen, arguments.rounds), as_json=arguments.json)


def measure(taught: Path, unseen: dict[Path, str], rounds: int) -> dict[str, Any]:
    known = sorted(taught.rglob("*.jpg"))[:PICTURES]
    programs = {
        "describe": ["-m", "visterm", "describe", "--json", *map(str, unseen)],
        "describe_known": ["-m", "visterm", "describe", "--json", *map(str, known)],
        "network": ["-c", NETWORK, *map(str, unseen)],
    }
    laps: dict[str, list[Lap]] = {name: [] for name in programs}
    said = ""
    for number in range(rounds):
        for name, words in programs.items():
            lap, out = _timed(words, taught)
            laps[name].append(lap)
            said = out if name == "describe" else said
        say(f"round {number + 1} of {rounds}: {laps['describe'][-1].wall:.2f} s")
    about = json.loads(said)["pictures"]
    wall = {name: statistics.median(lap.wall for lap in some) for name, some in laps.items()}
    ratios = [
        ours.busy / peer.busy for ours, peer in zip(laps["describe"], laps["network"], strict=True)
    ]
    return {
        "pictures": len(about),
        "with_words": sum(bool(one["words"]) for one in about),
        "with_phrases": sum(bool(one["phrases"]) for one in about),
        "with_captions": sum(bool(one["captions"]) for one in about),
        "phrases_right": _right(about, unseen),
        "rounds": rounds,
        "seconds": round(wall["describe"], 2),
        "seconds_worst": round(max(lap.wall for lap in laps["describe"]), 2),
        "ratio_limit_8s": round(wall["describe"] / LIMIT, 3),
        "within_8s": wall["describe"] < LIMIT,
        "seconds_network": round(wall["network"], 2),
        "ratio_network": round(wall["describe"] / wall["network"], 2),
        "ratio_network_processor": round(statistics.median(ratios), 2),
        "seconds_known": round(wall["describe_known"], 2),
        "processor_seconds": round(statistics.median(lap.busy for lap in laps["describe"]), 2),
    }


def _right(about: list[dict[str, Any]], captions: dict[Path, str]) -> float:
    right = [
        one["phrase"] in {str(phrase) for phrase in phrases(captions[Path(picture["path"])])}
        for picture in about
        for one in picture["phrases"]
    ]
    return round(statistics.fmean(right), 3)


def _taught(folder: Path, data: Path, count: int) -> Path:
    """A collection that learnt from the first so many training pictures."""
    rows = _rows(data, "train")[:count]
    for path, _ in rows:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).symlink_to(data / path)
    table = folder.parent / "captions.tsv"
    table.write_text("".join(f"{path}\t{text}\n" for path, text in rows), encoding="utf-8")
    say(f"making a collection of {len(rows):,} pictures")
    with Collection.open(folder) as collection:
        collection.add(features="cnn")
        collection.caption_from(table)
        collection.train()
    return folder


def _rows(data: Path, part: str) -> list[tuple[str, str]]:
    lines = (data / f"{part}_captions.tsv").read_text(encoding="utf-8").splitlines()
    return [(path, text) for path, _, text in (line.partition("\t") for line in lines)]


def _timed(words: list[str], folder: Path) -> tuple[Lap, str]:
    began, before = time.perf_counter(), os.times()
    ran = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)
    after = os.times()
    if ran.returncode:
        raise SystemExit(ran.stderr)
    busy = after.children_user + after.children_system
    busy -= before.children_user + before.children_system
    return Lap(time.perf_counter() - began, busy), ran.stdout


if __name__ == "__main__":
    main()

"""How does a new user fare: every command's time, and how good the answers are?

    python -m benchmarks.new_user --json [--data DATA/corel5k]

On Corel's pictures with the captions of four fifths imported from a table: ``visterm add``,
``caption --from``, ``train`` and ``search``, each a process of its own, with the store in a
temporary folder. ``p10`` are the shares of right pictures among the first ten for queries asked of
the uncaptioned fifth: all its single words, and a draw from all word sets that its captions hold.
Chance is what ten pictures taken blindly would give.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import say, show
from visterm.collection import Collection
from visterm.datasets import data_folder
from visterm.text import Vocabulary, relevance_from_captions


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.new_user", description=__doc__)
    parser.add_argument("--data", help="Corel's folder")
    parser.add_argument("--features", default="cnn")
    parser.add_argument("--queries", type=int, default=600, help="drawn from all word sets")
    parser.add_argument("--limit", type=int, default=5000, help="use the first so many rows")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    data = data_folder("corel5k", arguments.data).absolute()
    rows = [row for name in ("train.tsv", "test.tsv") for row in _rows(data / name)]
    rows = rows[: arguments.limit]
    with tempfile.TemporaryDirectory() as folder:
        pictures = Path(folder, "pictures")
        for path in dict.fromkeys(path for path, _ in rows):
            (pictures / path).parent.mkdir(parents=True, exist_ok=True)
            (pictures / path).symlink_to(data / path)
        result = _commands(pictures, rows, arguments.features)
        hidden = [row for at, row in enumerate(rows) if at % 5 == 0]
        result["p10"] = _quality(pictures, hidden, arguments.queries)
    show(result, as_json=arguments.json)


def _rows(table: Path) -> list[tuple[str, str]]:
    lines = table.read_text(encoding="utf-8").splitlines()
    return [(path, words) for path, _, words in (line.partition("\t") for line in lines)]


def _commands(pictures: Path, rows: list[tuple[str, str]], features: str) -> dict[str, Any]:
    table = pictures.parent / "captions.tsv"
    told = {path for at, (path, _) in enumerate(rows) if at % 5}
    told -= {path for at, (path, _) in enumerate(rows) if at % 5 == 0}  # one stands twice
    table.write_text("".join(f"{path}\t{words}\n" for path, words in rows if path in told))
    seconds: dict[str, float] = {}

    def run(*words: str) -> dict[str, Any]:
        began = time.perf_counter()
        command = [sys.executable, "-m", "visterm", *words, "--json"]
        ran = subprocess.run(command, cwd=pictures, capture_output=True, text=True)
        if ran.returncode:
            raise SystemExit(ran.stderr)
        name = " ".join(words[:2]) if words[0] == "caption" else words[0]
        seconds[name] = round(time.perf_counter() - began, 2)
        say(f"{name}: {seconds[name]} s")
        return dict(json.loads(ran.stdout))

    added = run("add", "--features", features)
    imported = run("caption", "--from", str(table))
    trained = run("train")
    run("search", "tree snow")
    return {
        "pictures": added["new"],
        "captioned": imported["pictures"],
        "words": trained["words"],
        "avgp_held_out": None if trained["avgp"] is None else round(trained["avgp"], 4),
        "seconds": seconds,
    }


def _quality(pictures: Path, hidden: list[tuple[str, str]], most: int) -> dict[str, float]:
    """Precision among the first ten uncaptioned pictures, by kind of query."""
    captions = [words for _, words in hidden]
    vocabulary = Vocabulary.from_captions(captions, language=None)
    held = vocabulary.counts(captions)
    asked = relevance_from_captions(held, vocabulary.idf, max_words=4)
    random = np.random.default_rng(0)
    sizes = asked.words_per_query
    single = np.flatnonzero(sizes == 1)
    drawn = random.choice(len(asked), min(most, len(asked)), replace=False)
    with Collection.open(pictures, create=False) as collection:
        found: dict[str, float] = {}
        for name, chosen in (("single words", single), ("word sets", drawn)):
            right, chance = [], []
            for number in chosen.tolist():
                words = [vocabulary.words[t] for t in asked.queries[[number]].indices]
                wanted = {hidden[at][0] for at in asked.pictures[[number]].indices}
                try:
                    answer = collection.search(f"{' '.join(words)} captioned:no", 10)
                except ValueError:  # no caption taught any of the words
                    right.append(0.0)
                else:
                    paths = [
                        Path(one.path).relative_to(pictures).as_posix() for one in answer.results
                    ]
                    right.append(sum(path in wanted for path in paths) / 10)
                chance.append(len(wanted) / len(hidden))
            found[name] = round(float(np.mean(right)), 4)
            found[f"{name}, by chance"] = round(float(np.mean(chance)), 4)
    return found


if __name__ == "__main__":
    main()

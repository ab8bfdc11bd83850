"""What becomes of words that the starter does not know, and what do they cost?

    python -m benchmarks.other_words --json

``languages``: 200 words of the starter in German, French, Spanish, Italian, Portuguese and Dutch, a
list written by us (`other_words.tsv`): the part that is taken for the right word, or for one that
means the same. ``outside``: 100 everyday queries with words that the starter does not know, with
the words that may stand for them (`outside_words.tsv`, by us): how many are taken for a right word,
for a wrong one that the answer names, and for a wrong one without a word about it. ``spelling``:
every word of the starter of at least five letters with a letter left out, doubled, changed, or
swapped with the next, drawn with a seed: the part taken for the word, for another, and for none.
``cost``: a search with an unknown word against the same without, in milliseconds, in new processes
(``cold``) and in one that is open (``warm``), the median of several; the bar is a ratio of 1.5.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common import show
from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.starter import load_starter
from visterm.text import Vocabulary
from visterm.text.meaning import meanings
from visterm.text.query import parse_query, query_vector
from visterm.text.synonyms import same_words
from visterm.text.unknown_words import read_phrases

LISTS = Path(__file__).parent
ALSO = {
    "airplane": {"aircraft", "plane", "aeroplane", "airliner"},
    "bicycle": {"bike"},
    "cup": {"mug"},
    "harbour": {"port"},
    "road": {"street"},
    "street": {"road", "lane", "alley"},
    "backpack": {"rucksack"},
    "motorcycle": {"motorbike"},
    "mushroom": {"fungus"},
    "carpet": {"rug"},
    "coat": {"jacket"},
    "pig": {"piglet"},
    "monkey": {"macaque", "ape"},
    "sand": {"sandy"},
}
"""Words of the starter that mean the same to somebody who looks for pictures."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.other_words", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--limit", type=int, help="so many words of each list only")
    asked = parser.parse_args()
    vocabulary = load_starter().vocabulary
    found: dict[str, Any] = languages(vocabulary, _table("other_words.tsv"), asked.limit)
    found |= outside(vocabulary, asked.limit)
    found |= {"spelling": spelling(vocabulary, asked.limit)}
    found |= {"cost": cost(3 if asked.limit else 15)}
    show(found, as_json=asked.json)


def languages(
    vocabulary: Vocabulary, table: Sequence[Sequence[str]], limit: int | None
) -> dict[str, Any]:
    head, *rows = table[: None if limit is None else limit + 1]
    right = dict.fromkeys(head[1:], 0)
    wrong: dict[str, list[str]] = {name: [] for name in head[1:]}
    for english, *others in rows:
        for name, word in zip(head[1:], others, strict=True):
            taken = read(word, vocabulary)[0]
            if len(taken) == 1 and _means(taken[0], english, vocabulary):
                right[name] += 1
            else:
                wrong[name].append(f"{word} ({english}): {', '.join(taken) or 'nothing'}")
    return {
        "languages": round(sum(right.values()) / (len(rows) * len(right)), 4),
        "by_language": {name: round(count / len(rows), 3) for name, count in right.items()},
        "words_a_language": len(rows),
        "not_right": wrong,
    }


def outside(vocabulary: Vocabulary, limit: int | None) -> dict[str, Any]:
    rows = _table("outside_words.tsv")[:limit]
    right, unknown = 0, 0
    wrong: dict[str, list[str]] = {"said": [], "unsaid": []}
    for query, *allowed in rows:
        taken, said = read(query, vocabulary)
        fine = set(",".join(allowed).split(","))
        # What is typed and known is no substitute.
        own = {
            vocabulary.words[n] for w in query.split() if (n := vocabulary.number(w)) is not None
        }
        strange = [word for word in taken if word not in fine | own]
        if strange:
            kind = "said" if set(strange) <= said else "unsaid"
            wrong[kind].append(f"{query}: {', '.join(strange)}")
        elif set(taken) - own:
            right += 1
        else:
            unknown += 1
    return {
        "outside": {
            "queries": len(rows),
            "right_substitute": right,
            "said_to_be_unknown": unknown,
            **{f"wrong_substitute_{kind}": len(some) for kind, some in wrong.items()},
            "wrong": wrong,
        }
    }


def spelling(vocabulary: Vocabulary, limit: int | None) -> dict[str, float]:
    rng = random.Random(0)
    words = [word for word in vocabulary.words if len(word) >= 5 and word.isalpha()][:limit]
    counts = dict.fromkeys(("right", "wrong", "none"), 0)
    for word in words:
        at = rng.randrange(1, len(word) - 1)
        here, rest = word[at], word[at + 1 :]
        slips = (rest, here * 2 + rest, rng.choice("aeiourstln") + rest, rest[0] + here + rest[1:])
        taken, _ = read(word[:at] + rng.choice(slips), vocabulary)
        counts["none" if not taken else "right" if taken == [word] else "wrong"] += 1
    return {kind: round(count / len(words), 4) for kind, count in counts.items()}


def queries(rng: random.Random) -> dict[str, str]:
    """A query, and the same with one more word that nobody has met."""
    new = "".join(rng.choice("bcdfghklmnprst") + rng.choice("aeiou") for _ in range(4))
    return {"known": "sky tree", "unknown": f"sky tree {new}"}


def cost(times: int) -> dict[str, dict[str, float]]:
    """Milliseconds of a search with words that are known and with one more that is not."""
    rng = random.Random(0)
    spent: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        draw_scenes(folder, 200, size=(96, 64))
        with Collection.open(folder) as collection:
            collection.add()
            collection.caption_from(Path(folder, "captions.tsv"))
            collection.train()
            for _ in range(4 * times):
                for name, query in queries(rng).items():
                    begin = time.perf_counter()
                    collection.search(query)
                    spent.setdefault(("warm", name), []).append(time.perf_counter() - begin)
        for _ in range(times):
            for name, query in queries(rng).items():
                command = [
                    sys.executable,
                    "-m",
                    "visterm",
                    "search",
                    query,
                    "--as-is",
                    "-C",
                    folder,
                ]
                begin = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                spent.setdefault(("cold", name), []).append(time.perf_counter() - begin)
    found: dict[str, dict[str, float]] = {}
    for how in ("cold", "warm"):
        known, unknown = (1e3 * median(spent[how, name]) for name in ("known", "unknown"))
        found[how] = {
            "known_ms": round(known, 2),
            "unknown_ms": round(unknown, 2),
            "ratio": round(unknown / known, 3),
        }
    return found


def read(text: str, vocabulary: Vocabulary) -> tuple[list[str], set[str]]:
    """The known words that a query is taken for, and those that the answer says are substitutes."""
    query, phrases = read_phrases(parse_query(text), vocabulary, lambda _: False)
    vector = query_vector(query, vocabulary, meanings)
    said = {word for words in (phrases | vector.replaced).values() for word in words}
    return [vocabulary.words[number] for number in vector.numbers.tolist()], said


def _means(taken: str, english: str, vocabulary: Vocabulary) -> bool:
    right = {english, *same_words(english), *ALSO.get(english, ())}
    return vocabulary.number(taken) in {vocabulary.number(one) for one in right} - {None}


def _table(name: str) -> list[Sequence[str]]:
    lines = (LISTS / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


if __name__ == "__main__":
    main()

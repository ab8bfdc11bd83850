"""How right are the phrases taken from captions, against fifty captions read by a person?

    python -m benchmarks.phrases --json [--data DATA/iaprtc12]

``phrases_gold.tsv`` names fifty IAPR TC-12 pictures, drawn with seed 2006, and the phrases that one
person read in their captions before the rules were written; the captions stay where they are. Words
are compared as search compares them, singular and plural alike. The peer is the tagger's nouns and
verbs with every preposition attached to the word before it, which needs no rules.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks.common import say, show
from visterm.datasets import data_folder
from visterm.text.phrases import KINDS, Phrase, clauses, phrases, tagger
from visterm.text.tokens import stem

GOLD = Path(__file__).with_name("phrases_gold.tsv")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.phrases", description=__doc__)
    parser.add_argument("--data", help="the folder of IAPR TC-12")
    parser.add_argument("--gold", type=Path, default=GOLD, help="captions' phrases by hand")
    parser.add_argument("--wrong", action="store_true", help="list what differs, on stderr")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    captions = _captions(data_folder("iaprtc12", arguments.data))
    found = measure(captions, _gold(arguments.gold), list_wrong=arguments.wrong)
    show(found, as_json=arguments.json)


def measure(
    captions: dict[str, str], gold: dict[str, set[Phrase]], *, list_wrong: bool
) -> dict[str, Any]:
    began = time.perf_counter()
    tagger()
    loading = time.perf_counter() - began
    ours = {path: set(map(_folded, phrases(captions[path]))) for path in gold}
    peer = {path: set(map(_folded, _nearest(captions[path]))) for path in gold}
    if list_wrong:
        for path, wanted in gold.items():
            missed = "; ".join(" ".join(one.words) for one in wanted - ours[path])
            extra = "; ".join(" ".join(one.words) for one in ours[path] - wanted)
            say(f"{captions[path]}\n    missed: {missed}\n    extra: {extra}")
    some = list(captions.values())[:2000]
    began = time.perf_counter()
    for caption in some:
        phrases(caption)
    seconds = time.perf_counter() - began
    found = {"captions": len(gold), "phrases": sum(map(len, gold.values()))}
    scores = _scores(gold, ours, KINDS)
    nearest = _scores(gold, peer, KINDS)
    return found | {
        "all": scores,
        **{kind: _scores(gold, ours, (kind,)) for kind in KINDS},
        "nearest_word": nearest,
        "f1_ratio_nearest_word": round(scores["f1"] / nearest["f1"], 3) if nearest["f1"] else None,
        "seconds_to_load": round(loading, 3),
        "captions_per_second": round(len(some) / seconds),
    }


def _captions(folder: Path) -> dict[str, str]:
    lines = [
        line
        for part in ("train", "test")
        for line in (folder / f"{part}_captions.tsv").read_text(encoding="utf-8").splitlines()
    ]
    return {path: text for path, _, text in (line.partition("\t") for line in lines)}


def _gold(table: Path) -> dict[str, set[Phrase]]:
    """Phrases as they are written there: "man walk!", "walk! on road", "dog in_front_of house"."""
    gold = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        path, _, listed = line.partition("\t")
        gold[path] = {_folded(_written(one)) for one in listed.split("; ") if one}
    return gold


def _written(text: str) -> Phrase:
    words = text.split()
    kind = KINDS[0] if len(words) == 2 else KINDS[2 if words[0].endswith("!") else 1]
    return Phrase(kind, tuple(word.rstrip("!").replace("_", " ") for word in words))


def _folded(phrase: Phrase) -> Phrase:
    return Phrase(phrase.kind, tuple(stem(word) for word in phrase.words))


def _nearest(caption: str) -> list[Phrase]:
    """Each preposition with the noun or verb before it, each verb with the noun before it."""
    found = []
    for clause in clauses(caption):
        before, preposition = None, None
        for part in clause:
            if part.kind == "preposition":
                preposition = part.word
            elif part.kind in ("noun", "verb"):
                if part.kind == "verb" and before is not None and before.kind == "noun":
                    found.append(Phrase(KINDS[0], (before.word, part.word)))
                if part.kind == "noun" and before is not None and preposition is not None:
                    kind = KINDS[2 if before.kind == "verb" else 1]
                    found.append(Phrase(kind, (before.word, preposition, part.word)))
                before, preposition = part, None
    return found


def _scores(
    gold: dict[str, set[Phrase]], found: dict[str, set[Phrase]], kinds: tuple[str, ...]
) -> dict[str, float]:
    wanted = {(path, one) for path, some in gold.items() for one in some if one.kind in kinds}
    given = {(path, one) for path, some in found.items() for one in some if one.kind in kinds}
    right = len(wanted & given)
    precision, recall = right / max(len(given), 1), right / max(len(wanted), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return {
        "wanted": len(wanted),
        "given": len(given),
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "f1": round(f1, 3),
    }


if __name__ == "__main__":
    main()

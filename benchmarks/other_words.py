"""What becomes of words that the starter does not know: of other languages, and of every day?

    python -m benchmarks.other_words --json

``languages``: 200 words of the starter in German, French, Spanish, Italian, Portuguese and Dutch, a
list written by us (`other_words.tsv`): the part that the sentence encoder alone takes for the right
word, or for one that means the same. No translation is the spelling of another word of the
starter: that would be read as English. ``in_a_search`` is the same as a search reads them, which
looks everyday words up first (`visterm.text.translations`, which holds most of the list); and
``table_by_encoder`` what the sentence encoder alone would make of all words that can be looked up.
``outside``: 100 everyday queries with words that the
starter does not know, with the words that may stand for them (`outside_words.tsv`, by us): how many
are taken for a right word, for a wrong one that the answer calls a guess, for a wrong one that it
says it took, and for a wrong one without a word about it.
Needs the extras ``sentences`` and ``words``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.common import show
from visterm.starter import load_starter
from visterm.text import Vocabulary
from visterm.text.meaning import has_vectors, is_guess, meanings
from visterm.text.query import parse_query, query_vector
from visterm.text.sentence_encoder import has_sentences
from visterm.text.synonyms import same_words
from visterm.text.translations import TABLE
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
    found: dict[str, Any] = {"sentences": has_sentences(), "words": has_vectors()}
    rows = _table("other_words.tsv")
    found |= {"in_a_search": languages(vocabulary, rows, asked.limit)["languages"]}
    with patch("visterm.text.meaning.translated", return_value=()):
        found |= languages(vocabulary, rows, asked.limit)
        found |= {"table_by_encoder": _by_encoder(vocabulary, rows[0], asked.limit)}
    found |= outside(vocabulary, asked.limit)
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


def _by_encoder(vocabulary: Vocabulary, head: Sequence[str], limit: int | None) -> dict[str, float]:
    """The same for the words of the table that are spelt like no word of the starter."""
    words: dict[str, list[tuple[str, str]]] = {name: [] for name in head[1:]}
    for english, *others in _table(TABLE.name, TABLE.parent)[:limit]:
        for name, forms in zip(words, others, strict=True):
            own = [form for form in forms.split("|") if form != "-"]
            words[name] += [(english, one) for one in own if vocabulary.number(one) is None]
    right = {
        name: [
            len(taken := read(word, vocabulary)[0]) == 1 and _means(taken[0], english, vocabulary)
            for english, word in some
        ]
        for name, some in words.items()
    }
    every = [one for some in right.values() for one in some]
    by_language = {name: round(sum(some) / len(some), 3) for name, some in right.items()}
    return {"words": len(every), "right": round(sum(every) / len(every), 4), **by_language}


def outside(vocabulary: Vocabulary, limit: int | None) -> dict[str, Any]:
    rows = _table("outside_words.tsv")[:limit]
    right, unknown = 0, 0
    wrong: dict[str, list[str]] = {"guess": [], "said": [], "unsaid": []}
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
            if kind == "said" and is_guess(query, vocabulary):
                kind = "guess"
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


def read(text: str, vocabulary: Vocabulary) -> tuple[list[str], set[str]]:
    """The known words that a query is taken for, and those that the answer says are substitutes."""
    query, phrases = read_phrases(parse_query(text), vocabulary, lambda _: False)
    vector = query_vector(query, vocabulary, meanings)
    said = {word for words in (phrases | vector.replaced).values() for word in words}
    return [vocabulary.words[number] for number in vector.numbers.tolist()], said


def _means(taken: str, english: str, vocabulary: Vocabulary) -> bool:
    right = {english, *same_words(english), *ALSO.get(english, ())}
    return vocabulary.number(taken) in {vocabulary.number(one) for one in right} - {None}


def _table(name: str, folder: Path = LISTS) -> list[Sequence[str]]:
    lines = (folder / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


if __name__ == "__main__":
    main()

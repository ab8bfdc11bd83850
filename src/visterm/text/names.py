"""Names of several words in captions: "Aunt Rosa", "Golden Gate Bridge", "rio de janeiro".

A run of capitalised words, something in quotes, or an entry of a list of keywords is a name if it
recurs and its words seldom stand without each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from visterm.text.tokens import tokens, word_pattern

LONGEST = 4
"""Words of a name, but for those that join them."""
_TOGETHER = 0.5
"""At least so often as its rarest word, a name must stand there as a whole."""
_JOINING = frozenset(["of", "de", "la", "le", "du", "des", "del", "di", "da", "van", "von", "der"])
_ENTRIES = re.compile(r"[,;\n|]")
_SENTENCES = re.compile(r"[.,;:!?\n|()\[\]/\"“”„]|\s[-–—]\s")
_QUOTED = re.compile(r"[\"“„]([^\"“”„]{3,60})[\"”“]")

Name = tuple[str, ...]


def names_in(captions: Sequence[str], stop_words: Collection[str] = ()) -> list[str]:
    """Names that at least two captions hold, or one in quotes, in lower case.

    >>> names_in(["Aunt Rosa in New York", "new york at night, with Aunt Rosa", "New York"])
    ['aunt rosa', 'new york']
    """
    plain = [unicodedata.normalize("NFKC", text) for text in captions]
    written: Counter[str] = Counter()
    for text in plain:
        written.update({word[0] for word in word_pattern(text).finditer(text)})
    counts: Counter[Name] = Counter()
    quoted: set[Name] = set()
    for text in plain:
        marked = {tuple(tokens(found)) for found in _QUOTED.findall(text)}
        quoted |= marked
        runs = {part for run in _runs(text, written) for part in _parts(run)}
        counts.update(runs | set(_entries(text, stop_words)) | marked)
    kept = {
        name
        for name, count in counts.items()
        if 2 <= _length(name) <= LONGEST and (count >= 2 or name in quoted)
    }
    holding = _holding(plain, kept)
    whole = {name: holding[name] for name in kept if _belong_together(name, holding)}
    return sorted(" ".join(name) for name in whole.keys() - _inner(whole))


def _runs(text: str, written: Counter[str]) -> Iterator[Name]:
    """Runs of capitalised words, in lower case; at a beginning everybody writes a capital."""
    for sentence in _SENTENCES.split(text):
        words = [found[0] for found in word_pattern(sentence).finditer(sentence)]
        if words and written[words[0].lower()] > written[words[0]]:
            words[0] = words[0].lower()
        run: list[str] = []
        for word in [*words, ""]:
            if word[:1].isupper() or (run and word in _JOINING):
                run.append(word)
                continue
            while run and run[-1] in _JOINING:
                run.pop()
            name = tuple(one.lower() for one in run)
            if 2 <= _length(name) <= LONGEST:  # in a longer one every word has a capital
                yield name
            run = []


def _parts(run: Name) -> Iterator[Name]:
    """The run, and what is left of it without its first or last words."""
    for first in range(len(run)):
        for stop in range(first + 2, len(run) + 1):
            part = run[first:stop]
            if part[0] not in _JOINING and part[-1] not in _JOINING:
                yield part


def _entries(text: str, stop_words: Collection[str]) -> Iterator[Name]:
    """Entries of several words, of a text that is a list."""
    entries = _ENTRIES.split(text)
    for entry in entries if len(entries) > 1 else ():
        name = tuple(tokens(entry))
        if len(name) < LONGEST and " ".join(name) == entry.strip().lower():
            joined = name[1:-1]
            if not any(word in stop_words and word not in joined for word in name):
                yield name


def _holding(captions: Iterable[str], names: set[Name]) -> Counter[Name]:
    """How many captions hold each name, and each of its words."""
    lengths = {len(name) for name in names}
    wanted = names | {(word,) for name in names for word in name}
    found: Counter[Name] = Counter()
    for text in captions:
        words = tokens(text)
        runs = {
            tuple(words[at : at + length])
            for length in (1, *lengths)
            for at in range(len(words) - length + 1)
        }
        found.update(runs & wanted)
    return found


def _belong_together(name: Name, holding: Counter[Name]) -> bool:
    rarest = min(holding[word,] for word in name if word not in _JOINING)
    return holding[name] >= _TOGETHER * rarest


def _inner(names: dict[Name, int]) -> set[Name]:
    """Those that never stand without a longer name around them."""
    return {
        part
        for name, count in names.items()
        for part in _parts(name)
        if part != name and names.get(part) == count
    }


def _length(name: Name) -> int:
    return sum(word not in _JOINING for word in name)

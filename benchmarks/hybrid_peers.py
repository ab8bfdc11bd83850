"""The peers of ranking by sight and captions: text only, and two ways to put captions first."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.text.tokens import STOP_WORDS, stem, tokens

Floats = NDArray[np.float64]


def words_in(text: str) -> list[str]:
    """Stemmed as visterm's own, so that no peer fails for a plural."""
    return [stem(token) for token in tokens(text) if token not in STOP_WORDS]


class CaptionSearch:
    """bm25s over captions; a picture without any is an empty document."""

    def __init__(self, captions: Sequence[str]) -> None:
        self.words = [words_in(text) for text in captions]
        self.sets = [set(words) for words in self.words]
        self.engine: Any = importlib.import_module("bm25s").BM25()
        # An index of empty documents only is none.
        self.engine.index([words or [""] for words in self.words], show_progress=False)

    def scores(self, query: str) -> Floats:
        """BM25 of every picture; 0 where its caption holds no word of the query."""
        wanted = [word for word in words_in(query) if word in self.engine.vocab_dict]
        if not wanted:
            return np.zeros(len(self.words))
        return np.asarray(self.engine.get_scores(wanted), np.float64)

    def with_all(self, query: str) -> NDArray[np.bool_]:
        """Whose captions hold all words of a query."""
        wanted = set(words_in(query))
        return np.array([wanted <= words for words in self.sets])


def first(leading: Floats, then: Floats) -> Floats:
    """Scores that rank by the first, and among its equals by the second."""
    order = np.lexsort((np.arange(len(then)), -then, -leading))
    ranked = np.empty(len(order))
    ranked[order] = -np.arange(len(order))
    return ranked

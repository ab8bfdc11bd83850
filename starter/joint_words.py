"""Trained words and the network's classes as one model: shares, what words lend, scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from starter.class_weights import class_weights, of_unit_spread
from starter.classes import Classes
from starter.corpus import Corpus
from starter.related_words import lent
from visterm.text import Vocabulary

Floats = NDArray[np.float32]

TRAINED = 0.5
"""What the captions' weights count where the network knows a word, too."""
SPREAD = 0.25
"""The spread of a usual word's scores over pictures at large, where PAMIR's margin is 1: small
enough for captions to teach something else, large enough to count where few do."""
USUAL = 3.5
"""The idf of such a word. A query weighs its words by idf, which tells how rare a word is in
captions of travels, and little about other pictures; the spread of a rarer word is less by as much,
so that both words of a query of two count alike."""


@dataclass(frozen=True, eq=False)
class Joined:
    """The words of both, their weights on one scale, and where each comes from."""

    vocabulary: Vocabulary
    weights: Floats
    share: NDArray[np.float64]
    """How much of a word is trained: 1 where only the corpus knows it, 0 where only the network."""
    numbers: NDArray[np.int64]
    """Each word's number in the corpus, −1 where it has none there."""

    def only(self, kept: NDArray[np.bool_]) -> Joined:
        """Without the words that are not kept."""
        words = tuple(w for w, one in zip(self.vocabulary.words, kept, strict=True) if one)
        vocabulary = Vocabulary(words, self.vocabulary.idf[kept])
        return Joined(vocabulary, self.weights[kept], self.share[kept], self.numbers[kept])

    def counts(self) -> dict[str, int]:
        """How many words come from where."""
        return {
            "all": len(self.share),
            "trained": int((self.share == 1).sum()),
            "classes": int((self.share == 0).sum()),
            "both": int(((self.share > 0) & (self.share < 1)).sum()),
        }


def join(corpus: Corpus, pictures: NDArray[np.int64], trained: Floats, classes: Classes) -> Joined:
    """Both kinds of words as one model; ``pictures`` say what is usual."""
    vectors = corpus.vectors[pictures]
    learnt = of_unit_spread(trained, vectors)
    known = class_weights(vectors, corpus.activations[pictures], classes)
    numbers = [corpus.vocabulary.number(word) for word in classes.words]
    share = np.ones(len(learnt))
    for row, t in zip(known, numbers, strict=True):
        if t is not None:
            share[t] = TRAINED
            learnt[t] = TRAINED * learnt[t] + (1 - TRAINED) * row
    others = [at for at, t in enumerate(numbers) if t is None]
    words = corpus.vocabulary.words + tuple(list(classes.words)[at] for at in others)
    weights = of_unit_spread(np.concatenate([learnt, known[others]]), vectors)
    weights = of_unit_spread(weights + lent(words) @ weights, vectors)
    # A class that the corpus does not speak of is as rare as those it does usually are.
    usual = float(np.median(corpus.vocabulary.idf[[t for t in numbers if t is not None]]))
    idf = np.concatenate([corpus.vocabulary.idf, np.full(len(others), usual)])
    return Joined(
        Vocabulary(words, idf),
        (SPREAD * USUAL / idf[:, None] * weights).astype(np.float32),
        np.concatenate([share, np.zeros(len(others))]),
        np.concatenate([np.arange(len(learnt)), np.full(len(others), -1)]),
    )

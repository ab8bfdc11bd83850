"""Trained words and the network's classes as one model: shares, scale, words of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from starter.class_weights import class_weights, of_unit_spread
from starter.classes import Classes
from starter.corpus import Corpus
from starter.trained_words import word_quality
from visterm.text import Vocabulary

Floats = NDArray[np.float32]

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Parts that a trained word may have where the network knows the word, too."""
CHEAP = 0.03
"""The network saw more kinds of pictures than the corpus has, so its part is the largest that costs
no more than this part of the AvgP."""
SPREAD = 0.25
"""The spread of every word's scores over pictures at large, where PAMIR's margin is 1: small enough
for captions to teach something else, large enough to count where few do. Of ⅒ to 1½ it was the
best to learn on from, on Corel's validation pictures; how pictures rank does not depend on it."""
QUIETER = 0.7
"""What a word of the network alone counts against a trained one in a query of two: of ⅓ to 2 it
had the best AvgP over 8,510 pairs of one each, on validation pictures."""
_FEW = 10.0
"""A word's own validation pictures count as much as all words together once it has so many."""


class Words(NamedTuple):
    """PAMIR's weights over the corpus's words, and which of them can be seen."""

    weights: Floats
    seen: NDArray[np.bool_]


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


def join(
    corpus: Corpus,
    pictures: NDArray[np.int64],
    trained: Words,
    classes: Classes,
    judged: Joined | None = None,
) -> Joined:
    """Both kinds of words as one model.

    ``pictures`` say what is usual. Shares are chosen on validation pictures, or taken from what
    was ``judged`` before.
    """
    vectors = corpus.vectors[pictures]
    learnt = of_unit_spread(trained.weights, vectors)
    known = class_weights(vectors, corpus.activations[pictures], classes)
    number = {word: corpus.vocabulary.number(word) for word in classes.words}
    place = {t: at for at, t in enumerate(number.values()) if t is not None}
    kept = [t for t in range(len(corpus.vocabulary)) if trained.seen[t] or t in place]
    share = _shares_of(corpus, trained, learnt, known, kept, place, judged)
    mixed = np.stack(
        [
            share[row] * learnt[t] + (1 - share[row]) * known[place[t]] if t in place else learnt[t]
            for row, t in enumerate(kept)
        ]
    )
    others = [at for at, t in enumerate(number.values()) if t is None]
    weights = of_unit_spread(np.concatenate([mixed, known[others]]), vectors)
    words = [corpus.vocabulary.words[t] for t in kept] + [list(number)[at] for at in others]
    parts = np.concatenate([share, np.zeros(len(others))])
    weights *= (parts + QUIETER * (1 - parts))[:, None].astype(np.float32)
    idf = corpus.vocabulary.idf[kept]
    # A class that the corpus does not speak of is as rare as those it does usually are.
    usual = float(np.median(corpus.vocabulary.idf[list(place)]))
    return Joined(
        Vocabulary(tuple(words), np.concatenate([idf, np.full(len(others), usual)])),
        (SPREAD * weights).astype(np.float32),
        parts,
        np.array([*kept, *([-1] * len(others))]),
    )


def _shares_of(
    corpus: Corpus,
    trained: Words,
    learnt: Floats,
    known: Floats,
    kept: list[int],
    place: dict[int, int],
    judged: Joined | None,
) -> NDArray[np.float64]:
    """The trained part of each kept word."""
    if judged is not None:
        return judged.share[: len(kept)]
    found = np.ones(len(kept))
    rows = [row for row, t in enumerate(kept) if t in place]
    numbers = [kept[row] for row in rows]
    vectors = corpus.vectors[corpus.validation]
    classes = known[[place[t] for t in numbers]]
    found[rows] = shares(
        _standardised(vectors @ learnt[numbers].T),
        _standardised(vectors @ classes.T),
        corpus.words[corpus.validation][:, numbers],
    )
    # What cannot be seen by the trained weights is for the network alone.
    blind = [row for row in rows if not trained.seen[kept[row]]]
    found[blind] = 0.0
    return found


def _standardised(scores: Floats) -> Floats:
    return (scores - scores.mean(axis=0)) / np.maximum(scores.std(axis=0), 1e-6)


def shares(trained: Floats, known: Floats, words: csr_array) -> NDArray[np.float64]:
    """How much of each word should be the trained one, by AvgP on validation pictures.

    Parameters
    ----------
    trained, known : arrays of shape (n, W)
        Scores of validation pictures for words that both know, standardised.
    words : array of shape (n, W)
        Which pictures have which word.

    Notes
    -----
    A word with few pictures follows what is best for all words together: its own AvgP counts by
    its pictures against `_FEW`.
    """
    reached = np.array(
        [word_quality((s * trained + (1 - s) * known).astype(np.float32), words) for s in SHARES]
    )
    holding = np.bincount(words.indices, minlength=words.shape[1])
    common = np.nanmean(reached, axis=1)
    own = np.nan_to_num(reached)
    score = (holding * own + _FEW * common[:, None]) / (holding + _FEW)
    return np.array(SHARES)[(score >= (1 - CHEAP) * score.max(axis=0)).argmax(axis=0)]

"""Which words pictures can show, learnt from captions: the words that a version predicts.

Each captioned picture is held out in turn. The others that hold a word say what it looks like, the
mean of their whitened vectors, and the word can be seen as far as a picture that holds it lies
nearer to that mean than one that does not: the area under the ROC curve, one half by chance,
however rare the word is. What counts is its lower confidence bound (Wilson), so that two lucky
pictures show nothing. One mean a word, with its own picture taken out of it, needs no model to be
trained again for each picture.

- A word of nearly all captions, or of talk about pictures (`PICTURE_TALK`), is never predicted.
- Of a large vocabulary the words that are seen best are, a quarter at most.
- Of a small one all are, but those that have been shown to be no matter of sight.
- A word that the starter knows stays, unless captions show that it cannot be seen.

All words can be searched for in captions, whether or not they are predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.text.stop_words import PICTURE_TALK
from visterm.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from visterm.features.extractor import Rows as Vectors

MOST = 0.25
"""The part of a large vocabulary that is predicted at most."""
FEW_WORDS = 500
"""A vocabulary is large from here on."""
_ENOUGH = 200
"""Captioned pictures from which on they can judge words."""
_NEARLY_ALL = 0.75
"""The part of captions from which on a word says nothing about any of them."""
_CHANCE, _UNSEEN = 0.5, 0.65
"""Areas under the ROC curve: surely above the one a word is seen, below the other it is not."""
_DEVIATIONS = 2.5
"""How many standard deviations make sure."""
_RANK = 256
_MOST_PICTURES = 100_000
_COMPARED = 2000
"""Pictures that those with a word are compared with."""
_WIDEST = 2048
_LEARNT_FROM = 10_000
"""Pictures from which the whitening is learnt."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Visibility:
    """How well each word is seen: examples, and bounds of the area under the ROC curve."""

    examples: NDArray[np.integer]
    least: NDArray[np.float64]
    most: NDArray[np.float64]


def visible_words(
    vectors: Vectors | None, captions: csr_array, words: Sequence[str], known: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which of the words to predict, from pictures and their captions (pictures × words).

    ``known`` are words that a model already sees from elsewhere. Without ``vectors``, which may be
    damaged, none is judged by them.
    """
    talk = Vocabulary.of_words(sorted(PICTURE_TALK))
    allowed = np.array([word not in talk for word in words], bool)
    if vectors is None or captions.shape[0] < _ENOUGH:
        return allowed
    allowed &= np.bincount(captions.indices, minlength=len(words)) < (
        _NEARLY_ALL * captions.shape[0]
    )
    found = visibility(vectors, captions)
    predicted = allowed & (found.most >= _UNSEEN)
    if len(words) > FEW_WORDS:
        best = np.argsort(-np.where(allowed, found.least, 0.0), kind="stable")
        chosen = np.zeros(len(words), bool)
        chosen[best[: max(FEW_WORDS, int(MOST * len(words)))]] = True
        predicted &= known | (chosen & (found.least > _CHANCE))
    return predicted


def visibility(vectors: Vectors, captions: csr_array, *, seed: int = 0) -> Visibility:
    """How well pictures show the words of their captions (pictures × words)."""
    random = np.random.default_rng(seed)
    if captions.shape[0] > _MOST_PICTURES:
        some = np.sort(random.choice(captions.shape[0], _MOST_PICTURES, replace=False))
        vectors, captions = vectors[some], captions[some]
    rows = _whitened(vectors, random)
    compared = np.sort(random.choice(len(rows), min(_COMPARED, len(rows)), replace=False))
    holding = captions.astype(bool).astype(np.float32).tocsc()
    examples = np.diff(holding.indptr)
    sums = np.asarray(holding.T @ rows)
    near = (rows[compared] @ sums.T).T  # one product instead of thousands
    areas = np.full(len(sums), 0.5)
    for word in np.flatnonzero((examples > 1) & (examples < len(rows))).tolist():
        pictures = holding.indices[holding.indptr[word] : holding.indptr[word + 1]]
        own = rows[pictures]
        with_word = (own @ sums[word] - np.square(own).sum(axis=1)) / (len(own) - 1)
        without = near[word][~np.isin(compared, pictures)] / len(own)
        areas[word] = _area(with_word, without)
    least, most = wilson_bounds(areas, np.maximum(examples, 1), _DEVIATIONS)
    return Visibility(examples, least, most)


def _area(higher: Floats, lower: Floats) -> float:
    """The area under the ROC curve: how often one of the former is above one of the latter."""
    if not len(lower):
        return 0.5
    return float(np.searchsorted(np.sort(lower), higher).mean() / len(lower))


def wilson_bounds(
    share: NDArray[np.float64], examples: NDArray[np.integer], deviations: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of a mean of numbers between 0 and 1: no such numbers vary more than yes and no.

    >>> [bound.round(2).tolist() for bound in wilson_bounds(np.ones(2), np.array([2, 50]), 2.5)]
    [[0.24, 0.89], [1.0, 1.0]]
    """
    more = deviations**2 / examples
    centre = (share + more / 2) / (1 + more)
    width = np.sqrt(share * (1 - share) * more + more**2 / 4) / (1 + more)
    return centre - width, centre + width


def _whitened(vectors: Vectors, random: np.random.Generator) -> Floats:
    """Vectors in the directions in which they vary most, each of which counts about alike."""
    if not isinstance(vectors, np.ndarray) or vectors.shape[1] > _WIDEST:
        # Random projections keep distances, and bring what is sparse or wide to a width to square.
        mixture = random.standard_normal((vectors.shape[1], _WIDEST // 2), np.float32)
        vectors = np.asarray(vectors @ mixture, np.float32)
    some = random.choice(len(vectors), min(len(vectors), _LEARNT_FROM), replace=False)
    mean = vectors[some].mean(axis=0)
    sample = vectors[some] - mean
    variance, directions = np.linalg.eigh((sample.T @ sample).astype(np.float64) / len(some))
    scales = 1 / np.sqrt(variance[-_RANK:] + max(variance.mean(), np.finfo(float).tiny))
    return np.asarray((vectors - mean) @ (directions[:, -_RANK:] * scales).astype(np.float32))

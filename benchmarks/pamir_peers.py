"""The peers of PAMIR's training: its own loops in plain NumPy, and a linear SVM for each word."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.pamir_problem import Pictures
from visterm.evaluation import mean_average_precision
from visterm.models.pamir._triplets import Objective, Triplets
from visterm.text import Relevance

Floats = NDArray[np.float32]


Drawn: TypeAlias = "list[tuple[NDArray[np.intp], Floats, int, int]]"
"""Words and weights of queries, p⁺ and p⁻."""


def drawn(triplets: Triplets, state: NDArray[np.uint64], count: int) -> Drawn:
    """The next triplets, drawn beforehand, so that NumPy's loops need not pay for it."""
    block = triplets.draw(state, count, Objective())
    return [
        (words[:size], weights[:size], better, worse)
        for words, weights, size, better, worse in zip(
            block.words.astype(np.intp),
            block.weights,
            block.sizes,
            block.better.tolist(),
            block.worse[:, 0].tolist(),
            strict=True,
        )
    ]


def loop_over_gram(
    gram: Floats, scores: Floats, alpha: Floats, least: float, c: float, chosen: Drawn
) -> None:
    """The loop of `steps_gram`, a NumPy call an operation."""
    for words, q, better, worse in chosen:
        loss = least - q @ (scores[words, better] - scores[words, worse])
        if loss <= 0:
            continue
        square = gram[better, better] + gram[worse, worse] - 2 * gram[better, worse]
        step = min(c, loss / (q @ q * square)) * q
        alpha[words, better] += step
        alpha[words, worse] -= step
        difference = gram[better] - gram[worse]
        for word, part in zip(words, step, strict=True):
            scores[word] += part * difference


def loop_by_numbers(
    gram: Floats,
    scores: Floats,
    alpha: Floats,
    least: float,
    c: float,
    chosen: list[tuple[list[int], list[float], int, int]],
) -> None:
    """The same in plain Python, which reads single numbers faster than NumPy reads a few at once.

    Only what a step does to whole rows is left to NumPy.
    """
    score_at, gram_at = scores.item, gram.item
    for words, q, better, worse in chosen:
        loss = least
        for word, weight in zip(words, q, strict=True):
            loss -= weight * (score_at(word, better) - score_at(word, worse))
        if loss <= 0:
            continue
        square = gram_at(better, better) + gram_at(worse, worse) - 2 * gram_at(better, worse)
        tau = min(c, loss / (sum(weight * weight for weight in q) * square))
        difference = gram[better] - gram[worse]
        for word, weight in zip(words, q, strict=True):
            alpha[word, better] += tau * weight
            alpha[word, worse] -= tau * weight
            scores[word] += np.float32(tau * weight) * difference


def loop_over_weights(
    weights: Floats, vectors: csr_array, least: float, c: float, chosen: Drawn
) -> None:
    """The loop of `steps_sparse`, a NumPy call an operation."""
    starts, columns, values = vectors.indptr, vectors.indices, vectors.data
    spread = np.zeros(vectors.shape[1], dtype=np.float32)
    for words, q, better, worse in chosen:
        up, down = (slice(starts[p], starts[p + 1]) for p in (better, worse))
        at_up, at_down = (words[:, None], columns[up]), (words[:, None], columns[down])
        gaps = weights[at_up] @ values[up] - weights[at_down] @ values[down]
        loss = least - q @ gaps
        if loss <= 0:
            continue
        spread[columns[up]] = values[up]
        spread[columns[down]] -= values[down]
        square = spread @ spread
        spread[columns[up]] = spread[columns[down]] = 0
        step = min(c, loss / (q @ q * square)) * q
        weights[at_up] += np.outer(step, values[up])
        weights[at_down] -= np.outer(step, values[down])


class Svm(NamedTuple):
    """The better of some linear SVMs: its seconds for one fit, its C and its AvgP."""

    seconds: float
    c: float
    avgp: float


def linear_svm(
    training: Pictures, held: Pictures, asked: Relevance, choices: Sequence[float]
) -> Svm:
    """One classifier a word; scores standardised per word, and a query adds up its words'.

    Only fitting is timed, and only with the C that is best on validation. A query's words count
    alike or by idf, whichever serves the SVM better.
    """
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    used = np.flatnonzero(np.bincount(training.captions.indices, minlength=asked.queries.shape[1]))
    # Not int8: scikit-learn 1.9.1 gives back other labels for more than 128 columns of it.
    labels = training.captions[:, used].toarray().astype(np.int64)
    plain = asked.queries.copy()
    plain.data[:] = 1
    found = []
    for c in choices:
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            svm = OneVsRestClassifier(LinearSVC(C=c)).fit(training.vectors, labels)
        seconds = time.process_time() - begin
        known = svm.decision_function(training.vectors)
        rows = np.zeros((held.vectors.shape[0], asked.queries.shape[1]), dtype=np.float32)
        new = svm.decision_function(held.vectors)
        rows[:, used] = (new - known.mean(axis=0)) / np.maximum(known.std(axis=0), 1e-9)
        avgp = max(
            mean_average_precision(queries @ rows.T, asked.pictures)
            for queries in (plain, asked.queries)
        )
        found.append(Svm(seconds, c, avgp))
    return max(found, key=lambda svm: svm.avgp)

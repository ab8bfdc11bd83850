"""The three EMs of PLSA, as endless walks: each yields its factors after every step.

With them comes the log-likelihood of the factors before the step, which never falls.

Both halves of an EM step have one form. With counts c between rows i and columns j, and their
factors a_i and b_j over the aspects, the posterior of aspect k for a pair is
``a_ik b_jk / (a_i·b_j)``, so the new factors, before they are normalised, are
``a_ik · Σ_j c_ij / (a_i·b_j) · b_jk``. Rows do not touch each other: however they are shared out
among threads, the result is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

Factors = NDArray[np.float64]
"""A row for each picture, word or visterm, a column for each aspect."""
_PARTS = 16


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def half_step(starts, columns, values, rows, others, first, last, new, likelihood):  # type: ignore[no-untyped-def]
    """Fill the rows from first to last of ``new`` and of ``likelihood``, ``Σ_j c_ij log a_i·b_j``.

    A pair that no aspect explains is passed over: no step could ever explain it.
    """
    aspects = rows.shape[1]
    share = np.empty(aspects)
    for i in range(first, last):
        mine = rows[i]
        share[:] = 0.0
        known = 0.0
        for at in range(starts[i], starts[i + 1]):
            other = others[columns[at]]
            probability = 0.0
            for k in range(aspects):
                probability += mine[k] * other[k]
            if probability <= 0.0:
                continue
            known += values[at] * np.log(probability)
            weight = values[at] / probability
            for k in range(aspects):
                share[k] += weight * other[k]
        likelihood[i] = known
        for k in range(aspects):
            # What has all but vanished becomes zero, before it is a slow subnormal number.
            product = mine[k] * share[k]
            new[i, k] = product if product > 1e-100 else 0.0


class Counts:
    """Counts in compressed rows, in the one layout the loop is compiled for."""

    def __init__(self, counts: csr_array) -> None:
        self.rows = counts.shape[0]
        self.starts = counts.indptr.astype(np.int64)
        self.columns = counts.indices.astype(np.int32)
        self.values = counts.data.astype(np.float64)
        # Parts of about equal work, so that no thread waits long for another.
        edges = np.searchsorted(self.starts, np.linspace(0, len(self.values), _PARTS + 1))
        edges[0], edges[-1] = 0, self.rows
        self.parts = [(first, last) for first, last in pairwise(edges) if first < last]

    def explain(self, rows: Factors, columns: Factors, threads: Executor) -> tuple[Factors, float]:
        """New factors of the rows, not yet normalised, and the log-likelihood of the old ones."""
        new, likelihood = np.empty_like(rows), np.empty(len(rows))

        def explain_part(part: tuple[int, int]) -> None:
            half_step(self.starts, self.columns, self.values, rows, columns, *part, new, likelihood)

        list(threads.map(explain_part, self.parts))
        return new, float(likelihood.sum())


def walk_text(
    captions: csr_array, aspects: int, seed: int, threads: Executor
) -> Iterator[tuple[Factors, Factors, float]]:
    """``P(z|p)`` and ``P(t|z)`` that explain the captions, from a seeded start."""
    by_picture, by_word = Counts(captions), Counts(csr_array(captions.T.tocsr()))
    random = np.random.default_rng(seed)
    words = _shares(random.random((captions.shape[1], aspects)), 0)
    pictures = _shares(random.random((captions.shape[0], aspects)), 1)
    while True:
        new_pictures, likelihood = by_picture.explain(pictures, words, threads)
        new_words, _ = by_word.explain(words, pictures, threads)
        pictures, words = _shares(new_pictures, 1), _shares(new_words, 0)
        yield pictures, words, likelihood


def walk_visterms(
    by_visterm: Counts, pictures: Factors, threads: Executor
) -> Iterator[tuple[Factors, float]]:
    """``P(v|z)`` that explains the visterms of pictures whose ``P(z|p)`` is held."""
    visterms = np.full((by_visterm.rows, pictures.shape[1]), 1.0 / by_visterm.rows)
    while True:
        new, likelihood = by_visterm.explain(visterms, pictures, threads)
        visterms = _shares(new, 0)
        yield visterms, likelihood


def walk_folding(
    by_picture: Counts, visterms: Factors, prior: NDArray[np.float64], threads: Executor
) -> Iterator[tuple[Factors, float]]:
    """``P(z|p)`` of new pictures, with ``P(v|z)`` held; one that says nothing stays at P(z)."""
    pictures = np.tile(prior, (by_picture.rows, 1))
    while True:
        new, likelihood = by_picture.explain(pictures, visterms, threads)
        silent = new.sum(axis=1) == 0
        new[silent] = prior
        pictures = _shares(new, 1)
        yield pictures, likelihood


def _shares(factors: Factors, axis: int) -> Factors:
    """Divide so that the sums along an axis are one; what is all zero stays so."""
    total = factors.sum(axis=axis, keepdims=True)
    return np.asarray(factors / np.where(total > 0, total, 1.0))

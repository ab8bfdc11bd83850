"""Compiled loop of PAMIR: measure the loss of drawn triplets, take the passive-aggressive steps.

`steps` is compiled for three places where the score can live; of its arguments ``gram``, ``sparse``
and ``dense`` two are None, and numba leaves their branches out. With ``gram``, the scores of all
pictures are kept up to date, so that looking at a triplet costs a few reads and only a step costs
a pass over the pictures: best for few pictures or long vectors. With ``sparse`` or ``dense`` rows
the weights are kept, and each look pays for its pictures: best for many pictures.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from visterm.models.pamir.passive_aggressive import step_size

_step_size = njit(inline="always")(step_size)
# Pictures this near each other, by their own size, differ in a Gram matrix by rounding alone.
_ROUNDING = np.float32(1e-6)
_FAST = {"contract", "reassoc", "nsz"}


@njit(nogil=True)
def _sparse_dot(table, word, columns, values, first, last):  # type: ignore[no-untyped-def]
    """Four running sums: plain loads beat the gather instructions a vectoriser would choose."""
    a = b = c = d = np.float32(0)
    i = first
    while i + 3 < last:
        a += table[word, columns[i]] * values[i]
        b += table[word, columns[i + 1]] * values[i + 1]
        c += table[word, columns[i + 2]] * values[i + 2]
        d += table[word, columns[i + 3]] * values[i + 3]
        i += 4
    while i < last:
        a += table[word, columns[i]] * values[i]
        i += 1
    return (a + b) + (c + d)


@njit(nogil=True, fastmath=_FAST)
def _dot(table, word, vectors, picture):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for j in range(vectors.shape[1]):
        total += table[word, j] * vectors[picture, j]
    return total


@njit(inline="always")
def late(iterations):  # type: ignore[no-untyped-def]
    """What a step after so many iterations leaves out of the average, times t⁴ for t iterations.

    ``W̄ = Σ_s (1 − ((s − 1) / t)⁴) Δ_s`` over the steps Δ_s is the mean of all W up to now, each
    weighed by s⁴ − (s − 1)⁴. Counted in millions, or single precision would overflow.
    """
    millions = iterations * 1e-6
    return np.float32(millions * millions * millions * millions)


@njit(inline="always")
def _add_sparse(row, columns, values, first, last, step):  # type: ignore[no-untyped-def]
    for j in range(first, last):
        row[columns[j]] += step * values[j]


@njit(inline="always")
def _spread_square(spread, starts, columns, values, better, worse):  # type: ignore[no-untyped-def]
    """‖p⁺ − p⁻‖² of compressed rows, through a dense row that is clean again afterwards."""
    square = np.float32(0)
    for j in range(starts[better], starts[better + 1]):
        spread[columns[j]] = values[j]
    for j in range(starts[worse], starts[worse + 1]):
        gap = spread[columns[j]] - values[j]
        spread[columns[j]] = np.float32(0)
        square += gap * gap
    for j in range(starts[better], starts[better + 1]):
        square += spread[columns[j]] * spread[columns[j]]
        spread[columns[j]] = np.float32(0)
    return square


@njit(cache=True, nogil=True, fastmath=_FAST)
def steps(  # type: ignore[no-untyped-def]
    table, gram, sparse, dense, block, aggressiveness, harmonic, moment, done, updates
):
    """Learn from a block of triplets; returns how many moved the model.

    table: α (T × n) with gram, a pair of the Gram matrix (n × m ≥ n, its first n columns the
    training pictures) and the current scores (T × m); else W (T × d), with sparse as (starts,
    columns as uint32, values) or dense as (n × d). ``harmonic`` holds L(k) for WARP, or nothing.
    ``moment``, which averaged weights are made from (`late`), has no rows where it is not wanted.
    ``updates`` counts the steps that moved each word's row.
    """
    moved, warp, width = 0, len(harmonic) > 0, table.shape[1]
    # Arrays become local names: an attribute of a tuple would count references at each use.
    sizes, words, weights = block.sizes, block.words, block.weights
    betters, worses, margins, others = block.better, block.worse, block.margins, block.others
    if gram is not None:
        products, scores = gram
        width = products.shape[1]
    if sparse is not None:
        starts, columns, values = sparse
    room = np.zeros(width, dtype=np.float32)
    for number in range(len(sizes)):
        size, better = sizes[number], betters[number]
        ahead, worse, loss, looks = np.float32(0), better, np.float32(-1), 0
        for j in range(worses.shape[1]):
            other, behind = worses[number, j], np.float32(0)
            for i in range(size):
                word, weight = words[number, i], weights[number, i]
                if gram is not None:
                    row = scores[word]
                    behind += weight * row[other]
                    if j == 0:
                        ahead += weight * row[better]
                if sparse is not None:
                    first, last = starts[other], starts[other + 1]
                    behind += weight * _sparse_dot(table, word, columns, values, first, last)
                    if j == 0:
                        first, last = starts[better], starts[better + 1]
                        ahead += weight * _sparse_dot(table, word, columns, values, first, last)
                if dense is not None:
                    behind += weight * _dot(table, word, dense, other)
                    if j == 0:
                        ahead += weight * _dot(table, word, dense, better)
            looks += 1
            if margins[number, j] - ahead + behind > loss:
                worse, loss = other, margins[number, j] - ahead + behind
                if warp and loss > 0:
                    break
        if loss <= 0:
            continue
        square = np.float32(0)  # of p⁺ − p⁻, which is left in room where rows are not sparse
        if gram is not None:
            up, down = products[better], products[worse]
            squares = up[better] + down[worse]
            square = squares - np.float32(2) * up[worse]
            if square <= _ROUNDING * squares:
                continue
            for j in range(width):
                room[j] = up[j] - down[j]
        if sparse is not None:
            square = _spread_square(room, starts, columns, values, better, worse)
        if dense is not None:
            for j in range(width):
                room[j] = dense[better, j] - dense[worse, j]
                square += room[j] * room[j]
        length = np.float32(0)
        for i in range(size):
            length += weights[number, i] * weights[number, i]
        most = aggressiveness
        if warp:
            most *= harmonic[max(1, others[number] // looks)] / harmonic[others[number]]
        tau = _step_size(loss, length * square, most)
        if tau == 0:
            continue
        moved += 1
        for i in range(size):
            word, step = words[number, i], tau * weights[number, i]
            delayed = step * late(done + number)
            updates[word] += 1
            if gram is not None:
                table[word, better] += step
                table[word, worse] -= step
                row = scores[word]
                for j in range(width):
                    row[j] += step * room[j]
                if len(moment) > 0:
                    moment[word, better] += delayed
                    moment[word, worse] -= delayed
            if sparse is not None:
                b0, b1 = starts[better], starts[better + 1]
                w0, w1 = starts[worse], starts[worse + 1]
                _add_sparse(table[word], columns, values, b0, b1, step)
                _add_sparse(table[word], columns, values, w0, w1, -step)
                if len(moment) > 0:
                    _add_sparse(moment[word], columns, values, b0, b1, delayed)
                    _add_sparse(moment[word], columns, values, w0, w1, -delayed)
            if dense is not None:
                for j in range(width):
                    table[word, j] += step * room[j]
                if len(moment) > 0:
                    for j in range(width):
                        moment[word, j] += delayed * room[j]
    return moved

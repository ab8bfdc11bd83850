"""Compiled loops of PAMIR: draw a triplet, measure its loss, take the passive-aggressive step.

Three loops share the drawing and the update (`update`); they differ in where the score lives.
`steps_gram` keeps the scores of all pictures up to date, so that looking at a triplet costs a few
reads and only a step costs a pass over the pictures: best for few pictures or long vectors.
`steps_sparse` and `steps_dense` keep the weights, and pay for each look: best for many pictures.

Each takes an `Objective`, which finds other pictures to step away from, and a ``moment``, which
averaged weights are made from (`late`). Where these are None they are not even compiled in.
``updates`` counts the steps that moved each word's row.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from visterm.models.pamir._triplets import count_worse, draw, draw_worse, margin
from visterm.models.pamir.update import step_size

_step_size = njit(inline="always")(step_size)
# Pictures this near each other, by their own size, differ in a Gram matrix by rounding alone.
_ROUNDING = np.float32(1e-6)


@njit(inline="always")
def _room(largest):  # type: ignore[no-untyped-def]
    """Where a query is written: its words and their weights."""
    return np.empty(largest, dtype=np.uint32), np.empty(largest, dtype=np.float32)


@njit(inline="always")
def _square(q):  # type: ignore[no-untyped-def]
    square = np.float32(0)
    for weight in q:
        square += weight * weight
    return square


@njit(inline="always")
def _sparse_dot(row, words, values, first, last):  # type: ignore[no-untyped-def]
    """Four running sums: plain loads beat the gather instructions a vectoriser would choose."""
    a = b = c = d = np.float32(0)
    i = first
    while i + 3 < last:
        a += row[words[i]] * values[i]
        b += row[words[i + 1]] * values[i + 1]
        c += row[words[i + 2]] * values[i + 2]
        d += row[words[i + 3]] * values[i + 3]
        i += 4
    while i < last:
        a += row[words[i]] * values[i]
        i += 1
    return (a + b) + (c + d)


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _score(table, sparse, plain, words, q, picture):  # type: ignore[no-untyped-def]
    """q·f(p), from scores (T × n), or from weights (T × d) and sparse rows or plain vectors."""
    score = np.float32(0)
    for i in range(len(words)):
        row, product = table[words[i]], np.float32(0)
        if sparse is not None:
            starts, columns, values = sparse
            first, last = starts[picture], starts[picture + 1]
            product = _sparse_dot(row, columns, values, first, last)
        elif plain is not None:
            vector = plain[picture]
            for j in range(len(vector)):
                product += row[j] * vector[j]
        else:
            product = row[picture]
        score += q[i] * product
    return score


@njit(nogil=True)
def _harder(table, sparse, plain, triplets, objective, query, better, worse, state):  # type: ignore[no-untyped-def]
    """A worse picture as the objective wants it, its loss, and the part of C a step may take.

    The first three are those of `_score`; worse is the first one to look at.
    """
    words, q, relevant = query
    ahead = _score(table, sparse, plain, words, q, better)
    behind = _score(table, sparse, plain, words, q, worse)
    loss = margin(triplets.margins, words, q, better, worse) - ahead + behind
    looks = 1
    while looks < objective.negatives and not (objective.warp and loss > 0):
        looks += 1
        other = draw_worse(triplets.captions, triplets.pictures, words, relevant, state)
        behind = _score(table, sparse, plain, words, q, other)
        other_loss = margin(triplets.margins, words, q, better, other) - ahead + behind
        if other_loss > loss:
            worse, loss = other, other_loss
    part = np.float32(1)
    if objective.warp and loss > 0:
        others = count_worse(triplets.captions, triplets.pictures, words, relevant)
        part = objective.harmonic[max(1, others // looks)] / objective.harmonic[others]
    return worse, loss, part


@njit(inline="always")
def late(iterations):  # type: ignore[no-untyped-def]
    """What a step after so many iterations leaves out of the average, times t⁴ for t iterations.

    ``W̄ = Σ_s (1 − ((s − 1) / t)⁴) Δ_s`` over the steps Δ_s is the mean of all W up to now, each
    weighed by s⁴ − (s − 1)⁴. Counted in millions, or single precision would overflow.
    """
    millions = iterations * 1e-6
    return np.float32(millions * millions * millions * millions)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def steps_gram(  # type: ignore[no-untyped-def]
    gram, scores, alpha, triplets, aggressiveness, steps, state, objective, moment, done, updates
):
    """Steps on α, with scores = α · gram kept current; gram may have columns beyond the pictures.

    gram: (n, m ≥ n), its first n columns the training pictures; scores: (T, m); alpha: (T, n).
    Returns how many triplets moved the model.
    """
    columns = gram.shape[1]
    difference = np.empty(columns, dtype=np.float32)
    moved = 0
    room = _room(triplets.largest)
    for number in range(steps):
        query, better = draw(triplets.listed, triplets.captions, state, *room)
        words, q, relevant = query
        worse = draw_worse(triplets.captions, triplets.pictures, words, relevant, state)
        most = aggressiveness
        if objective is None:
            loss = margin(triplets.margins, words, q, better, worse)
            for i in range(len(words)):
                row = scores[words[i]]
                loss -= q[i] * (row[better] - row[worse])
        else:
            worse, loss, part = _harder(
                scores, None, None, triplets, objective, query, better, worse, state
            )
            most = aggressiveness * part
        if loss <= 0:
            continue
        squares = gram[better, better] + gram[worse, worse]
        square = squares - np.float32(2) * gram[better, worse]
        if square <= _ROUNDING * squares:
            continue
        tau = _step_size(loss, _square(q) * square, most)
        if tau == 0:
            continue
        moved += 1
        up, down = gram[better], gram[worse]
        for j in range(columns):
            difference[j] = up[j] - down[j]
        for i in range(len(words)):
            word, step = words[i], tau * q[i]
            updates[word] += 1
            alpha[word, better] += step
            alpha[word, worse] -= step
            if moment is not None:
                moment[word, better] += step * late(done + number)
                moment[word, worse] -= step * late(done + number)
            row = scores[word]
            for j in range(columns):
                row[j] += step * difference[j]
    return moved


@njit(inline="always")
def _add_sparse(row, columns, values, first, last, step):  # type: ignore[no-untyped-def]
    for j in range(first, last):
        row[columns[j]] += step * values[j]


@njit(cache=True, nogil=True)
def steps_sparse(  # type: ignore[no-untyped-def]
    weights,
    starts,
    columns,
    values,
    triplets,
    aggressiveness,
    steps,
    state,
    objective,
    moment,
    done,
    updates,
):
    """Steps on the weights W (T × d) for pictures in compressed rows (columns as uint32)."""
    spread = np.zeros(weights.shape[1], dtype=np.float32)
    moved = 0
    room = _room(triplets.largest)
    for number in range(steps):
        query, better = draw(triplets.listed, triplets.captions, state, *room)
        words, q, relevant = query
        worse = draw_worse(triplets.captions, triplets.pictures, words, relevant, state)
        most = aggressiveness
        if objective is not None:
            rows = (starts, columns, values)
            worse, loss, part = _harder(
                weights, rows, None, triplets, objective, query, better, worse, state
            )
            most = aggressiveness * part
        b0, b1, w0, w1 = starts[better], starts[better + 1], starts[worse], starts[worse + 1]
        if objective is None:
            loss = margin(triplets.margins, words, q, better, worse)
            for i in range(len(words)):
                row = weights[words[i]]
                gap = _sparse_dot(row, columns, values, b0, b1) - _sparse_dot(
                    row, columns, values, w0, w1
                )
                loss -= q[i] * gap
        if loss <= 0:
            continue
        square = np.float32(0)  # of p⁺ − p⁻, through a dense row that is clean again afterwards
        for j in range(b0, b1):
            spread[columns[j]] = values[j]
        for j in range(w0, w1):
            gap = spread[columns[j]] - values[j]
            spread[columns[j]] = np.float32(0)
            square += gap * gap
        for j in range(b0, b1):
            square += spread[columns[j]] * spread[columns[j]]
            spread[columns[j]] = np.float32(0)
        tau = _step_size(loss, _square(q) * square, most)
        if tau == 0:
            continue
        moved += 1
        for i in range(len(words)):
            word, step = words[i], tau * q[i]
            updates[word] += 1
            _add_sparse(weights[word], columns, values, b0, b1, step)
            _add_sparse(weights[word], columns, values, w0, w1, -step)
            if moment is not None:
                delayed = step * late(done + number)
                _add_sparse(moment[word], columns, values, b0, b1, delayed)
                _add_sparse(moment[word], columns, values, w0, w1, -delayed)
    return moved


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def steps_dense(  # type: ignore[no-untyped-def]
    weights, vectors, triplets, aggressiveness, steps, state, objective, moment, done, updates
):
    """Steps on the weights W (T × d) for dense picture vectors (n × d)."""
    width = vectors.shape[1]
    difference = np.empty(width, dtype=np.float32)
    moved = 0
    room = _room(triplets.largest)
    for number in range(steps):
        query, better = draw(triplets.listed, triplets.captions, state, *room)
        words, q, relevant = query
        worse = draw_worse(triplets.captions, triplets.pictures, words, relevant, state)
        most = aggressiveness
        if objective is not None:
            worse, loss, part = _harder(
                weights, None, vectors, triplets, objective, query, better, worse, state
            )
            most = aggressiveness * part
            if loss <= 0:
                continue
        square = np.float32(0)
        for j in range(width):
            gap = vectors[better, j] - vectors[worse, j]
            difference[j] = gap
            square += gap * gap
        if objective is None:
            loss = margin(triplets.margins, words, q, better, worse)
            for i in range(len(words)):
                row, gap = weights[words[i]], np.float32(0)
                for j in range(width):
                    gap += row[j] * difference[j]
                loss -= q[i] * gap
        tau = _step_size(loss, _square(q) * square, most)
        if tau == 0:
            continue
        moved += 1
        for i in range(len(words)):
            word, step = words[i], tau * q[i]
            updates[word] += 1
            row = weights[word]
            for j in range(width):
                row[j] += step * difference[j]
            if moment is not None:
                row, delayed = moment[word], step * late(done + number)
                for j in range(width):
                    row[j] += delayed * difference[j]
    return moved

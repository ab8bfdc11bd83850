"""Compiled loops of BITR: most violated outputs, what they cost, and the small dual problem."""

from __future__ import annotations

import numpy as np
from numba import njit

# Sums of a row may be taken in any order, so that they can be taken eight or sixteen at a time.
_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
def sphere_outputs(scores, outputs, pull, differences):  # type: ignore[no-untyped-def]
    """``ŷ ∝ s − pull·y`` on the unit sphere, for every row; differences become ``y − ŷ``.

    Returns the sum of ``Δ(y, ŷ) = pull·(1 − y·ŷ)``, and that of ``s·(y − ŷ)``.
    """
    n, q = scores.shape
    pull = np.float32(pull)
    total = 0.0
    margin = 0.0
    for i in range(n):
        square = np.float32(0)
        for j in range(q):
            r = scores[i, j] - pull * outputs[i, j]
            square += r * r
        length = np.sqrt(square)
        # Where s is pull·y exactly, every ŷ violates alike; the opposite is as good as any.
        far = length <= np.float32(1e-12)
        scale = np.float32(0) if far else np.float32(1) / length
        shift = np.float32(1) if far else pull * scale
        agreement = np.float32(0)
        kept = np.float32(0)
        for j in range(q):
            y = outputs[i, j]
            s = scores[i, j]
            worst = s * scale - y * shift
            agreement += y * worst
            kept += s * (y - worst)
            differences[i, j] = y - worst
        total += float(pull * (1.0 - agreement))
        margin += float(kept)
    return total, margin


@njit(cache=True, nogil=True, fastmath=_FAST)
def sphere_line(scores, target, outputs, pull, squares):  # type: ignore[no-untyped-def]
    """``‖a + t d‖²`` of every row as three numbers, a = s − pull·y, d = s' − s.

    Returns Σ s·y and Σ d·y.
    """
    n, q = scores.shape
    here = 0.0
    linear = 0.0
    for i in range(n):
        aa = 0.0
        ad = 0.0
        dd = 0.0
        sy = 0.0
        dy = 0.0
        for j in range(q):
            # Where C is large, lengths of hundreds differ by hundredths: double precision.
            y = np.float64(outputs[i, j])
            s = np.float64(scores[i, j])
            a = s - pull * y
            d = target[i, j] - s
            aa += a * a
            ad += a * d
            dd += d * d
            sy += s * y
            dy += d * y
        squares[i, 0] = aa
        squares[i, 1] = ad
        squares[i, 2] = dd
        here += sy
        linear += dy
    return here, linear


@njit(cache=True, nogil=True)
def sphere_slope(squares, t):  # type: ignore[no-untyped-def]
    """``Σ ‖a + t d‖``, and its derivative by t."""
    total = 0.0
    slope = 0.0
    for i in range(squares.shape[0]):
        length = squares[i, 0] + t * (2.0 * squares[i, 1] + t * squares[i, 2])
        if length > 1e-24:
            length = np.sqrt(length)
            total += length
            slope += (squares[i, 1] + t * squares[i, 2]) / length
    return total, slope


@njit(cache=True, nogil=True)
def towards(scores, target, t, out):  # type: ignore[no-untyped-def]
    """``s + t (s' − s)``."""
    n, q = scores.shape
    t = np.float32(t)
    for i in range(n):
        for j in range(q):
            out[i, j] = scores[i, j] + t * (target[i, j] - scores[i, j])


@njit(cache=True, nogil=True)
def simplex_outputs(scores, outputs, differences):  # type: ignore[no-untyped-def]
    """The vertex ``argmax_j s_j − 2 y_j`` of the simplex, where ``‖y − e_j‖₁ = 2 − 2 y_j``."""
    n, q = scores.shape
    total = 0.0
    margin = 0.0
    for i in range(n):
        best = 0
        for j in range(1, q):
            if scores[i, j] - 2.0 * outputs[i, j] > scores[i, best] - 2.0 * outputs[i, best]:
                best = j
        for j in range(q):
            worst = 1.0 if j == best else 0.0
            differences[i, j] = outputs[i, j] - worst
            margin += scores[i, j] * (outputs[i, j] - worst)
        total += 2.0 - 2.0 * outputs[i, best]
    return total, margin


@njit(cache=True, nogil=True)
def manhattan_outputs(scores, outputs, differences, most):  # type: ignore[no-untyped-def]
    """``argmax ‖y_i − y‖₁ + s·y`` on the unit sphere, nearly always.

    For signs σ of ``y_i − y`` the best y is ``∝ s − σ`` and reaches ``σ·y_i + ‖s − σ‖``. The signs
    of ``y_i − s/t``, t from infinity down, are the corners of everything that can be reached in
    these two terms; from the best of them signs and y take turns as long as that gains.
    """
    n, q = scores.shape
    total = 0.0
    margin = 0.0
    signs = np.empty(q)
    ratios = np.empty(q)
    for i in range(n):
        u = 0.0
        v = 0.0
        square = float(q)
        for j in range(q):
            y = outputs[i, j]
            s = scores[i, j]
            signs[j] = 1.0 if y > 0 or (y == 0 and s <= 0) else -1.0
            ratios[j] = s / y if s * y > 0 else 0.0
            u += signs[j] * y
            v += signs[j] * s
            square += s * s
        reached = u + np.sqrt(max(square - 2.0 * v, 0.0))
        turned = 0  # signs that the best corner has turned, of those in order
        order = np.argsort(-ratios)
        for at in range(q):
            j = order[at]
            if ratios[j] <= 0:
                break
            u -= 2.0 * signs[j] * outputs[i, j]
            v -= 2.0 * signs[j] * scores[i, j]
            value = u + np.sqrt(max(square - 2.0 * v, 0.0))
            if value > reached:
                reached = value
                turned = at + 1
        for at in range(turned):
            signs[order[at]] = -signs[order[at]]
        _take_turns(scores[i], outputs[i], signs, most)
        norm = 0.0
        for j in range(q):
            norm += (scores[i, j] - signs[j]) ** 2
        norm = max(np.sqrt(norm), 1e-12)
        for j in range(q):
            gap = outputs[i, j] - (scores[i, j] - signs[j]) / norm
            differences[i, j] = gap
            total += abs(gap)
            margin += scores[i, j] * gap
    return total, margin


@njit(cache=True, nogil=True)
def _take_turns(s, y, signs, most):  # type: ignore[no-untyped-def]
    """Let the best y follow the signs and the signs follow it, while that gains."""
    value = -np.inf
    for _ in range(most):
        norm = 0.0
        gain = 0.0
        for j in range(len(s)):
            norm += (s[j] - signs[j]) ** 2
            gain += signs[j] * y[j]
        norm = np.sqrt(norm)
        if norm <= 1e-12 or gain + norm <= value + 1e-9:
            break
        value = gain + norm
        for j in range(len(s)):
            gap = y[j] - (s[j] - signs[j]) / norm
            if gap != 0.0:
                signs[j] = 1.0 if gap > 0 else -1.0


@njit(cache=True, nogil=True)
def small_dual(gram, losses, budget, weights, tolerance, most):  # type: ignore[no-untyped-def]
    """``max δ·α − ½ αᵀHα`` over ``α ≥ 0, Σα = budget``, by pairs; weights are changed in place.

    The first constraint is the empty one (H and δ are 0 there), so that Σα ≤ budget over the rest.
    Each step moves weight from the constraint that deserves it least to the one that promises the
    most, exactly to the best point between the two. Ends when no move can gain more than
    tolerance in all; returns that bound.
    """
    k = len(losses)
    gradient = losses - gram @ weights
    bound = np.inf
    for step in range(most):
        if step % 1000 == 999:
            gradient[:] = losses - gram @ weights  # rounding adds up otherwise
        up = 0
        for i in range(1, k):
            if gradient[i] > gradient[up]:
                up = i
        bound = budget * gradient[up]
        for i in range(k):
            bound -= weights[i] * gradient[i]
        if bound <= tolerance:
            break
        # Of those with weight, the one whose exchange gains most.
        down = -1
        gained = 0.0
        for i in range(k):
            slack = gradient[up] - gradient[i]
            if weights[i] > 0.0 and slack > 0.0:
                curve = gram[up, up] + gram[i, i] - 2.0 * gram[up, i]
                move = weights[i] if curve <= 0.0 else min(weights[i], slack / curve)
                gain = move * slack - 0.5 * move * move * max(curve, 0.0)
                if gain > gained:
                    gained = gain
                    down = i
        if down < 0:
            break
        slack = gradient[up] - gradient[down]
        curve = gram[up, up] + gram[down, down] - 2.0 * gram[up, down]
        move = weights[down] if curve <= 0.0 else min(weights[down], slack / curve)
        weights[up] += move
        weights[down] -= move
        for i in range(k):
            gradient[i] -= move * (gram[i, up] - gram[i, down])
    return bound

"""Vectors of several extractors as one: side by side, normalised, weighted; and which weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from visterm.errors import BadInput
from visterm.features.extractor import Rows
from visterm.matrices import unit_rows
from visterm.progress import Progress, silent

NORMALISATIONS = ("each", "late")
MOST_DENSE = 4096
"""Beside compressed rows, a dense part may have so many columns: there each costs 8 bytes."""

_WIDEST = 32


def join_rows(
    parts: Sequence[Rows], weights: Sequence[float] | None = None, *, normalise: str = "each"
) -> Rows:
    """Rows of several extractors side by side, of unit length.

    Parameters
    ----------
    parts : sequence of rows
        The same pictures in each. Only if all are dense is the result; otherwise it is compressed
        rows, in which every number of a dense part takes 8 bytes instead of 4.
    weights : sequence of float, optional
        What each part is multiplied with; equal by default.
    normalise : {"each", "late"}
        Each part to unit length before they are joined, so that none drowns the others, or only
        once afterwards, as the ECML paper joins blobs and SIFT.

    Examples
    --------
    >>> one, other = np.array([[3.0, 4.0]]), np.array([[5.0]])
    >>> join_rows([one, other], normalise="late").round(3).tolist()
    [[0.424, 0.566, 0.707]]
    >>> join_rows([one, csr_array(other)], [1, 0]).toarray().round(3).tolist()
    [[0.6, 0.8, 0.0]]
    """
    _check_parts(parts)
    given = check_weights(weights, len(parts))
    if normalise not in NORMALISATIONS:
        raise BadInput(f"parts are normalised {' or '.join(NORMALISATIONS)}, not {normalise!r}")
    scaled = [
        (unit_rows(part) if normalise == "each" else part) * np.float32(weight)
        for part, weight in zip(parts, given, strict=True)
    ]
    if any(issparse(part) for part in parts):
        return unit_rows(csr_array(hstack([csr_array(part) for part in scaled], format="csr")))
    return unit_rows(np.concatenate(scaled, axis=1))


def check_weights(weights: Sequence[float] | None, parts: int) -> list[float]:
    """The weights as given, or equal ones; refuse those that do not fit."""
    given = [1.0] * parts if weights is None else [float(weight) for weight in weights]
    if len(given) != parts:
        raise BadInput(f"{parts} parts need so many weights, not {len(given)}")
    if not np.isfinite(given).all() or min(given) < 0 or max(given) == 0:
        raise BadInput(f"weights are 0 or more, and one is above 0; these are {given}")
    return given


@dataclass
class ChosenWeights:
    """The best weights found, what they gave, and everything that was tried."""

    weights: tuple[float, ...]
    score: float
    trials: dict[tuple[float, ...], float] = field(default_factory=dict)


def choose_weights(
    parts: Sequence[tuple[Rows, Rows]],
    measure: Callable[[Rows, Rows], float],
    *,
    start: Sequence[float] | None = None,
    step: float = 2.0,
    max_iter: int = 2,
    progress: Progress = silent,
) -> ChosenWeights:
    """Weights of parts that validation pictures like best, by climbing one weight at a time.

    Every weight in turn is multiplied or divided by ``step`` as long as that helps, down to 1/32
    of the largest; then whether the part is needed at all is tried. All this ``max_iter`` times, or
    until nothing helps any more.

    Parameters
    ----------
    parts : sequence of (training rows, validation rows)
        One pair for each extractor.
    measure : callable
        From joined training and validation rows to what shall be large, such as the AvgP of a
        model: ``lambda X, V: Pamir(C=0.1).fit(X, Y, validation=(V, YV)).validation_``.

    Examples
    --------
    >>> good, bad = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0], [1.0]])
    >>> chosen = choose_weights([(good, good), (bad, bad)], lambda X, V: -float((X @ V.T).sum()))
    >>> chosen.weights
    (1.0, 0.0)
    """
    best = tuple(check_weights(start, len(parts)))
    trials: dict[tuple[float, ...], float] = {}

    def score(weights: tuple[float, ...]) -> float:
        # Only the ratios matter, and different steps lead to the same ones.
        ratios = tuple(round(weight / max(weights), 6) for weight in weights)
        if ratios not in trials:
            joined = [join_rows([pair[of] for pair in parts], ratios) for of in (0, 1)]
            trials[ratios] = measure(joined[0], joined[1])
            progress("choosing weights", len(trials), len(trials))
        return trials[ratios]

    for _ in range(max_iter):
        before = best
        for part in range(len(parts)):
            for factor in (step, 1 / step, 0.0):
                while score(changed := _changed(best, part, factor)) > score(best):
                    best = changed
        if best == before:
            break
    final = tuple(weight / max(best) for weight in best)
    return ChosenWeights(final, score(best), trials)


def _changed(weights: tuple[float, ...], part: int, factor: float) -> tuple[float, ...]:
    changed = (*weights[:part], weights[part] * factor, *weights[part + 1 :])
    kept = [weight for weight in changed if weight > 0]
    return changed if kept and min(kept) * _WIDEST >= max(kept) else weights


def _check_parts(parts: Sequence[Rows]) -> None:
    if not parts:
        raise BadInput("there is nothing to join")
    for part in parts:
        if part.ndim != 2:
            raise BadInput(f"rows of shape {part.shape} cannot be joined; one vector a picture can")
    if len({part.shape[0] for part in parts}) > 1:
        rows = ", ".join(str(part.shape[0]) for part in parts)
        raise BadInput(f"parts speak of different numbers of pictures: {rows}")
    if any(issparse(part) for part in parts):
        widest = max((p.shape[1] for p in parts if not issparse(p)), default=0)
        if widest > MOST_DENSE:
            raise BadInput(
                f"a dense part of {widest} columns is too wide to join to sparse ones; at most "
                f"{MOST_DENSE} are sensible"
            )

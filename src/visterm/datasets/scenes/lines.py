"""Lines as a hand draws them: skylines, shores and outlines that wobble."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from visterm.datasets.scenes.view import View

Line = list[tuple[float, float]]


def close(points: Iterable[tuple[float, float]], foot: float = 1.09) -> Line:
    """An outline from a skyline: down to ``foot`` at both of its ends.

    >>> close([(0, 0.5), (1, 0.4)], 1.0)
    [(0, 0.5), (1, 0.4), (1, 1.0), (0, 1.0)]
    """
    line = list(points)
    return [*line, (line[-1][0], foot), (line[0][0], foot)]


def roughness(rng: np.random.Generator, count: int, size: float) -> NDArray[np.float64]:
    """Wobbles of a hand-drawn line, smooth enough not to look like static."""
    steps = np.pad(rng.normal(0, size, count), 1, mode="edge")
    return 0.25 * steps[:-2] + 0.5 * steps[1:-1] + 0.25 * steps[2:]


def skyline(view: View, y: float, swell: float, count: int = 25) -> Line:
    """A gently rolling line across the canvas."""
    xs = np.linspace(view.left, view.right, count)
    phase, waves = view.between(0, 6.3), view.between(0.5, 1.6)
    ys = y + swell * np.sin(2 * math.pi * waves * xs / view.wide + phase)
    return points(xs, ys + roughness(view.rng, count, swell / 12))


def points(xs: NDArray[np.float64], ys: NDArray[np.float64]) -> Line:
    """Two columns of numbers as pairs."""
    return list(zip(xs.tolist(), ys.tolist(), strict=True))


def blob(rng: np.random.Generator, rx: float, ry: float, bumps: int, rough: float) -> Line:
    """A bumpy round outline around (0, 0)."""
    turn = np.linspace(0, 2 * math.pi, 30, endpoint=False)
    wave = 1 + rough * np.sin(turn * bumps + rng.uniform(0, 6)) + rng.normal(0, rough / 2, 30)
    return points(rx * wave * np.cos(turn), ry * wave * np.sin(turn))

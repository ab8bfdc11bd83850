"""Grounds to paint with: a few tiles of noise, each with the grain of one kind of surface."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE = 768
"""Pixels along a tile: enough that a random crop of it is hardly ever seen twice."""

Field = NDArray[np.float64]


@cache
def tile(kind: str) -> Image.Image:
    """The tile of one kind of surface, as grey values around 128.

    >>> tile("grain").size
    (768, 768)
    """
    # A seed for each kind keeps the tiles the same whichever of them is asked for first.
    rng = np.random.default_rng([*kind.encode()])
    field = _SURFACES[kind](rng)
    field = (field - field.mean()) / field.std()
    return Image.fromarray(np.clip(128 + 56 * field, 0, 255).astype(np.uint8))


def _frequencies() -> tuple[Field, Field]:
    down = np.asarray(np.fft.fftfreq(SIDE), np.float64)
    across = np.asarray(np.fft.rfftfreq(SIDE), np.float64)
    return down[:, None], across[None, :]


def _filtered(rng: np.random.Generator, response: Field) -> Field:
    noise = np.fft.rfft2(rng.standard_normal((SIDE, SIDE)))
    field: Field = np.fft.irfft2(noise * response, s=(SIDE, SIDE))
    return field / field.std()


def _blurred(rng: np.random.Generator, down: float, across: float) -> Field:
    """Noise blurred by Gaussians of these widths in pixels, which makes it run like a brush."""
    fy, fx = _frequencies()
    return _filtered(rng, np.exp(-2 * np.pi**2 * ((fy * down) ** 2 + (fx * across) ** 2)))


def _fractal(rng: np.random.Generator, power: float, stretch: float = 1.0) -> Field:
    fy, fx = _frequencies()
    radius = np.hypot(fy, fx * stretch)
    radius[0, 0] = np.inf
    # Waves longer than a picture would only darken one whole crop and lighten another.
    return _filtered(rng, (radius + 1 / 200) ** -power * np.isfinite(radius))


def _wash(rng: np.random.Generator) -> Field:
    return _fractal(rng, 1.7) + 0.25 * _blurred(rng, 1.0, 1.0)


def _billows(rng: np.random.Generator) -> Field:
    return _fractal(rng, 2.2, stretch=1.8)


def _strokes(rng: np.random.Generator) -> Field:
    return _blurred(rng, 1.4, 16) + 0.6 * _blurred(rng, 3.5, 40) + 0.25 * _blurred(rng, 0.8, 2)


def _needles(rng: np.random.Generator) -> Field:
    return _blurred(rng, 9, 1.1) + 0.5 * _blurred(rng, 20, 3)


def _dabs(rng: np.random.Generator) -> Field:
    spots = _blurred(rng, 1.8, 2.2) - 0.9 * _blurred(rng, 5, 5)
    return np.asarray(np.tanh(1.6 * spots)) + 0.35 * _fractal(rng, 1.6)


def _grain(rng: np.random.Generator) -> Field:
    return _blurred(rng, 0.8, 0.8) + 0.5 * _blurred(rng, 3, 6)


def _ripples(rng: np.random.Generator) -> Field:
    rows = np.arange(SIDE)[:, None] * (64 / SIDE)
    bend = _fractal(rng, 2.4, stretch=0.6)
    return np.asarray(np.sin(2 * np.pi * rows + 4 * bend)) + 0.5 * _blurred(rng, 1, 4)


def _rows(rng: np.random.Generator) -> Field:
    columns = np.arange(SIDE)[None, :] * (32 / SIDE)
    bend = _fractal(rng, 2.4)
    return np.asarray(np.sin(2 * np.pi * columns + 0.5 * bend)) + 0.6 * _blurred(rng, 1.5, 1.2)


def _crags(rng: np.random.Generator) -> Field:
    ridged = -np.abs(_fractal(rng, 1.5)) - 0.7 * np.abs(_fractal(rng, 1.3))
    # Rock leans: each row is shifted a little further than the one above it.
    lean = (np.arange(SIDE)[None, :] + np.arange(SIDE)[:, None] // 2) % SIDE
    return np.asarray(np.take_along_axis(ridged, lean, axis=1))


def _windows(rng: np.random.Generator) -> Field:
    """Panes in rows on a plain wall, some of them dark: a town seen from afar."""
    cells = SIDE // 8
    panes = np.zeros((cells, 8, cells, 8))
    panes[:, 2:6, :, 2:6] = rng.choice([-1.2, 0.4, 2.6], (cells, 1, cells, 1), p=[0.45, 0.2, 0.35])
    return panes.reshape(SIDE, SIDE) + 0.12 * _blurred(rng, 4, 1)


def _bricks(rng: np.random.Generator) -> Field:
    """Courses of stone, each course shifted against the one under it."""
    y, x = np.mgrid[:SIDE, :SIDE]
    course = y // 8
    joints = (y % 8 < 1) | ((x + 8 * (course % 2)) % 16 < 1)
    stones = rng.standard_normal((SIDE // 8, SIDE // 16 + 1))
    tone = stones[course, ((x + 8 * (course % 2)) // 16)]
    return np.asarray(np.where(joints, -2.0, 0.6 * tone)) + 0.3 * _blurred(rng, 1, 1)


_SURFACES = {
    "wash": _wash,
    "billows": _billows,
    "strokes": _strokes,
    "needles": _needles,
    "dabs": _dabs,
    "grain": _grain,
    "ripples": _ripples,
    "rows": _rows,
    "crags": _crags,
    "windows": _windows,
    "bricks": _bricks,
}

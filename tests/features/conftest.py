"""Drawn pictures that the tests of this room share; they are never written to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from visterm.datasets.scenes import Scene, draw_scene


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny codebooks are learnt faster without threads, far faster on a busy machine."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(before)


@pytest.fixture(scope="session")
def scenes() -> list[np.ndarray]:
    """A dozen landscapes of 192 × 128."""
    return [_fixed(draw_scene(0, i)).pixels for i in range(12)]


@pytest.fixture(scope="session")
def many() -> list[Scene]:
    """Enough small landscapes for three batches."""
    return [_fixed(draw_scene(1, i, (64, 48))) for i in range(70)]


def _fixed(scene: Scene) -> Scene:
    scene.pixels.flags.writeable = False
    return scene

"""Pictures of benchmarks as vectors of the CNN, for those that ask the same of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say
from visterm.experiments.runner.protocol import Protocol
from visterm.features import CNN

Floats = NDArray[np.float32]


def corel_vectors(protocol: Protocol, kept: Path | None) -> tuple[Floats, Floats]:
    """Vectors of the development and of the test pictures; ``kept`` is an .npy file of both."""
    vectors = kept_vectors([*protocol.development.paths, *protocol.test.paths], kept)
    first = len(protocol.development)
    return vectors[:first], vectors[first:]


def kept_vectors(pictures: Sequence[Path], kept: Path | None) -> Floats:
    """Vectors of pictures: from ``kept`` if it is there, and else into it."""
    if kept is not None and kept.is_file():
        vectors = np.asarray(np.load(kept), dtype=np.float32)
        if len(vectors) != len(pictures):
            raise SystemExit(f"{kept} holds {len(vectors)} vectors, not {len(pictures)}")
        return vectors
    say(f"describing {len(pictures)} pictures")
    vectors = np.asarray(CNN(n_jobs=2).transform(pictures), dtype=np.float32)
    if kept is not None:
        np.save(kept, vectors)
    return vectors

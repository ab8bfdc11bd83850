"""Pictures of benchmarks as vectors of the CNN, for those that ask the same of them."""

from __future__ import annotations

import json
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


def vectors_by_path(name: str, root: Path, pictures: Sequence[Path], folder: Path | None) -> Floats:
    """Vectors of pictures below a root, from NAME.npy of a folder, or else into it.

    NAME.json beside it holds the pictures' paths below the root, in the order of the rows.
    """
    wanted = [path.relative_to(root).as_posix() for path in pictures]
    if folder is not None and (folder / f"{name}.npy").is_file():
        row = {path: n for n, path in enumerate(json.loads((folder / f"{name}.json").read_text()))}
        vectors = np.load(folder / f"{name}.npy", mmap_mode="r")
        return np.asarray(vectors[[row[path] for path in wanted]], dtype=np.float32)
    vectors = kept_vectors(pictures, None)
    if folder is not None:
        np.save(folder / f"{name}.npy", vectors)
        (folder / f"{name}.json").write_text(json.dumps(wanted))
    return vectors


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

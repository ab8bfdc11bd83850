"""Pictures of benchmarks as vectors of the CNN, for those that ask the same of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say
from visterm.experiments.protocol import Protocol
from visterm.features import CNN
from visterm.features.extractor import Extractor

Floats = NDArray[np.float32]


def corel_vectors(protocol: Protocol, kept: Path | None) -> tuple[Floats, Floats]:
    """Vectors of the development and of the test pictures; ``kept`` is an .npy file of both."""
    vectors = kept_vectors([*protocol.development.paths, *protocol.test.paths], kept)
    first = len(protocol.development)
    return vectors[:first], vectors[first:]


def vectors_by_path(
    name: str,
    root: Path,
    pictures: Sequence[Path],
    folder: Path | None,
    extractor: Extractor | None = None,
) -> Floats:
    """Vectors of pictures below a root; those that NAME.npy of a folder lacks are put there.

    NAME.json beside it holds the pictures' paths below the root, in the order of the rows.
    """
    wanted = [path.relative_to(root).as_posix() for path in pictures]
    if folder is None:
        return kept_vectors(pictures, None, extractor)
    rows, paths = folder / f"{name}.npy", folder / f"{name}.json"
    known: list[str] = json.loads(paths.read_text()) if rows.is_file() else []
    missing = set(wanted) - set(known)
    if missing:
        new = sorted(missing)
        vectors = kept_vectors([root / path for path in new], None, extractor)
        folder.mkdir(parents=True, exist_ok=True)
        np.save(rows, np.concatenate([np.load(rows), vectors]) if known else vectors)
        known += new
        paths.write_text(json.dumps(known))
    row = {path: number for number, path in enumerate(known)}
    kept = np.load(rows, mmap_mode="r")
    return np.asarray(kept[[row[path] for path in wanted]], dtype=np.float32)


def kept_vectors(
    pictures: Sequence[Path], kept: Path | None, extractor: Extractor | None = None
) -> Floats:
    """Vectors of pictures: from ``kept`` if it is there, and else into it."""
    if kept is not None and kept.is_file():
        vectors = np.asarray(np.load(kept), dtype=np.float32)
        if len(vectors) != len(pictures):
            raise SystemExit(f"{kept} holds {len(vectors)} vectors, not {len(pictures)}")
        return vectors
    say(f"describing {len(pictures)} pictures")
    extractor = extractor or CNN(n_jobs=2)
    vectors = np.asarray(extractor.transform(pictures), dtype=np.float32)
    if kept is not None:
        np.save(kept, vectors)
    return vectors

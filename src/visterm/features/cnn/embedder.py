"""Any picture embedder in an ONNX file, plugged in by its path."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.features.cnn.network_extractor import NetworkExtractor, OnnxNetwork
from visterm.features.cnn.recipe import Recipe, read_recipe
from visterm.features.picture_batches import Pictures
from visterm.progress import Progress, silent


class OnnxEmbedder(NetworkExtractor):
    """Any picture embedder in an ONNX file: CLIP, SigLIP, DINOv2 …

    ``model.json`` beside ``model.onnx`` says how it wants its pictures
    (:class:`~visterm.features.cnn.Recipe` names its fields).

    Parameters
    ----------
    path : str
        The ONNX file.
    n_jobs : int
        Processes that decode pictures and extract features.
    """

    name = "onnx"
    version = 1
    facts = ("digest_",)

    def __init__(self, path: str | os.PathLike[str], n_jobs: int = 1) -> None:
        self.path = os.fspath(path)
        self.n_jobs = n_jobs

    @property
    def key(self) -> str:
        """Name, version, and what tells one file from another."""
        return f"{self.name}-{self.version}-{hashlib.sha256(self.path.encode()).hexdigest()[:8]}"

    def fit(self, pictures: Pictures = (), y: Any = None, *, progress: Progress = silent) -> Self:
        """Open the model and remember it and its recipe by their content; nothing is learnt."""
        self.digest_ = _plugged_in(self.path, *self._stamps()).digest
        return super().fit(pictures, y)

    def _recipe(self) -> Recipe:
        return _plugged_in(self.path, *self._stamps()).recipe

    def _opened(self) -> tuple[OnnxNetwork, Recipe, str]:
        self._check_fitted()
        plugged_in = _plugged_in(self.path, *self._stamps())
        if plugged_in.digest != self.digest_:
            raise BadInput(
                f"{self.path} or its recipe changed since this extractor was fitted, so old and "
                "new vectors cannot be compared; put it back, or fit and extract again"
            )
        return plugged_in.network, plugged_in.recipe, plugged_in.output

    def _shaped(self, output: NDArray[np.float32]) -> NDArray[np.float32]:
        if output.ndim != 1:
            raise BadInput(
                f"{self.path} gives a picture {output.shape}, not one vector; "
                "name another output in its recipe"
            )
        return output

    def _stamps(self) -> tuple[int, int]:
        """When model and recipe were last written: reopening what did not change costs nothing."""
        recipe = Path(self.path).with_suffix(".json")
        try:
            model = os.stat(self.path).st_mtime_ns
        except OSError as error:
            raise BadInput(f"cannot open the model {self.path}: {error.strerror}") from None
        return model, os.stat(recipe).st_mtime_ns if recipe.exists() else 0


class _PluggedIn(NamedTuple):
    network: OnnxNetwork
    recipe: Recipe
    output: str
    digest: str


# Kept here and not on the extractors, which travel to other processes and are saved and cloned.
@lru_cache(maxsize=4)
def _plugged_in(path: str, model_stamp: int, recipe_stamp: int) -> _PluggedIn:
    beside = Path(path).with_suffix(".json")
    recipe = read_recipe(beside)
    network = OnnxNetwork(path, path, recipe.provider)
    network.check(recipe)
    digest = hashlib.sha256(beside.read_bytes())
    with open(path, "rb") as file:
        digest.update(hashlib.file_digest(file, "sha256").digest())
    return _PluggedIn(network, recipe, network.vector_output(recipe.output), digest.hexdigest())

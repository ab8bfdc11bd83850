"""What all models share: scikit-learn's manners, and files that hold no code."""

from __future__ import annotations

import json
import os
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from visterm.errors import BadInput, NotFitted, VistermError
from visterm.files import write_whole
from visterm.models.inputs import picture_vectors
from visterm.progress import Progress
from visterm.text import Relevance

FORMAT = 1


Captions: TypeAlias = "ArrayLike | csr_array | Relevance"
"""Captions as a pictures × words matrix, or the relevance of pictures to real queries."""
Validation: TypeAlias = "tuple[ArrayLike | csr_array, Captions]"


class Model(BaseEstimator):
    """A map from picture vectors into the text space: ``F(q, p) = q · f(p)``.

    A model sets ``name``, ``fit`` and ``_map``, and names its fitted arrays in ``arrays``; saving,
    loading and input checks come from here.
    """

    name: ClassVar[str]
    arrays: ClassVar[tuple[str, ...]]
    """Fitted attributes that are arrays; the first one tells whether the model is fitted."""
    facts: ClassVar[tuple[str, ...]] = ("n_features_in_",)
    """Fitted attributes that are plain numbers or texts."""

    n_features_in_: int

    def fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        *,
        validation: Validation | None = None,
        progress: Progress | None = None,
    ) -> Self:
        raise NotImplementedError

    def _map(self, vectors: csr_array | NDArray[np.float32]) -> NDArray[np.float32]:
        raise NotImplementedError

    def transform(self, X: ArrayLike | csr_array) -> NDArray[np.float32]:
        """Text-space rows ``f(p)`` of shape (n, T), float32."""
        self._check_fitted()
        rows = self._map(picture_vectors(X, width=self.n_features_in_))
        return np.ascontiguousarray(rows, dtype=np.float32)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as one safetensors file, its parameters as JSON in the header."""
        from safetensors.numpy import save

        self._check_fitted()
        about = {
            "format": FORMAT,
            "model": self.name,
            "parameters": self.get_params(),
            "facts": {name: getattr(self, name) for name in self.facts},
        }
        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in self.arrays}
        write_whole(path, save(arrays, metadata={"visterm": json.dumps(about, default=_plain)}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote."""
        about, arrays = read_model_file(path)
        if about["model"] != cls.name:
            raise BadInput(f"{path} holds a {about['model']} model, not {cls.name}")
        model = cls(**{name: _tuples(value) for name, value in about["parameters"].items()})
        for name in cls.arrays:
            setattr(model, name, arrays[name])
        for name in cls.facts:
            setattr(model, name, _tuples(about["facts"][name]))
        return model

    def _check_fitted(self) -> None:
        if not hasattr(self, self.arrays[0]):
            raise NotFitted(f"this {type(self).__name__} has learnt nothing yet; call fit first")


def read_model_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a saved model says about itself, and its arrays."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stored:
            about = json.loads((stored.metadata() or {})["visterm"])
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise BadInput(f"no model at {path}") from None
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise BadInput(f"{path} is not a visterm model, or is damaged: {error}") from None
    if about["format"] > FORMAT:
        raise VistermError(f"{path} was written by a newer visterm; upgrade to read it")
    return about, arrays


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot store a {type(value).__name__} in a model file")


def _tuples(value: Any) -> Any:
    """JSON has no tuples; parameters that are sequences were tuples."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value

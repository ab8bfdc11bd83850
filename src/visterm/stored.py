"""Fitted things as one safetensors file each: arrays, and JSON in the header. Never pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput, VistermError, not_fitted
from visterm.estimator import Estimator
from visterm.files import write_whole

FORMAT = 1


class Stored(Estimator):
    """An estimator, as scikit-learn has them, that can be saved and loaded.

    A class names itself and its fitted attributes; parameters come from its constructor.
    """

    name: ClassVar[str]
    earlier_names: ClassVar[tuple[str, ...]] = ()
    """What files of earlier editions call it."""
    arrays: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes that are arrays; the first one tells whether anything was learnt."""
    facts: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes that are plain numbers, texts or sequences of them."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learnt as one file, whole or not at all."""
        from safetensors.numpy import save

        self._check_fitted()
        about = {"format": FORMAT, **self._about()}
        arrays = {key: np.ascontiguousarray(array) for key, array in self._arrays().items()}
        write_whole(path, save(arrays, metadata={"visterm": json.dumps(about, default=_plain)}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        about, arrays = read_stored(path)
        if about["name"] not in (cls.name, *cls.earlier_names):
            raise BadInput(f"{path} holds {about['name']}, not {cls.name}")
        try:
            return cls._restored(about, arrays)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{path} is damaged, or of another version: {error}") from None

    def _about(self) -> dict[str, Any]:
        """Name, parameters and facts: what the header of the file says."""
        facts = {name: getattr(self, name) for name in self._fact_names()}
        return {"name": self.name, "parameters": self.get_params(deep=False), "facts": facts}

    @classmethod
    def _restored(cls, about: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        thing = cls(**{key: as_tuples(value) for key, value in about["parameters"].items()})
        for key in cls._fact_names():
            setattr(thing, key, as_tuples(about["facts"][key]))
        thing._restore(arrays)
        return thing

    @classmethod
    def _fact_names(cls) -> tuple[str, ...]:
        return cls.facts

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in self.arrays}

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        for name in self.arrays:
            setattr(self, name, arrays[name])

    def _check_fitted(self) -> None:
        learnt = (*self.arrays, *self.facts)[:1]  # nothing, where a network knows it all
        if not all(hasattr(self, name) for name in learnt):
            raise not_fitted(f"this {type(self).__name__} has learnt nothing yet; call fit first")


def read_stored(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a file says about itself, and its arrays."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stored:
            about = json.loads((stored.metadata() or {})["visterm"])
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except (SafetensorError, OSError, KeyError, ValueError, RecursionError) as error:
        raise BadInput(f"{path} was not written by visterm, or is damaged: {error}") from None
    if not isinstance(about, dict) or not isinstance(about.get("format"), int):
        raise BadInput(f"{path} was not written by visterm, or is damaged: it has no format")
    if about["format"] > FORMAT:
        raise VistermError(f"{path} was written by a newer visterm; upgrade to read it")
    kinds = {"name": str, "parameters": dict, "facts": dict}
    if not all(isinstance(about.get(key), kind) for key, kind in kinds.items()):
        raise BadInput(f"{path} is damaged: it does not say what it holds")
    return about, arrays


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if hasattr(value, "to_json"):  # a parameter that is a thing of its own, such as a kernel
        return value.to_json()
    raise TypeError(f"cannot store a {type(value).__name__} in a file")


def as_tuples(value: Any) -> Any:
    """JSON has no tuples; parameters that are sequences were tuples."""
    return tuple(as_tuples(item) for item in value) if isinstance(value, list) else value

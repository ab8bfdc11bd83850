"""What all kernels share: learning their scale, comparing pictures, and being written as JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.kernels.descriptor_bags import Bags

Pictures: TypeAlias = "ArrayLike | csr_array | Bags | Sequence[NDArray[Any]]"
"""Vectors, one a row; or bags of local descriptors (see `Bags.of`)."""


class Kernel(ABC):
    """How alike pictures are: ``kernel(X, Z)`` is the n × m table of k(x, z).

    A kernel is a dataclass of its parameters. What it learns in `fit` are plain numbers, named in
    ``fitted``, so that a fitted kernel is a few lines of JSON.
    """

    name: ClassVar[str]
    fitted: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes, each a number or a tuple of numbers."""
    positive: ClassVar[bool] = True
    """Whether the table of any pictures with themselves is positive semi-definite."""

    @abstractmethod
    def fit(self, X: Pictures) -> Self:
        """Learn from training pictures what the parameters leave open."""

    @abstractmethod
    def __call__(self, X: Pictures, Z: Pictures | None = None) -> NDArray[np.float32]:
        """k(x, z) for all x of X and z of Z; without Z, X with itself."""

    @abstractmethod
    def diagonal(self, X: Pictures) -> NDArray[np.float32]:
        """k(x, x) for all x of X, without the table."""

    def to_json(self) -> dict[str, Any]:
        """Name, parameters and what was fitted, as plain values."""
        stored = {"name": self.name} | {
            f.name: _plain(getattr(self, f.name))
            for f in fields(self)  # type: ignore[arg-type]
        }
        return stored | {
            name: _plain(getattr(self, name)) for name in self.fitted if hasattr(self, name)
        }

    def _check_fitted(self) -> None:
        if any(not hasattr(self, name) for name in self.fitted):
            raise BadInput(
                f"this {type(self).__name__} takes its scale from training pictures; "
                "call fit with them first"
            )


def kernel_from_json(stored: Mapping[str, Any], known: Mapping[str, type[Kernel]]) -> Kernel:
    """The kernel that `Kernel.to_json` wrote; ``known`` has the classes by name."""
    if stored.get("name") not in known:
        raise BadInput(f"no kernel called {stored.get('name')!r}; there are {', '.join(known)}")
    kind = known[stored["name"]]
    values = {key: _rich(value, known) for key, value in stored.items() if key != "name"}
    fitted = {key: values.pop(key) for key in kind.fitted if key in values}
    try:
        kernel = kind(**values)
    except TypeError as error:
        raise BadInput(f"the kernel {stored['name']} is of another version: {error}") from None
    for key, value in fitted.items():
        setattr(kernel, key, value)
    return kernel


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return value.to_json()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _rich(value: Any, known: Mapping[str, type[Kernel]]) -> Any:
    if isinstance(value, Mapping):
        return kernel_from_json(value, known)
    return tuple(_rich(item, known) for item in value) if isinstance(value, list | tuple) else value

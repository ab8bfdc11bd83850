"""What all kernels share: learning their scale, comparing pictures, and being written as JSON.

The match and the expected likelihood kernel compare bags of local descriptors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from visterm.errors import BadInput


@dataclass(frozen=True, eq=False)
class Bags:
    """Local descriptors of pictures, all under each other.

    Attributes
    ----------
    descriptors : array of shape (all descriptors, d), float32
    starts : array of shape (n + 1,), int64
        Picture ``p`` owns the rows from ``starts[p]`` to ``starts[p + 1]``, one at least.
    """

    descriptors: NDArray[np.float32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, picture: int) -> NDArray[np.float32]:
        return self.descriptors[self.starts[picture] : self.starts[picture + 1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @classmethod
    def of(cls, pictures: Any, width: int | None = None) -> Bags:
        """Bags from any of the forms they come in.

        Parameters
        ----------
        pictures
            n × descriptors × d where all bags have one size, a sequence of (descriptors × d)
            arrays, or vectors in which ``width`` numbers after another are a descriptor.
        width : int, optional
            Numbers of a descriptor, where bags come as vectors.

        Examples
        --------
        >>> Bags.of(np.zeros((2, 77, 109))).sizes.tolist()
        [77, 77]
        >>> Bags.of([np.zeros((3, 8)), np.ones((5, 8))]).sizes.tolist()
        [3, 5]
        >>> len(Bags.of(np.zeros((2, 24)), width=8).descriptors)
        6
        """
        if isinstance(pictures, Bags):
            return pictures
        bags = _split(pictures, width) if width is not None else pictures
        parts = [_checked(number, bag) for number, bag in enumerate(bags)]
        if not parts:
            raise BadInput("no pictures: a kernel compares at least one")
        if len({part.shape[1] for part in parts}) > 1:
            raise BadInput("local descriptors of all pictures need the same number of numbers")
        starts = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
        return cls(np.concatenate(parts), starts)


def _split(pictures: Any, width: int) -> NDArray[Any]:
    vectors = pictures.toarray() if issparse(pictures) else np.asarray(pictures)
    if vectors.ndim != 2 or width < 1 or vectors.shape[1] % width:
        raise BadInput(
            f"vectors of shape {vectors.shape} do not divide into descriptors of {width} numbers"
        )
    return vectors.reshape(len(vectors), -1, width)


def _checked(number: int, bag: Any) -> NDArray[np.float32]:
    try:
        part = np.asarray(bag, dtype=np.float32)
    except (TypeError, ValueError):
        raise BadInput(f"picture {number}: local descriptors must be numbers") from None
    if part.ndim != 2 or part.size == 0:
        raise BadInput(
            f"picture {number}: a bag is descriptors × numbers with one descriptor at least, "
            f"not {part.shape}"
        )
    if not np.isfinite(part).all():
        raise BadInput(f"picture {number}: local descriptors hold NaN or infinite numbers")
    return part


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

"""What all models share: scikit-learn's manners and one way into the text space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from visterm.models._old_names import OLD_NAMES
from visterm.models.inputs import Vectors, picture_vectors
from visterm.progress import Progress
from visterm.stored import Stored
from visterm.text import Relevance

Captions: TypeAlias = "ArrayLike | csr_array | Relevance"
"""Captions as a pictures × words matrix, or the relevance of pictures to real queries."""
Validation: TypeAlias = "tuple[ArrayLike | csr_array, Captions]"

_KEPT_AS = {"max_iter": "n_iter_"}


class Model(Stored):
    """A map from picture vectors into the text space: ``F(q, p) = q · f(p)``.

    A model sets ``name``, ``fit`` and ``_map``, and names its fitted arrays in ``arrays``; saving,
    loading and input checks come from here.
    """

    facts: ClassVar[tuple[str, ...]] = ("n_features_in_",)
    old_names: ClassVar[Mapping[str, str]] = OLD_NAMES
    takes: ClassVar[str] = "vectors"
    """What its pictures come as: "vectors" of any kind, visterm "counts", or rows of "blocks"."""
    targets: ClassVar[str] = "words"
    """What its texts come as: counts of "words", or "vectors" of any text space (words too)."""
    iteration: ClassVar[str | None] = None
    """What ``max_iter`` counts, if anything: "triplets", "epochs", "planes" or "passes"."""
    decides: ClassVar[tuple[str, ...]] = ()
    """Parameters that validation pictures can decide; each is then kept under its name and "_",
    the number of iterations as ``n_iter_``."""

    n_features_in_: int
    validation_: float
    """Best AvgP on validation pictures, NaN without them."""

    def decided(self) -> dict[str, Any]:
        """What validation pictures decided, or what was given, by the names of the parameters.

        >>> from visterm.models import Cmtt
        >>> model = Cmtt(n_components=1).fit([[2.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]])
        >>> model.decided()
        {'n_components': 1, 'power': 1.0}
        """
        self._check_fitted()
        return {name: getattr(self, _KEPT_AS.get(name, f"{name}_")) for name in self.decides}

    def fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        *,
        validation: Validation | None = None,
        progress: Progress | None = None,
    ) -> Self:
        raise NotImplementedError

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        raise NotImplementedError

    def transform(self, X: ArrayLike | csr_array) -> NDArray[np.float32]:
        """Text-space rows ``f(p)`` of shape (n, T), float32."""
        self._check_fitted()
        rows = self._map(picture_vectors(X, width=self.n_features_in_))
        return np.ascontiguousarray(rows, dtype=np.float32)

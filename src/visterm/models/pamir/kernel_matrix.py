"""How kernel PAMIR compares pictures: by a kernel, or by a table that somebody else computed."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.kernels import KERNELS, Kernel, kernel_from_json
from visterm.models.inputs import Vectors, dense

PRECOMPUTED = "precomputed"

# A table of all pairs larger than this is refused: twice as much is needed while it is made.
_TABLE_BYTES = 4 << 30


class Computed:
    """Training pictures as vectors, compared by a kernel."""

    def __init__(self, kernel: Kernel, vectors: Vectors) -> None:
        self.kernel, self.vectors, self.positive = kernel, vectors, kernel.positive

    def table(self, held: Vectors | None) -> NDArray[np.float32]:
        """The training pictures with themselves, then with the held-out ones."""
        n = self.vectors.shape[0]
        m = n + (0 if held is None else held.shape[0])
        if 4 * n * m > _TABLE_BYTES:
            raise BadInput(
                f"the kernel of {n:,} pictures with {m:,} takes {4 * n * m / 2**30:.0f} GiB; "
                "give n_components, such as n_components=1000, to learn through so many landmarks"
            )
        own = self.kernel(self.vectors)
        return own if held is None else np.hstack([own, self.kernel(self.vectors, held)])

    def rows(self, held: Vectors, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.kernel(held, self.vectors[chosen])

    def diagonal(self) -> NDArray[np.float32]:
        return self.kernel.diagonal(self.vectors)

    def vectors_of(self, chosen: NDArray[np.int64]) -> Vectors | None:
        return self.vectors[chosen]

    def to_json(self) -> dict[str, Any]:
        return self.kernel.to_json()


class Given:
    """Training pictures as rows of a table that somebody else computed."""

    positive = True  # trusted; clip=True tells otherwise

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors

    def table(self, held: Vectors | None) -> NDArray[np.float32]:
        own = dense(self.vectors)
        return own.copy() if held is None else np.hstack([own, dense(held).T])

    def rows(self, held: Vectors, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        return dense(held[:, chosen])

    def diagonal(self) -> NDArray[np.float32]:
        return np.asarray(self.vectors.diagonal(), dtype=np.float32)

    def vectors_of(self, chosen: NDArray[np.int64]) -> Vectors | None:
        return None

    def to_json(self) -> dict[str, Any]:
        return {"name": PRECOMPUTED}


Similarities: TypeAlias = Computed | Given


def fresh_kernel(kernel: str | Kernel) -> Kernel:
    """A kernel of its own to fit: what somebody gave is not changed."""
    if isinstance(kernel, Kernel):
        return kernel_from_json(kernel.to_json())
    if kernel not in KERNELS:
        names = ", ".join([*KERNELS, PRECOMPUTED])
        raise BadInput(f"no kernel called {kernel!r}; there are {names}")
    try:
        return KERNELS[kernel]()
    except TypeError:
        raise BadInput(f"the kernel {kernel!r} is made of others: give it with them") from None

"""Kernel PAMIR: the same ranking, through how alike pictures are.

``f(p) = A k(p)``, k(p) the kernel between p and the training pictures, A of shape T × n with the
paper's α: ``W_t = Σ_j α_tj φ(p_j)``. A triplet (q, p⁺, p⁻) with a loss l adds ``τ q_t`` to the α of
p⁺ and takes it from that of p⁻, ``τ = min(C, l / ‖q‖² (k(p⁺, p⁺) + k(p⁻, p⁻) − 2 k(p⁺, p⁻)))``.

D. Grangier and S. Bengio, A discriminative kernel-based approach to rank images from text queries,
IEEE TPAMI 30(8), 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.kernels import KERNELS, Kernel, kernel_from_json
from visterm.kernels.factors import low_rank, negative_directions
from visterm.models import rules
from visterm.models.inputs import Vectors, dense, is_sparse
from visterm.models.pamir.passive_aggressive import PassiveAggressive, Started
from visterm.models.rules import Rules
from visterm.models.selection import Task

if TYPE_CHECKING:
    from visterm.models.pamir._solvers import Solver

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


Coefficients: TypeAlias = "Callable[[NDArray[np.float32]], NDArray[np.floating]]"
"""Makes α of the support from what a solver learnt."""

# New pictures are compared with the training pictures so many at a time.
_ROWS = 4096


@dataclass(eq=False, repr=False, kw_only=True)
class KernelPamir(PassiveAggressive):
    """PAMIR over a kernel between pictures.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel of `visterm.kernels` ("rbf", "linear", or one with parameters, such as
        ``RBF(2)``), or "precomputed": X is
        then the n × n table of the training pictures when fitting, and new × n afterwards (also
        for validation pictures).
    n_components : int, optional
        Learn through so many landmarks, chosen by pivoted Cholesky: ``K ≈ L Lᵀ``, and PAMIR is
        linear on the rows of L. For more pictures than a table of all pairs can hold, or to map
        new pictures faster. None is exact.
    clip : bool, optional
        Leave out the directions in which the kernel is negative (the match kernel has some): K
        becomes the nearest positive semi-definite table, and new pictures are compared within it.
        None does so where the kernel says that it is not positive; a precomputed one is trusted. A
        low-rank kernel never has any.
    C, max_iter, margin, least_margin, max_words, query_exponent, query_lengths, retrain, patience,
    random_state, negatives, warp, averaged : as in `Pamir`

    Attributes
    ----------
    coefficients_ : array of shape (T, s), float32
        α of the pictures that f is made of; of all others it is 0.
    support_ : array of shape (s,), int64
        Numbers of these training pictures: all of them, or the landmarks.
    vectors_ : array or csr_array of shape (s, d)
        Their vectors; not for a precomputed kernel.
    kernel_ : dict
        The fitted kernel, as JSON.
    idf_, C_, n_iter_, negatives_, warp_, averaged_, validation_ : as in `Pamir`

    Examples
    --------
    >>> pictures = np.array([[0.0], [1.0], [5.0], [6.0], [9.0], [10.0]])  # near, far, near
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 0]])
    >>> model = KernelPamir(max_iter=1000).fit(pictures, captions)
    >>> model.transform([[0.5], [5.5], [9.5]]).argmax(axis=1)
    array([0, 1, 0])
    """

    name = "kernel-pamir"
    earlier_names = ("kernel_pamir",)
    arrays = ("coefficients_", "support_", "idf_")
    facts = ("kernel_", "pictures_")
    checks: ClassVar[Rules] = PassiveAggressive.checks | {
        "n_components": rules.optional(rules.WHOLE)
    }

    kernel: str | Kernel = "rbf"
    n_components: int | None = None
    clip: bool | None = None

    @property
    def alpha_(self) -> NDArray[np.float32]:
        """The α of the paper, of shape (T, n)."""
        self._check_fitted()
        alpha = np.zeros((len(self.coefficients_), self.pictures_), dtype=np.float32)
        alpha[:, self.support_] = self.coefficients_
        return alpha

    def _start(self, task: Task) -> Started:
        vectors, words = task.training.vectors, len(task.training.idf)
        held = None if task.held is None else task.held.vectors
        if self.kernel == PRECOMPUTED:
            compared: Similarities = Given(vectors)
        else:
            compared = Computed(fresh_kernel(self.kernel).fit(vectors), vectors)
        begin = self._begin_exactly if self.n_components is None else self._begin_low_rank
        task.progress("comparing pictures", 0, 1)
        solver, coefficients, support = begin(compared, held, words)
        task.progress("comparing pictures", 1, 1)

        def fitted(learnt: NDArray[np.float32]) -> dict[str, Any]:
            return {
                "coefficients_": np.ascontiguousarray(coefficients(learnt), dtype=np.float32),
                "support_": support,
                "kernel_": compared.to_json(),
                "vectors_": compared.vectors_of(support),
                "pictures_": vectors.shape[0],
            }

        return Started(solver, fitted)

    def _begin_exactly(
        self, compared: Similarities, held: Vectors | None, words: int
    ) -> tuple[Solver, Coefficients, NDArray[np.int64]]:
        from visterm.models.pamir._solvers import KernelSolver

        table = compared.table(held)
        n = len(table)
        clip = not compared.positive if self.clip is None else self.clip
        negative = negative_directions(table[:, :n]) if clip else np.empty((n, 0), np.float32)
        if negative.size:
            table -= negative @ (negative.T @ table)
        scores = np.zeros((words, table.shape[1]), dtype=np.float32)
        solver = KernelSolver(table, scores, self.seed)

        def coefficients(learnt: NDArray[np.float32]) -> NDArray[np.float32]:
            # What α says of the clipped table, said of the table itself.
            return np.asarray(learnt - (learnt @ negative) @ negative.T)

        return solver, coefficients, np.arange(n)

    def _begin_low_rank(
        self, compared: Similarities, held: Vectors | None, words: int
    ) -> tuple[Solver, Coefficients, NDArray[np.int64]]:
        from visterm.models.pamir._solvers import choose_solver

        assert self.n_components is not None
        factor = low_rank(
            lambda chosen: compared.rows(compared.vectors, chosen),
            compared.diagonal(),
            int(self.n_components),
        )
        known, to_rows = factor.landmarks, factor.to_rows
        held_rows = None
        if held is not None:
            held_rows = (compared.rows(held, known) @ to_rows).astype(np.float32)
        start = np.zeros((words, len(known)), dtype=np.float32)
        kind = choose_solver(factor.rows, held_rows)
        solver = kind(factor.rows, held_rows, start, self.seed)
        return solver, lambda learnt: solver.weights(learnt) @ to_rows.T, known

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        compared: Similarities
        if self.vectors_ is None:
            compared, support = Given(vectors), self.support_
        else:
            compared = Computed(kernel_from_json(self.kernel_), self.vectors_)
            support = np.arange(len(self.support_))
        parts = (vectors[i : i + _ROWS] for i in range(0, vectors.shape[0], _ROWS))
        rows = [compared.rows(part, support) @ self.coefficients_.T for part in parts]
        return np.asarray(np.concatenate(rows), dtype=np.float32)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        if self.vectors_ is None:
            return super()._arrays()
        if not is_sparse(self.vectors_):
            return super()._arrays() | {"vectors": self.vectors_}
        return super()._arrays() | {
            "vectors_values": self.vectors_.data,
            "vectors_columns": self.vectors_.indices,
            "vectors_starts": self.vectors_.indptr,
        }

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        self.vectors_ = None
        if "vectors_values" in arrays:
            parts = tuple(arrays[f"vectors_{part}"] for part in ("values", "columns", "starts"))
            self.vectors_ = csr_array(parts, shape=(len(self.support_), self.n_features_in_))
        elif self.kernel_["name"] != PRECOMPUTED:
            self.vectors_ = arrays["vectors"]

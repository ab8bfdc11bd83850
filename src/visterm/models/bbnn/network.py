"""BBNN's network and its gradient, written once for NumPy arrays and for torch tensors.

NumPy is the faster of the two on a CPU; torch is there for a CUDA device. A block comes with a
last number that is 1, and a block that is none is all zeros: the first layer's bias is then one
more column of its weights, and a missing block gives ``tanh(0) = 0`` and no gradient by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput, MissingExtra
from visterm.kernels.threads import on_all_cores, slices
from visterm.models.bbnn._batches import Batch

Array: TypeAlias = Any
"""A NumPy array, or a torch tensor on its device."""
_Part = TypeVar("_Part")

# On a CPU, what one core works on stays in its cache. The parts are the same on any number of
# cores, and so are sums over them.
_PART = 96
_CHUNK = 1 << 19
_WHOLE = 1 << 62


class Seen(NamedTuple):
    """What the layers said of some pictures, kept for the backward pass."""

    blocks: Array
    local: Array
    share: Array
    pooled: Array
    deep: Array


class Backend(NamedTuple):
    """Where arrays live: the library that works on them, how they get there and back, and as
    single-precision numbers; how many pictures a core takes, and numbers its cache."""

    xp: Any
    put: Callable[[NDArray[Any]], Array]
    get: Callable[[Array], NDArray[Any]]
    single: Callable[[Array], Array]
    part: int
    chunk: int


def backend_of(device: str) -> Backend:
    """NumPy's arrays for "cpu", torch's tensors for "cuda"."""
    if device == "cpu":
        return Backend(
            np, np.asarray, np.asarray, lambda array: array.astype(np.float32), _PART, _CHUNK
        )
    if not isinstance(device, str) or not device.startswith("cuda"):
        raise BadInput(f"device is 'cpu' or 'cuda', not {device!r}")
    try:
        import torch
    except ImportError:
        raise MissingExtra(
            f"learning on {device!r} needs torch; install it with: pip install 'visterm[neural]', "
            "or learn on the 'cpu', which needs nothing"
        ) from None
    if not torch.cuda.is_available():
        raise BadInput(f"there is no {device!r} here that torch can use; learn on the 'cpu'")
    return Backend(
        torch,
        lambda array: torch.from_numpy(np.ascontiguousarray(array)).to(device),
        lambda tensor: np.asarray(tensor.cpu().numpy()),
        lambda tensor: tensor.float(),
        _WHOLE,
        _WHOLE,
    )


class Network:
    """``t = W3 tanh(W2 f + B2) + B3`` with ``f = mean_i tanh(W1 b_i + B1)``.

    Parameters
    ----------
    layers : W1 (with B1 as its last column), W2, B2, W3, B3
    backend : Backend
    """

    def __init__(self, layers: Sequence[Array], backend: Backend) -> None:
        self.layers = list(layers)
        self.backend = backend
        self._rooms: dict[int, Array] = {}

    def rows(self, blocks: Array) -> Array:
        """Text-space rows of pictures (n, blocks, numbers + 1)."""
        found = self._apart(self._parts(len(blocks)), lambda part: self._look(blocks[part])[1])
        return self.backend.xp.concatenate(found)

    def look(
        self, blocks: Array, shown: Array, looked_at: Array | None = None
    ) -> tuple[list[Seen], Array]:
        """The same of some pictures, by their numbers, with what the backward pass needs.

        ``looked_at`` says which of each one's blocks count; all without it.
        """

        def part(of: slice) -> tuple[Seen, Array]:
            if looked_at is None:
                chosen = blocks[shown[of]]
            else:
                chosen = blocks[shown[of][:, None], looked_at[of]]
            return self._look(chosen, of.start)

        found = self._apart(self._parts(len(shown)), part)
        return [seen for seen, _ in found], self.backend.xp.concatenate([rows for _, rows in found])

    def gradients(self, seen: list[Seen], by_row: Array) -> list[Array]:
        """Of the loss by each layer, from those by each text-space row; uses up ``seen``."""
        parts = list(zip(seen, self._parts(len(by_row)), strict=True))
        total, *others = self._apart(parts, lambda part: self._back(part[0], by_row[part[1]]))
        for other in others:
            for mine, more in zip(total, other, strict=True):
                mine += more
        return total

    def _look(self, blocks: Array, kept: int | None = None) -> tuple[Seen, Array]:
        """Rows of a part, and what the layers said; ``kept`` tells it from the batch's others."""
        w1, w2, b2, w3, b3 = self.layers
        xp, (n, b, d), units = self.backend.xp, blocks.shape, len(w1)
        pooled = self._empty(blocks, (n, units))
        step = max(1, self.backend.chunk // (b * units))
        if kept is None:
            local = self._empty(blocks, (min(n, step), b, units))
        else:
            local = self._room(kept, blocks, (n, b, units))
        for chunk in slices(n, step):
            here = local[: chunk.stop - chunk.start] if kept is None else local[chunk]
            flat = here.reshape(-1, units)
            xp.matmul(blocks[chunk].reshape(-1, d), w1.T, out=flat)
            xp.tanh(flat, out=flat)
            pooled[chunk] = here.sum(1)
        # 1 / how many blocks the picture has; a picture without any is all zeros.
        share = 1 / blocks[:, :, -1].sum(1).clip(1)[:, None]
        pooled *= share
        deep = xp.tanh(pooled @ w2.T + b2)
        return Seen(blocks, local, share, pooled, deep), deep @ w3.T + b3

    def _back(self, seen: Seen, by_row: Array) -> list[Array]:
        w1, w2, _, w3, _ = self.layers
        deep = (by_row @ w3) * (1 - seen.deep * seen.deep)
        pooled = (deep @ w2) * seen.share
        (n, b, d), units = seen.blocks.shape, len(w1)
        # tanh' = 1 − tanh²: what the 1 brings is one small product for all blocks together.
        first = seen.blocks.sum(1).T @ pooled
        moved = (by_row != 0).any(1)  # who violates no margin moves nothing, and is passed over
        for chunk in slices(n, max(1, self.backend.chunk // (b * units))):
            here, blocks, inner = seen.local[chunk], seen.blocks[chunk], pooled[chunk]
            if not moved[chunk].all():
                here, blocks, inner = (part[moved[chunk]] for part in (here, blocks, inner))
            here *= here
            here *= inner[:, None, :]
            first -= blocks.reshape(-1, d).T @ here.reshape(-1, units)
        return [first.T, deep.T @ seen.pooled, deep.sum(0), by_row.T @ seen.deep, by_row.sum(0)]

    def _parts(self, n: int) -> list[slice]:
        return list(slices(n, self.backend.part))

    def _apart(self, parts: list[_Part], work: Callable[[_Part], Any]) -> list[Any]:
        """Do the parts of a batch, on all cores if it is for NumPy; results in order."""
        if self.backend.xp is not np:
            return [work(part) for part in parts]
        found: list[Any] = [None] * len(parts)

        def do(number: int) -> None:
            found[number] = work(parts[number])

        on_all_cores(do, range(len(parts)))
        return found

    def _empty(self, like: Array, shape: tuple[int, ...]) -> Array:
        if self.backend.xp is np:
            return np.empty(shape, like.dtype)
        return like.new_empty(shape)

    def _room(self, kept: int, like: Array, shape: tuple[int, ...]) -> Array:
        """As `_empty`, from the memory of the step before: fresh pages cost a tenth of a step."""
        size = math.prod(shape)
        if kept not in self._rooms or len(self._rooms[kept]) < size:
            self._rooms[kept] = self._empty(like, (size,))
        return self._rooms[kept][:size].reshape(shape)


class Descent:
    """Stochastic gradient descent with momentum, and an average of the weights on its way.

    The average is over about the last tenth of the steps (polynomial decay: O. Shamir and T. Zhang,
    ICML 2013); it ranks better than the weights themselves, which never rest at a constant rate.
    """

    def __init__(self, network: Network, rate: float, momentum: float) -> None:
        self.network, self.rate, self.momentum = network, rate, momentum
        self.steps = 0
        self._speed = [0 * layer for layer in network.layers]
        self.average = Network([layer + 0 for layer in network.layers], network.backend)

    def step(self, gradients: Sequence[Array]) -> None:
        weight = 9 / (10 + self.steps)
        self.steps += 1
        layers = zip(self.network.layers, self._speed, gradients, self.average.layers, strict=True)
        for layer, speed, gradient, average in layers:
            speed *= self.momentum
            speed += gradient
            layer -= self.rate * speed
            average += weight * (layer - average)


def learn_from(
    descent: Descent, blocks: Array, batch: Batch, looked_at: NDArray[np.int64] | None = None
) -> None:
    """One step of gradient descent on a batch's loss.

    ``looked_at`` says which blocks of each shown picture the step looks at; all without it.
    """
    network = descent.network
    put = network.backend.put
    chosen = None if looked_at is None else put(looked_at)
    seen, rows = network.look(blocks, put(batch.shown), chosen)
    descent.step(network.gradients(seen, row_gradients(rows, batch, network.backend)))


def row_gradients(rows: Array, batch: Batch, backend: Backend) -> Array:
    """How the loss changes with each text-space row of the shown pictures.

    The loss of a pair is ``max(0, ε − q·t⁺ + q·t⁻)``, averaged over those p⁻ that
    violate their margin; the batch's loss is the mean over its pairs. With one p⁻ a pair that is
    the paper's hinge.
    """
    queries, margins = backend.put(batch.queries), backend.put(batch.margins)
    better, worse = backend.put(batch.better), backend.put(batch.worse)
    own = (queries * rows[better]).sum(1)
    gaps = own[:, None] - queries @ rows[worse].T
    violating = backend.single(gaps < margins)
    weights = violating / (len(queries) * violating.sum(1).clip(1))[:, None]
    shown = backend.put(np.arange(len(rows)))[:, None]
    up = backend.single(shown == better) @ (weights.sum(1)[:, None] * queries)
    down = backend.single(shown == worse) @ (weights.T @ queries)
    return down - up

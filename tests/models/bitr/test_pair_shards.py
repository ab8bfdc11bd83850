"""BITR over shards of the pairs: the same solution, whatever the division and whatever dies."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.compute import LocalShards
from visterm.models import Bitr
from visterm.models.bitr import pair_shards


class SomeDie(LocalShards):
    """Every seventh call, a shard is begun again from its part, and misses the call."""

    calls = 0

    def __init__(self, kind, parts):
        super().__init__(kind, parts)
        self.kind, self.parts = kind, parts

    def call(self, method, *arguments):
        SomeDie.calls += 1
        found = super().call(method, *arguments)
        if SomeDie.calls % 7 == 0:
            self._shards[1] = self.kind(*self.parts[1])
            found[1] = None
        return found


@pytest.mark.parametrize("ranks", ["texts", "pictures"])
@pytest.mark.parametrize("loss", ["correlation", "manhattan"])
@pytest.mark.parametrize("shards", [LocalShards, SomeDie])
def test_shards_of_pairs_find_the_solution_of_all_pairs_together(monkeypatch, ranks, loss, shards):
    """As closely as the duality gap asks for: rounding alone sets other planes on the way."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 6)).astype(np.float32)
    Y = (X @ rng.standard_normal((6, 5)) + 0.3 * rng.standard_normal((90, 5))).astype(np.float32)
    settings = {"C": 50.0, "ranks": ranks, "loss": loss, "tol": 1e-5}
    together = Bitr(**settings).fit(X, Y)
    monkeypatch.setattr(pair_shards, "_PAIRS_OF_A_SHARD", 40)
    monkeypatch.setattr(pair_shards, "_WAIT", 0.0)
    monkeypatch.setattr(pair_shards, "spread", shards)
    spread = Bitr(**settings).fit(X, Y)
    near = 2e-5 if loss == "correlation" else 2e-4  # manhattan's worst outputs are nearly so
    assert spread.objective_ == pytest.approx(together.objective_, rel=near)
    scale = np.abs(together.weights_).max()
    np.testing.assert_allclose(spread.weights_ / scale, together.weights_ / scale, atol=0.01)


def test_shards_add_up_to_the_planes_of_all_pairs(monkeypatch):
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal((90, width)).astype(np.float32) for width in (6, 5))
    W, target = rng.standard_normal((2, 6, 5))

    def found():
        pairs = pair_shards.Pairs(x, y, "correlation", simplex=False)
        pairs.W = W
        pairs.target = target
        pairs._restore()
        line, plane = pairs.aim(target), pairs.cut(0.3)
        return np.concatenate(
            [plane.normal.ravel(), plane[1:], line.value_and_slope(0.6)], dtype=np.float64
        )

    together = found()
    monkeypatch.setattr(pair_shards, "_PAIRS_OF_A_SHARD", 25)
    np.testing.assert_allclose(found(), together, rtol=1e-5, atol=1e-6)

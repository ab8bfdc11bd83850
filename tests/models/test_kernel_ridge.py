"""Kernel ridge regression against scikit-learn's, and what it does with little."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as Reference

from visterm.errors import BadInput
from visterm.kernels import RBF
from visterm.models import KernelRidge, kernel_ridge

RNG = np.random.default_rng(3)
PICTURES = RNG.normal(size=(40, 6)).astype(np.float32)
CAPTIONS = RNG.integers(0, 3, size=(40, 5))
OTHERS = RNG.normal(size=(9, 6)).astype(np.float32)


def test_it_is_the_logarithm_of_scikit_learns_estimates_of_words_that_are_there() -> None:
    model = KernelRidge(kernel=RBF(0.3, relative=False), alpha=0.5, floor=1e-9)
    ours = model.fit(PICTURES, CAPTIONS).transform(OTHERS)
    reference = Reference(alpha=0.5, kernel="rbf", gamma=0.3).fit(PICTURES, CAPTIONS > 0)
    wanted = reference.predict(OTHERS)
    known = wanted > 1e-3
    assert known.mean() > 0.5
    np.testing.assert_allclose(ours[known], np.log(wanted[known]), atol=1e-3)
    assert (ours[wanted < 0] == np.float32(np.log(1e-9))).all()


def test_what_is_below_the_floor_is_not_told_apart() -> None:
    model = KernelRidge(alpha=0.5, floor=0.2).fit(PICTURES, CAPTIONS)
    assert model.transform(OTHERS).min() == pytest.approx(np.log(0.2))


def test_more_pictures_than_can_be_compared_are_refused_with_advice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_ridge, "_TABLE_BYTES", 4 * 39 * 39)
    with pytest.raises(BadInput, match=r"40 pictures with each other.*kernel-pamir"):
        KernelRidge().fit(PICTURES, CAPTIONS)

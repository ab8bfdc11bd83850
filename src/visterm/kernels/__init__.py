"""Kernels: how alike two pictures are, for every pair at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from visterm.kernels import kernel as _kernel
from visterm.kernels.expected_likelihood import ExpectedLikelihood as ExpectedLikelihood
from visterm.kernels.kernel import Bags as Bags
from visterm.kernels.kernel import Kernel as Kernel
from visterm.kernels.match_kernel import Match as Match
from visterm.kernels.vector_kernels import RBF as RBF
from visterm.kernels.vector_kernels import Cosine as Cosine
from visterm.kernels.vector_kernels import Linear as Linear

KERNELS: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (Linear, RBF, Match, ExpectedLikelihood, Cosine)
}


def kernel_from_json(stored: Mapping[str, Any]) -> Kernel:
    """The kernel that `Kernel.to_json` wrote, with what it had learnt.

    >>> kernel_from_json(RBF(2.0).fit([[0.0], [1.0]]).to_json()).scale_
    0.5
    """
    return _kernel.kernel_from_json(stored, KERNELS)

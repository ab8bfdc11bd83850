"""PAMIR, the passive-aggressive model for image retrieval: linear, and over a kernel.

`update` states the rule, `pamir` and `kernel_pamir` the two models, `passive_aggressive` what they
share; `_kernels` are the compiled loops and `_solvers` where they keep their state.
"""

from visterm.models.pamir.kernel_pamir import KernelPamir
from visterm.models.pamir.pamir import Pamir

__all__ = ["KernelPamir", "Pamir"]

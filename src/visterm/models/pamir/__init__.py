"""PAMIR, the passive-aggressive model for image retrieval: linear, and over a kernel.

`pamir` and `kernel_pamir` are the two models, `passive_aggressive` what they share, the rule of the
update first; `_kernels` are the compiled loops and `_solvers` where they keep their state.
"""

from visterm.models.pamir.kernel_pamir import KernelPamir
from visterm.models.pamir.pamir import Pamir

__all__ = ["KernelPamir", "Pamir"]

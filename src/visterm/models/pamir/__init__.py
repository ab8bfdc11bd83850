"""PAMIR, the passive-aggressive model for image retrieval: linear, and over a kernel."""

from visterm.models.pamir.kernel_pamir import KernelPamir
from visterm.models.pamir.pamir import Pamir

__all__ = ["KernelPamir", "Pamir"]

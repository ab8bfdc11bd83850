"""BITR, bilateral image-text retrieval by a structural SVM."""

from visterm.models.bitr.bitr import LOSSES, Bitr

__all__ = ["LOSSES", "Bitr"]

"""BITR, bilateral image-text retrieval: a structural SVM, its `losses`, and `cutting_planes`."""

from visterm.models.bitr.bitr import LOSSES, Bitr

__all__ = ["LOSSES", "Bitr"]

"""What parameters and fitted attributes of models were called in the first edition's files."""

from __future__ import annotations

_PARAMETERS = {
    "aspects": "n_components",
    "batch": "batch_size",
    "crossed": "in_batch_negatives",
    "dimensions": "n_components",
    "epochs": "max_iter",
    "iterations": "max_iter",
    "longest": "max_norm",
    "look": "block_share",
    "neighbours": "n_neighbors",
    "numbers": "block_width",
    "passes": "max_iter",
    "rank": "n_components",
    "rate": "learning_rate",
    "rounds": "max_iter",
    "tolerance": "tol",
    "workers": "n_jobs",
}

OLD_NAMES = (
    _PARAMETERS
    | {f"{old}_": f"{new}_" for old, new in _PARAMETERS.items()}
    | {"epochs_": "n_iter_", "iterations_": "n_iter_", "rounds_": "n_iter_"}
)
"""Old name to new one; only loading a model file looks here."""

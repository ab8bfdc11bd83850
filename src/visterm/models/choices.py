"""What is worth offering to validation pictures, model by model."""

from __future__ import annotations

from typing import Any

from visterm.kernels import RBF

CHOICES: dict[str, dict[str, Any]] = {
    "pamir": {"C": (0.1, 0.3, 1.0), "iterations": 10_000_000},
    "cmrm": {
        "alpha": (0.0, 0.1, 0.5),
        "beta": (0.1, 0.2, 0.4),
        "evidence": (None, 4.0, 8.0, 16.0),
        "power": (1.0, 0.5, 0.2),
    },
    "cmtt": {"rank": (50, 100, 200, 300), "power": (1.0, 0.5)},
    "plsa": {
        "aspects": (200, 400, 800),
        "text_steps": (20, 40),
        "visterm_steps": 2,
        "folding_steps": 8,
        "power": (1.0, 0.25),
    },
    "concept_svm": {"C": (0.1, 1.0, 10.0)},
    "kernel_pamir": {"kernel": RBF(2.0), "C": (0.03, 0.1, 0.3), "averaged": True},
    "cca": {"ridge": (0.1, 0.3, 1.0), "text_ridge": (0.1, 0.3, 1.0), "scaling": (0.5, 1.0)},
    "bitr": {"C": (10.0, 100.0, 1e3, 1e4), "rounds": 200},
    "wsabie": {"rate": (0.003, 0.03)},
    "knn": {"neighbours": (25, 100), "sharpness": (10.0, 20.0, 30.0)},
}
"""What validation pictures decide for each model: small grids around what ranked Corel's best, and
for models of pairs IAPR TC-12's. BBNN has nothing but its rounds to decide."""


def pairs_of_a_round(words: int) -> int:
    """How many pairs BBNN's round has, where captions hold so many words in all.

    >>> pairs_of_a_round(300), pairs_of_a_round(5_000), pairs_of_a_round(10**6)
    (2000, 20000, 50000)
    """
    return min(max(4 * words, 2_000), 50_000)

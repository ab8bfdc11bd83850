"""Extractors and models by name, set up as experiments want them."""

from __future__ import annotations

import os
from typing import Any

from visterm.errors import BadInput
from visterm.features import CNN, Combined, Extractor, parse_features
from visterm.kernels import RBF
from visterm.models import MODELS, KernelPamir, Model

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
}
"""What validation pictures decide for each model: small grids around what ranked Corel's best."""


def make_extractor(name: str, *, workers: int | None = None, seed: int = 0) -> Extractor:
    """The extractor of a name, or of several joined by +, on all cores unless told otherwise."""
    return parse_features(name, workers=workers or os.cpu_count() or 1, random_state=seed)


def make_model(name: str, *, max_words: int | None = None, seed: int = 0) -> Model:
    """The model of a name, with the choices that validation pictures decide."""
    if name not in MODELS:
        raise BadInput(f"no model called {name!r}; there are {', '.join(MODELS)}")
    model = MODELS[name](**CHOICES.get(name, {}))
    wanted = {"max_words": max_words, "retrain": True, "random_state": seed, "judged_by": "words"}
    return model.set_params(**{k: v for k, v in wanted.items() if k in model.get_params()})


def best(
    *, workers: int | None = None, max_words: int | None = None, seed: int = 0
) -> tuple[Extractor, Model]:
    """What ranked Corel's validation pictures best: one network's four views of a picture,
    compared by an RBF kernel."""
    views = [
        CNN(size=288),
        CNN(size=256, crop="squash"),
        CNN(size=224),
        CNN(size=224, crop="centre"),
    ]
    model = KernelPamir(
        kernel=RBF(2.0),
        C=(0.1, 0.3),
        iterations=6_000_000,
        max_words=max_words,
        retrain=True,
        random_state=seed,
    )
    return Combined(views, workers=workers or os.cpu_count() or 1), model

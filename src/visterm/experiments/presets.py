"""Extractors and models by name, set up as experiments want them."""

from __future__ import annotations

import os

from visterm.errors import BadInput
from visterm.features import EXTRACTORS, Extractor
from visterm.models import MODELS, Model, Pamir


def make_extractor(name: str, *, workers: int | None = None, seed: int = 0) -> Extractor:
    """The extractor of a name, on all cores unless told otherwise."""
    if name not in EXTRACTORS:
        raise BadInput(f"no features called {name!r}; there are {', '.join(EXTRACTORS)}")
    extractor = EXTRACTORS[name]()
    given = extractor.get_params()
    settings = {"workers": workers or os.cpu_count() or 1, "random_state": seed}
    return extractor.set_params(**{k: v for k, v in settings.items() if k in given})


def make_model(name: str, *, max_words: int | None = None, seed: int = 0) -> Model:
    """The model of a name, with the choices that validation pictures decide."""
    if name not in MODELS:
        raise BadInput(f"no model called {name!r}; there are {', '.join(MODELS)}")
    if name == Pamir.name:
        return Pamir(
            C=(0.1, 0.3, 1.0),
            iterations=10_000_000,
            max_words=max_words,
            retrain=True,
            random_state=seed,
        )
    model = MODELS[name]()
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model

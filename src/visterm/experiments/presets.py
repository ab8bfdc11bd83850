"""Extractors and models by name, set up as experiments want them."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from visterm.errors import BadInput
from visterm.features import CNN, Combined, Extractor
from visterm.features.notation import parse_named
from visterm.kernels import RBF
from visterm.models import KernelRidge, Model, model_of
from visterm.models.grids import PRESETS


def make_model(
    name: str, *, max_words: int | None = None, seed: int = 0, presets: bool = True
) -> Model:
    """The model of a name, with the choices that validation pictures decide.

    It ranks pictures for words, and learns again from the validation pictures. Without ``presets``
    it has nothing but its own defaults and what stands in brackets.

    >>> make_model("bitr(loss=manhattan)").loss
    'manhattan'
    """
    named = parse_named(name)
    if ":" in named.name:
        return _own_model(*named)
    kind = model_of(named.name)
    model = kind(**(PRESETS.get(kind.name, {}) if presets else {}))
    known = model.get_params()
    for parameter in named.parameters:
        if parameter not in known:
            raise BadInput(f"{kind.name} has no parameter {parameter!r}; it has {', '.join(known)}")
    wanted = {
        "max_words": max_words,
        "retrain": True,
        "random_state": seed,
        "judged_by": "words",
        "ranks": "pictures",
    }
    fitting = {key: value for key, value in wanted.items() if key in known}
    return model.set_params(**fitting | named.parameters)


def _own_model(name: str, parameters: dict[str, Any]) -> Model:
    """A model of somebody else's module, such as ``my_module:MyModel``."""
    module, _, kind = name.partition(":")
    try:
        model: Model = getattr(import_module(module), kind)(**parameters)
    except (ImportError, AttributeError, TypeError) as error:
        raise BadInput(f"the model {name} cannot be made: {error}") from None
    for method in ("fit", "transform"):
        if not callable(getattr(model, method, None)):
            raise BadInput(f"{name} has no {method}; a model has fit(X, Y) and transform(X)")
    return model


def best(*, n_jobs: int | None = None, max_words: int | None = None) -> tuple[Extractor, Model]:
    """What ranked Corel's validation pictures best: three networks' views of a picture,
    compared by an RBF kernel, and kernel ridge regression."""
    views = [
        CNN(size=288),
        CNN(size=256, crop="squash"),
        CNN(network="lite1", size=320),
        CNN(network="lite1", size=288, crop="squash"),
        CNN(network="lite2", size=352),
        CNN(network="lite2", size=288, crop="squash"),
    ]
    model = KernelRidge(kernel=RBF(2.0), alpha=(0.1, 0.3), max_words=max_words, retrain=True)
    return Combined(views, n_jobs=n_jobs or os.cpu_count() or 1), model

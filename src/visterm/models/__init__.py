"""Models: maps from picture vectors into the text space."""

from __future__ import annotations

import os

from visterm.errors import BadInput
from visterm.models.model import Model, read_model_file
from visterm.models.pamir import Pamir

MODELS: dict[str, type[Model]] = {model.name: model for model in (Pamir,)}


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read any saved model, whichever it is."""
    about, _ = read_model_file(path)
    if about["model"] not in MODELS:
        raise BadInput(f"{path} holds a {about['model']} model, which this visterm does not know")
    return MODELS[about["model"]].load(path)


__all__ = ["MODELS", "Model", "Pamir", "load_model"]

"""Model files of earlier editions still load, and map pictures as they did when they were saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from problems import problem

from visterm.models import load_model

SAMPLES = sorted(Path(__file__, "..", "samples").resolve().glob("*.safetensors"))


def test_every_kind_of_model_has_a_sample():
    from visterm.models import MODELS

    assert {load_model(sample).name for sample in SAMPLES} == set(MODELS)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_stored_model_maps_pictures_as_when_it_was_saved(sample):
    kind = sample.name.split(".")[1]
    rows = load_model(sample).transform(problem(kind).held_X[:5])
    np.testing.assert_allclose(
        rows, np.load(sample.with_suffix(".npz"))["rows"], rtol=1e-5, atol=1e-6
    )

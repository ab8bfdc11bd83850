"""Every model keeps every promise of `contract.py`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest
from contract import PROMISES, Candidate
from problems import Problem, problem

from visterm.models import MODELS, Model, Pamir


def pamir(**changes: Any) -> Model:
    return Pamir(**{"iterations": 20_000, **changes})


def pamir_by_captions(**changes: Any) -> Model:
    return pamir(**{"margin": "caption", **changes})


CANDIDATES = [
    Candidate("pamir on sparse vectors", pamir, "sparse", {"C": (0.001, 0.1)}),
    Candidate("pamir on dense vectors", pamir, "dense", {"C": (0.001, 0.1)}),
    Candidate("pamir by caption margin", pamir_by_captions, "sparse", {"C": (0.001, 0.1)}),
]


@lru_cache
def problem_of(kind: str) -> Problem:
    return problem(kind)


@pytest.mark.parametrize("check", PROMISES, ids=lambda check: check.__name__)
@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda candidate: candidate.name)
def test_keeps_its_promises(candidate, check):
    check(candidate, problem_of(candidate.kind))


def test_no_model_is_left_out_of_the_contract():
    assert {type(candidate()) for candidate in CANDIDATES} == set(MODELS.values())

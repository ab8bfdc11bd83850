"""Every model keeps every promise of `contract.py`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest
from contract import PROMISES, Candidate
from problems import Problem, problem

from visterm.kernels import RBF, Cosine
from visterm.models import (
    MODELS,
    Bbnn,
    Bitr,
    Cca,
    Cmrm,
    Cmtt,
    ConceptSvm,
    Contrastive,
    KernelPamir,
    KernelRidge,
    Model,
    Pamir,
    Plsa,
    Ridge,
    WeightedKnn,
    Wsabie,
)


def pamir(**changes: Any) -> Model:
    return Pamir(**{"max_iter": 20_000, **changes})


def pamir_by_captions(**changes: Any) -> Model:
    return pamir(**{"margin": "caption", **changes})


def harder_pamir(**changes: Any) -> Model:
    return pamir(**{"negatives": 5, "warp": True, "averaged": True, **changes})


def kernel_pamir(**changes: Any) -> Model:
    return KernelPamir(**{"max_iter": 20_000, **changes})


def cosine_kernel_pamir(**changes: Any) -> Model:
    return kernel_pamir(**{"kernel": Cosine(RBF(2.0)), **changes})


def low_rank_kernel_pamir(**changes: Any) -> Model:
    return kernel_pamir(**{"n_components": 100, **changes})


def bbnn(**changes: Any) -> Model:
    small = {
        "block_width": 6,
        "block_units": 16,
        "picture_units": 16,
        "batch_size": 50,
        "max_iter": 3,
    }
    return Bbnn(**{**small, "epoch_pairs": 3000, **changes})


def cmtt(**changes: Any) -> Model:
    return Cmtt(**{"n_components": 30, **changes})


def plsa(**changes: Any) -> Model:
    return Plsa(**{"n_components": 20, "text_steps": 60, **changes})


def bitr(**changes: Any) -> Model:
    return Bitr(**{"C": 100.0, **changes})


def knn(**changes: Any) -> Model:
    return WeightedKnn(**{"n_neighbors": 20, **changes})


def wsabie(**changes: Any) -> Model:
    return Wsabie(**{"n_components": 20, "max_iter": 100, **changes})


def wsabie_of_texts(**changes: Any) -> Model:
    return wsabie(**{"outputs": "texts", **changes})


def contrastive(**changes: Any) -> Model:
    small = {"n_components": 32, "learning_rate": 0.01, "max_iter": 20, "batch_size": 80}
    return Contrastive(**{**small, "temperature": 0.2, **changes})


def contrastive_of_units(**changes: Any) -> Model:
    return contrastive(**{"hidden_units": 16, "judged_by": "pairs", **changes})


CANDIDATES = [
    Candidate("pamir on sparse vectors", pamir, "sparse", {"C": (0.001, 0.1)}),
    Candidate("pamir on dense vectors", pamir, "dense", {"C": (0.001, 0.1)}),
    Candidate("pamir by caption margin", pamir_by_captions, "sparse", {"C": (0.001, 0.1)}),
    Candidate(
        "pamir by hard negatives",
        harder_pamir,
        "dense",
        {"negatives": (1, 5), "warp": (True, False), "averaged": (True, False)},
    ),
    Candidate("kernel pamir", kernel_pamir, "dense", {"C": (0.001, 0.1)}),
    Candidate(
        "kernel pamir by a cosine", cosine_kernel_pamir, "sparse", {"averaged": (True, False)}
    ),
    Candidate("kernel pamir of low rank", low_rank_kernel_pamir, "dense", {"C": (0.001, 0.1)}),
    Candidate("kernel ridge regression", KernelRidge, "dense", {"alpha": (0.1, 10.0)}),
    Candidate("ridge regression", Ridge, "dense", {"alpha": (1.0, 100.0)}),
    Candidate("bbnn", bbnn, "blocks"),
    Candidate("cmrm", Cmrm, "counts", {"beta": (0.1, 0.5), "alpha": (0.1, 0.5)}),
    Candidate(
        "cmrm, tempered",
        lambda **changes: Cmrm(**{"evidence": 8.0, **changes}),
        "counts",
        {"evidence": (4.0, None), "power": (0.5, 1.0)},
    ),
    Candidate("cmtt", cmtt, "counts", {"n_components": (5, 30)}),
    Candidate("plsa", plsa, "counts", {"n_components": (5, 20), "text_steps": (10, 60)}),
    Candidate("concept svm on sparse vectors", ConceptSvm, "sparse", {"C": (0.01, 1.0)}),
    Candidate("concept svm on dense vectors", ConceptSvm, "dense", {"C": (0.01, 1.0)}),
    Candidate("cca on dense vectors", Cca, "dense", {"ridge": (0.01, 1.0), "scaling": (0, 2.0)}),
    Candidate(
        "cca on sparse vectors, by words",
        lambda **changes: Cca(**{"judged_by": "words", **changes}),
        "sparse",
        {"n_components": (2, 10)},
    ),
    Candidate("bitr-c", bitr, "dense", {"C": (1.0, 100.0)}),
    Candidate(
        "bitr-e, ranking pictures",
        lambda **changes: bitr(**{"loss": "euclidean", "ranks": "pictures", **changes}),
        "dense",
        {"C": (1.0, 100.0)},
    ),
    Candidate(
        "bitr-m on the simplex",
        lambda **changes: bitr(**{"loss": "manhattan", **changes}),
        "sparse",
        {"C": (1.0, 100.0)},
    ),
    Candidate("wsabie on dense vectors", wsabie, "dense", {"learning_rate": (0.01, 0.03)}),
    Candidate("wsabie for captions", wsabie_of_texts, "sparse", {"max_norm": (1.0, 3.0)}),
    Candidate("contrastive", contrastive, "dense", {"temperature": (0.1, 0.3)}),
    Candidate(
        "contrastive with hidden units",
        contrastive_of_units,
        "sparse",
        {"learning_rate": (0.003, 0.01), "max_iter": (10, 20)},
    ),
    Candidate("weighted knn on dense vectors", knn, "dense", {"n_neighbors": (5, 20)}),
    Candidate(
        "weighted knn on sparse vectors",
        knn,
        "sparse",
        {"sharpness": (1.0, 10.0), "rarity": (0, 0.5)},
    ),
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

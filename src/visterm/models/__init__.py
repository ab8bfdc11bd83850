"""Models: maps from picture vectors into the text space."""

from __future__ import annotations

import os

from visterm.errors import BadInput
from visterm.models.base import Model as Model
from visterm.models.bbnn import Bbnn as Bbnn
from visterm.models.bitr import Bitr as Bitr
from visterm.models.cca import Cca as Cca
from visterm.models.cmrm import Cmrm as Cmrm
from visterm.models.cmtt import Cmtt as Cmtt
from visterm.models.concept_svm import ConceptSvm as ConceptSvm
from visterm.models.contrastive import Contrastive as Contrastive
from visterm.models.kernel_ridge import KernelRidge as KernelRidge
from visterm.models.pamir import Pamir as Pamir
from visterm.models.pamir.kernel_pamir import KernelPamir as KernelPamir
from visterm.models.plsa import Plsa as Plsa
from visterm.models.ridge import Ridge as Ridge
from visterm.models.weighted_knn import WeightedKnn as WeightedKnn
from visterm.models.wsabie import Wsabie as Wsabie
from visterm.stored import read_stored

_KINDS = (
    *(Ridge, Pamir, KernelPamir, KernelRidge, Bbnn, Cmrm, Cmtt, Plsa, ConceptSvm),
    *(Cca, Bitr, WeightedKnn, Wsabie, Contrastive),
)
MODELS: dict[str, type[Model]] = {kind.name: kind for kind in _KINDS}
_STORED = MODELS | {name: kind for kind in _KINDS for name in kind.earlier_names}


def model_of(name: str) -> type[Model]:
    """A kind of model by its name.

    >>> model_of("kernel-pamir").__name__
    'KernelPamir'
    """
    if name not in MODELS:
        raise BadInput(f"no model called {name!r}; there are {', '.join(MODELS)}")
    return MODELS[name]


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read any saved model, whichever it is."""
    about, _ = read_stored(path)
    if about["name"] not in _STORED:
        raise BadInput(f"{path} holds {about['name']}, which is no model this visterm knows")
    return _STORED[about["name"]].load(path)

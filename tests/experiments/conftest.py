"""Papers and runs on drawn scenes, which are learnt from with far fewer triplets than Corel is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from visterm.experiments.papers.ecml import feature_comparison
from visterm.experiments.papers.tpami import block_features
from visterm.experiments.runner import vector_cache
from visterm.features import CNN
from visterm.models.grids import PRESETS

TRIPLETS = 50_000


@pytest.fixture(scope="package", autouse=True)
def few_triplets() -> Iterator[None]:
    shared, pamir = block_features._shared, feature_comparison._pamir
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "pamir", {"max_iter": TRIPLETS})
        patch.setattr(block_features, "_shared", lambda *of: shared(*of) | {"max_iter": TRIPLETS})
        patch.setattr(
            feature_comparison, "_pamir", lambda *of: pamir(*of).set_params(max_iter=TRIPLETS)
        )
        patch.setattr(vector_cache, "VIEWS", (CNN(size=96), CNN(network="lite1", size=96)))
        yield

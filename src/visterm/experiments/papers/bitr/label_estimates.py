"""Labels by what three CNNs see: kernel ridge regression, and with it balanced neighbours.

As probabilities of labels, so that labels can be ranked for a picture as well as pictures for a
label. Settings are those that a tenth of the training pictures that come with IAPR TC-12 liked
when pictures were annotated; nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from scipy.sparse import csr_array

from visterm.experiments.papers.bitr.directions import Figures, score_figures
from visterm.experiments.papers.bitr.methods import Rows
from visterm.experiments.papers.bitr.partitions import Partition
from visterm.experiments.papers.labelling.label_choice import learn_choice
from visterm.experiments.papers.labelling.label_scores import Annotators, fused
from visterm.experiments.papers.labelling.left_out_ridge import Estimates

SETTINGS: dict[str, dict[str, Any]] = {
    "kernel ridge": {"gamma": 2.0, "ridge": 0.1},
    "balanced neighbours": {"sharpness": 20.0, "neighbours": 5},
}


def estimate_methods(
    seen: Rows, true: csr_array, partition: Partition
) -> Iterator[tuple[str, partial[dict[str, Figures]]]]:
    """Kernel ridge alone, and both together, each with what measures it on the test pictures."""
    learnt = partition.development
    model = Annotators(seen[learnt], true[learnt].toarray())

    @cache
    def estimated(way: str) -> Estimates:
        return model.scores(way, seen[partition.test], SETTINGS[way])

    def measured(ways: tuple[str, ...]) -> dict[str, Figures]:
        scores = fused([estimated(way) for way in ways], (1 / len(ways),) * len(ways))
        choice = learn_choice(scores.left_out, model.labels)
        return score_figures(choice.probabilities(scores.asked), csr_array(true[partition.test]))

    yield "kernel ridge (three CNNs)", partial(measured, ("kernel ridge",))
    yield "kernel ridge + balanced neighbours (three CNNs)", partial(measured, tuple(SETTINGS))

"""The TPAMI comparison with the paper's own settings, which table 6 lists.

Every model has blocks of its own side and a codebook of its own size, over texture and colour
joint, plain counts, parameters as the paper's validation chose them, and learns from the 4,000
training pictures only. Sides are halved, for our pictures are half as large.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from visterm.experiments.papers.published import published
from visterm.experiments.runner.indexed_models import RankedRun, choose_and_index
from visterm.experiments.runner.kept_runs import block_rows, kept_run
from visterm.experiments.runner.protocol import Protocol
from visterm.experiments.runner.runs import Seconds
from visterm.features import Blocks
from visterm.models import Cmrm, Cmtt, ConceptSvm, Model, Pamir, Plsa
from visterm.progress import Progress, silent

TABLE = published("tpami")["table 6"]
_SCALE = 2  # the paper's pictures are so many times as large as ours
_LARGE_CODEBOOK, _FEW_POINTS = 30_000, 10
PLAIN: dict[str, tuple[type[Model], dict[str, Any]]] = {
    "CMRM": (Cmrm, {"evidence": None, "power": 1.0}),
    "CMTT": (Cmtt, {"power": 1.0}),
    "PLSA": (Plsa, {"power": 1.0, "text_steps": 40}),
    "SVM": (ConceptSvm, {"C": (0.01, 0.1, 1.0, 10.0)}),
    "PAMIR": (Pamir, {"C": (0.001, 0.01, 0.1, 1.0), "max_iter": 10_000_000}),
}
"""The models without what we added; C of the SVM is chosen word by word, as in the paper."""


class FewPoints(Blocks):
    """Blocks whose codebook is learnt from fewer points a centre: 50,000 centres take hours."""

    points_per_centre = _FEW_POINTS


def published_models(
    protocol: Protocol,
    settings: Mapping[str, Mapping[str, Any]] = TABLE,
    progress: Progress = silent,
) -> dict[str, RankedRun]:
    """Every model of the paper, as it was published."""
    made = {}
    for name, setting in settings.items():
        kind, changes = PLAIN[name]
        known = {k: v for k, v in setting.items() if k not in ("side", "codebook")}
        model = kind(**{**changes, **known, "max_words": protocol.max_words})
        if "random_state" in model.get_params():
            model.set_params(random_state=protocol.seed)

        def run(model: Model = model, setting: Mapping[str, Any] = setting) -> RankedRun:
            seconds = Seconds()
            with seconds.on("features"):
                rows = block_rows(protocol, _blocks(setting, protocol.seed), progress).of(model)
            return choose_and_index(
                protocol, rows, model, seconds, training_only=True, progress=progress
            )

        recipe = f"as published {dict(setting)} {model.get_params()}"
        made[name] = kept_run(protocol, recipe, run, training_only=True)
    return made


def _blocks(setting: Mapping[str, Any], seed: int) -> Blocks:
    kind = FewPoints if setting["codebook"] >= _LARGE_CODEBOOK else Blocks
    channel = (setting["side"] // _SCALE, "joint", setting["codebook"])
    return kind([channel], root=False, n_jobs=os.cpu_count() or 1, random_state=seed)

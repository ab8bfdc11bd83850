"""How blocks become PAMIR's pictures: tables 3 and 4 of the TPAMI paper, on validation pictures.

Both are about choosing, so no test picture is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.errors import VistermError
from visterm.evaluation import Table
from visterm.experiments.picture_features import extract
from visterm.experiments.protocol import Protocol, Source, corel5k
from visterm.experiments.runs import choose
from visterm.experiments.tables import Entry, Report
from visterm.features import Blocks
from visterm.features.bag_of_visterms import visterm_weights, weigh_visterms
from visterm.features.extractor import Rows
from visterm.features.picture_batches import Pixels, over_pictures
from visterm.kernels import ExpectedLikelihood, Kernel, Match
from visterm.models import KernelPamir, Pamir
from visterm.progress import Progress, silent

_SCALE = 2  # the paper's pictures are so many times as large as ours
_SIDE = 32
MAX_ITER = 4_000_000
KERNELS: dict[str, dict[str, Kernel]] = {
    "expected likelihood": {
        "1 Gaussian, power 1": ExpectedLikelihood(),
        "1 Gaussian, power 0.1": ExpectedLikelihood(power=0.1),
        "2 Gaussians, power 0.1": ExpectedLikelihood(n_components=2, power=0.1),
    },
    "match": {"rbf, gamma 2": Match("rbf", gamma=2.0), "linear": Match("linear")},
}
"""What is tried for each row of table 4."""


class Tried(NamedTuple):
    """One setting, and the best AvgP it reached on validation pictures."""

    setting: str
    avgp: float
    C: float


def by_side(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """AvgP by the side of the blocks; the codebook and C are the best for each."""
    protocol = corel5k(entry.dataset(data), seed=seed)
    sides = {int(side) // _SCALE: figure for side, figure in entry.published.items()}
    found = sides_tried(protocol, list(sides), entry.table["codebooks"], progress)
    best = [_best(tried) for tried in found.values()]
    table = Table(
        entry.titled(""),
        list(entry.published),
        {
            "published": list(sides.values()),
            "ours": [one.avgp for one in best],
            "ours, visterms": [one.setting for one in best],
        },
        heading="block side (ours: half)",
    )
    return Report(table, _object(entry, {str(side): tried for side, tried in found.items()}))


def by_kernel(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """AvgP by the kernel between pictures of 77 blocks."""
    protocol = corel5k(entry.dataset(data), seed=seed)
    found = kernels_tried(protocol, KERNELS, progress)
    visterms = sides_tried(protocol, [_SIDE], entry.table["codebooks"], progress)
    found["visterm, linear"] = visterms[_SIDE]
    rows: dict[str, list[float | str]] = {
        name: [entry.published[name], _best(tried).avgp, _best(tried).setting]
        for name, tried in found.items()
    }
    table = Table(entry.titled(""), ["published", "ours", "our parameters"], rows)
    return Report(table, _object(entry, found))


def sides_tried(
    protocol: Protocol,
    sides: Sequence[int],
    codebooks: Sequence[int],
    progress: Progress = silent,
) -> dict[int, list[Tried]]:
    """PAMIR on joint histograms of blocks of one side, for each codebook's size."""
    pairs = [(side, size) for side in sides for size in codebooks]
    blocks = Blocks(
        channels=[(side, "joint", size) for side, size in pairs],
        weighting="counts",
        n_jobs=os.cpu_count() or 1,
        random_state=protocol.seed,
    )
    counts = extract(protocol, blocks, test=False, progress=progress)
    edges = np.cumsum([0, *blocks.sizes_])
    found: dict[int, list[Tried]] = {side: [] for side in sides}
    for (side, size), (first, last) in zip(pairs, pairwise(edges), strict=True):
        idf = visterm_weights(counts[0][:, first:last])
        vectors = [weigh_visterms(part[:, first:last], idf, root=True) for part in counts]
        model = Pamir(C=(0.03, 0.1, 0.3), **_shared(protocol))
        found[side].append(_tried(f"{size} visterms", protocol, model, vectors, progress))
    return found


def kernels_tried(
    protocol: Protocol,
    kernels: Mapping[str, Mapping[str, Kernel]],
    progress: Progress = silent,
) -> dict[str, list[Tried]]:
    """Kernel PAMIR on square-rooted histograms of blocks of 32 pixels."""
    bags = block_histograms(protocol, progress)
    found: dict[str, list[Tried]] = {}
    for name, kinds in kernels.items():
        found[name] = []
        for setting, kernel in kinds.items():
            progress("comparing pictures", 0, 1)
            tables = [kernel.fit(bags[0])(bags[0]), kernel(bags[1], bags[0])]
            model = KernelPamir(
                kernel="precomputed",
                clip=not kernel.positive,
                C=(0.1, 0.3, 1.0),
                **_shared(protocol),
            )
            found[name].append(_tried(setting, protocol, model, tables, progress))
    return found


def _tried(
    setting: str,
    protocol: Protocol,
    model: Pamir | KernelPamir,
    vectors: Sequence[Rows],
    progress: Progress,
) -> Tried:
    choose(protocol, model, vectors, progress)
    return Tried(setting, model.validation_, model.C_)


def _shared(protocol: Protocol) -> dict[str, Any]:
    seed = protocol.seed
    return {"max_iter": MAX_ITER, "max_words": protocol.max_words, "random_state": seed}


def _rooted(pictures: list[Pixels], blocks: Blocks) -> NDArray[np.float32]:
    """Square roots of block histograms, picture by picture."""
    each = [np.sqrt(blocks.histograms(pixels)[0], dtype=np.float32) for pixels in pictures]
    return np.stack(each)


def block_histograms(
    protocol: Protocol, progress: Progress, *, test: bool = False
) -> list[NDArray[np.float32]]:
    """Pictures × blocks × bins of the training, the validation and, where wanted, the test ones."""
    n_jobs = os.cpu_count() or 1
    blocks = Blocks([(_SIDE, "joint", 2)], n_jobs=n_jobs, random_state=protocol.seed)
    paths = protocol.development.paths
    parts = [[paths[i] for i in numbers] for numbers in protocol.split]
    blocks.fit(parts[0])
    parts += [list(protocol.test.paths)] if test else []
    found = []
    for part in parts:
        batches = list(
            over_pictures(
                partial(_rooted, blocks=blocks),
                part,
                max_side=blocks.max_side,
                n_jobs=n_jobs,
                progress=progress,
                what="extracting blocks",
            )
        )
        for skip in (skip for batch in batches for skip in batch.skipped):
            raise VistermError(f"{skip.picture}: {skip.reason}; a benchmark needs all pictures")
        found.append(np.concatenate([b.result for b in batches if b.result is not None]))
    return found


def _best(tried: Sequence[Tried]) -> Tried:
    return max(tried, key=lambda one: one.avgp)


def _object(entry: Entry, found: Mapping[str, Sequence[Tried]]) -> dict[str, Any]:
    ours = {
        name: [{"setting": t.setting, "AvgP": round(100 * t.avgp, 2), "C": t.C} for t in tried]
        for name, tried in found.items()
    }
    shown = {str(name): round(100 * value, 1) for name, value in entry.published.items()}
    return {"published": shown, "ours": ours}

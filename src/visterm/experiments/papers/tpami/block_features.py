"""How blocks become PAMIR's pictures: tables 3 and 4 of the TPAMI paper, on validation pictures.

Both are about choosing, so no test picture is looked at.

D. Grangier and S. Bengio, IEEE TPAMI 30(8), 2008.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.errors import VistermError
from visterm.evaluation import Table
from visterm.experiments.papers.published import published
from visterm.experiments.runner.protocol import Protocol, Source, corel5k
from visterm.experiments.runner.reports import Report
from visterm.experiments.runner.runs import choose, extract_development
from visterm.features import Blocks
from visterm.features.extractor import Rows
from visterm.features.picture_batches import Pixels, over_pictures
from visterm.features.visterm_weighting import visterm_weights, weigh_visterms
from visterm.kernels import ExpectedLikelihood, Kernel, Match
from visterm.models import KernelPamir, Pamir
from visterm.progress import Progress, silent

THEIRS = published("tpami")
SOURCE = THEIRS["source"]
_CODEBOOKS = (1000, 4000)
_SCALE = 2  # the paper's pictures are so many times as large as ours
_SIDE = 32

KERNELS: dict[str, tuple[Kernel, ...]] = {
    "expected likelihood": (
        ExpectedLikelihood(),
        ExpectedLikelihood(power=0.1),
        ExpectedLikelihood(n_components=2, power=0.1),
    ),
    "match": (Match("rbf", gamma=2.0), Match("linear")),
}
"""What is tried for each row of table 4; the visterms' codebooks are `_CODEBOOKS`."""


class Tried(NamedTuple):
    """One setting, and the best AvgP it reached on validation pictures."""

    setting: str
    avgp: float
    C: float


def tpami_3(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """AvgP by the side of the blocks; the codebook and C are the best for each."""
    protocol = corel5k(data, seed=seed)
    sides = [int(side) // _SCALE for side in THEIRS["table 3"]]
    found = by_side(protocol, sides, _CODEBOOKS, progress=progress)
    best = {side: _best(tried) for side, tried in found.items()}
    columns = list(THEIRS["table 3"])
    table = Table(
        f"TPAMI table 3, AvgP on validation pictures ({SOURCE})",
        columns,
        {
            "published": list(THEIRS["table 3"].values()),
            "ours": [best[side].avgp for side in sides],
            "ours, visterms": [best[side].setting for side in sides],
        },
        heading="block side (ours: half)",
    )
    return Report(table, _object({str(s): t for s, t in found.items()}, THEIRS["table 3"]))


def tpami_4(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """AvgP by the kernel between pictures of 77 blocks."""
    protocol = corel5k(data, seed=seed)
    found = by_kernel(protocol, KERNELS, progress=progress)
    visterms = by_side(protocol, [_SIDE], _CODEBOOKS, progress=progress)[_SIDE]
    found["visterm, linear"] = visterms
    best = {name: _best(tried) for name, tried in found.items()}
    rows: dict[str, list[float | str]] = {
        name: [THEIRS["table 4"][name], one.avgp, one.setting] for name, one in best.items()
    }
    title = f"TPAMI table 4, AvgP on validation pictures ({SOURCE})"
    table = Table(title, ["published", "ours", "our parameters"], rows)
    return Report(table, _object(found, THEIRS["table 4"]))


def by_side(
    protocol: Protocol,
    sides: Sequence[int],
    codebooks: Sequence[int],
    *,
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
    counts = extract_development(protocol, blocks, progress=progress)
    edges = np.cumsum([0, *blocks.sizes_])
    found: dict[int, list[Tried]] = {side: [] for side in sides}
    for (side, size), (first, last) in zip(pairs, pairwise(edges), strict=True):
        idf = visterm_weights(counts[0][:, first:last])
        vectors = [weigh_visterms(part[:, first:last], idf, root=True) for part in counts]
        model = Pamir(C=(0.03, 0.1, 0.3), **_shared(protocol))
        found[side].append(_tried(f"{size} visterms", protocol, model, vectors, progress))
    return found


def by_kernel(
    protocol: Protocol,
    kernels: Mapping[str, Sequence[Kernel]],
    *,
    progress: Progress = silent,
) -> dict[str, list[Tried]]:
    """Kernel PAMIR on square-rooted histograms of blocks of 32 pixels."""
    bags = block_histograms(protocol, progress)
    found: dict[str, list[Tried]] = {}
    for name, kinds in kernels.items():
        found[name] = []
        for kernel in kinds:
            progress("comparing pictures", 0, 1)
            table = kernel.fit(bags[0])(bags[0])
            held = kernel(bags[1], bags[0])
            model = KernelPamir(
                "precomputed", clip=not kernel.positive, C=(0.1, 0.3, 1.0), **_shared(protocol)
            )
            found[name].append(_tried(_said(kernel), protocol, model, [table, held], progress))
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
    return {
        "max_iter": 4_000_000,
        "max_words": protocol.max_words,
        "random_state": protocol.seed,
    }


class _Rooted:
    """Square-rooted block histograms of a batch; a class, because a pool cannot send a lambda."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks

    def __call__(self, pictures: list[Pixels]) -> NDArray[np.float32]:
        each = [np.sqrt(self.blocks.histograms(pixels)[0], dtype=np.float32) for pixels in pictures]
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
                _Rooted(blocks),
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


def _said(kernel: Kernel) -> str:
    """A kernel's parameters that matter for it, in short."""
    if isinstance(kernel, Match):
        return f"{kernel.minor}, gamma {kernel.gamma:g}" if kernel.minor == "rbf" else kernel.minor
    if isinstance(kernel, ExpectedLikelihood):
        return f"{kernel.n_components} Gaussians, power {kernel.power:g}"
    return kernel.name


def _object(found: Mapping[str, Sequence[Tried]], theirs: Mapping[Any, float]) -> dict[str, Any]:
    ours = {
        name: [{"setting": t.setting, "AvgP": round(100 * t.avgp, 2), "C": t.C} for t in tried]
        for name, tried in found.items()
    }
    shown = {str(name): round(100 * value, 1) for name, value in theirs.items()}
    return {"published": shown, "ours": ours}

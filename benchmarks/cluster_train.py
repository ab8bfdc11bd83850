"""How good is training over shards, against one run over all pictures, and what does a shard save?

    python -m benchmarks.cluster_train --data DIR --json [--dataset corel5k] [--seeds 5]

``DIR`` is the folder of a data set, or the one above several: the first one's figures are then
followed by the others' under their names. PAMIR on CNN vectors, which ``--vectors`` keeps in a
folder, learns serially and over 2, 4 and 8 shards by iterative parameter mixing, each until
validation pictures stop it; ``avgp_serial`` and ``avgp_shards`` are means over seeds on the test
pictures, in percent. ``killed`` is a run on a Ray cluster of two nodes with one of its shards
killed by SIGKILL while a round is under way, beside the same seed undisturbed. ``to_one_point``
says how many triplets, and how many processor seconds, a shard needs until validation AvgP is
within one point of the best of the serial run. ``cca_difference`` is the largest difference between
scores of CCA fitted here and on the cluster, over the largest score.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.common import say, show
from benchmarks.corel_vectors import Floats, vectors_by_path
from benchmarks.ray_nodes import child_processes, two_nodes
from visterm.compute import running_on
from visterm.datasets import DATASETS
from visterm.evaluation import mean_average_precision
from visterm.experiments.protocol import Protocol, protocol_of
from visterm.models import Cca, Pamir
from visterm.models.selection import Choice, Task, Trial
from visterm.progress import Progress

NAMES = ["corel5k", "iaprtc12"]
KILL_IN_ROUND = 3
_LOADED: set[int] = set()
"""Numbers of shards for which this process has compiled what learns: no run is charged for it."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_train", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of data sets")
    parser.add_argument("--dataset", action="append", choices=NAMES, help="only this one")
    parser.add_argument("--vectors", type=Path, help="a folder where CNN vectors are kept")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--shards", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--max-iter", type=int, default=20_000_000, help="triplets of a shard")
    parser.add_argument("--C", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=1, help="fits at a time")
    parser.add_argument("--no-ray", action="store_true", help="leave the cluster out")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    first, *others = given.dataset or [n for n in NAMES if (given.data / n).is_dir()] or NAMES[:1]
    result = {"dataset": first, **measure(first, given)}
    show(result | {name: measure(name, given) for name in others}, as_json=given.json)


class Fitted(NamedTuple):
    """AvgP on the test pictures, and after every round on the validation pictures."""

    avgp: float
    validation: list[float]
    triplets: list[int]
    seconds: list[float]
    """Processor seconds of a shard up to each round."""


class Watched(Pamir):
    """PAMIR that notes what each round took and gave."""

    curve: list[tuple[int, float, float]]
    on_round: Callable[[int], None] | None = None

    def _run(
        self, task: Task, prepared: Any, choice: Choice, progress: Progress
    ) -> Iterator[Trial]:
        self.curve = []
        trials, spent = super()._run(task, prepared, choice, progress), 0.0
        while True:
            if self.on_round is not None:
                self.on_round(len(self.curve))
            began = time.process_time()
            trial = next(trials, None)
            spent += (time.process_time() - began) / self.n_shards
            if trial is None or task.held is None:
                return
            self.curve.append((trial.choice["max_iter"], task.held.avgp(trial.rows()), spent))
            yield trial


def measure(name: str, given: argparse.Namespace) -> dict[str, Any]:
    root = given.data / name if (given.data / name).is_dir() else given.data
    protocol = protocol_of(DATASETS[name](root))
    paths = [*protocol.development.paths, *protocol.test.paths]
    vectors = vectors_by_path(name, root, paths, given.vectors)
    order = [(count, seed) for seed in range(given.seeds) for count in (1, *given.shards)]
    if given.workers > 1:
        order.sort(key=lambda one: -one[0])  # the longest first, so that none is left over
    fits = Parallel(given.workers, return_as="generator")(
        delayed(fitted)(replace(protocol, seed=seed), vectors, given, count)
        for count, seed in order
    )
    runs: dict[int, list[Fitted]] = {count: [] for count in (1, *given.shards)}
    for (count, seed), done in zip(order, fits, strict=True):
        runs[count].append(done)
        say(f"{name}, seed {seed}, {count} shards: {done.avgp:.2f} after {done.triplets[-1]:,}")
    serial = mean(one.avgp for one in runs[1])
    result: dict[str, Any] = {
        "pictures": len(protocol.development),
        "seeds": given.seeds,
        "avgp_serial": round(serial, 2),
        "avgp_shards": {n: round(mean(f.avgp for f in runs[n]), 2) for n in given.shards},
        "avgp_by_seed": {n: [round(one.avgp, 2) for one in found] for n, found in runs.items()},
        "worst_loss": round(max(serial - mean(f.avgp for f in runs[n]) for n in given.shards), 2),
        "to_one_point": {count: to_one_point(found, runs[1]) for count, found in runs.items()},
    }
    if not given.no_ray:
        with two_nodes() as nodes, running_on(nodes.address):
            undisturbed = round(runs[given.shards[0]][0].avgp, 2)
            result["killed"] = killed(protocol, vectors, given) | {"avgp_undisturbed": undisturbed}
            there = cca_scores(protocol, vectors)
        here = cca_scores(protocol, vectors)
        result["cca_difference"] = float(np.abs(here - there).max() / np.abs(here).max())
    return result


def fitted(
    protocol: Protocol,
    vectors: Floats,
    given: argparse.Namespace,
    shards: int,
    on_round: Callable[[int], None] | None = None,
) -> Fitted:
    """Learn until the validation pictures stop it, and rank the test pictures."""
    train, held = protocol.split
    model = Watched(
        C=given.C,
        max_iter=given.max_iter,
        max_words=protocol.max_words,
        random_state=protocol.seed,
        n_shards=shards,
    )
    captions = protocol.captions
    learnt, judged = (vectors[train], captions[train]), (vectors[held], captions[held])
    if shards not in _LOADED:
        _LOADED.add(shards)
        Pamir(max_iter=40, patience=1, n_shards=shards).fit(*learnt, validation=judged)
    model.on_round = on_round
    model.fit(*learnt, validation=judged)
    asked = protocol.test_relevance
    rows = model.transform(vectors[len(protocol.development) :])
    avgp = 100 * mean_average_precision(asked.queries @ rows.T, asked.pictures)
    triplets, validation, seconds = zip(*model.curve, strict=True)
    return Fitted(avgp, [100 * one for one in validation], [*triplets], [*seconds])


def to_one_point(found: list[Fitted], serial: list[Fitted]) -> dict[str, float | None]:
    """Triplets and processor seconds of a shard, means over seeds; null where one got not there."""
    needed = []
    for ours, theirs in zip(found, serial, strict=True):
        enough = max(theirs.validation) - 1
        at = next((n for n, value in enumerate(ours.validation) if value >= enough), None)
        if at is None:
            return {"triplets": None, "processor_seconds": None}
        needed.append((ours.triplets[at], ours.seconds[at]))
    triplets, seconds = (mean(values) for values in zip(*needed, strict=True))
    return {"triplets": round(triplets), "processor_seconds": round(seconds, 2)}


def killed(protocol: Protocol, vectors: Floats, given: argparse.Namespace) -> dict[str, Any]:
    """The first number of shards on the cluster, one shard killed while a round is under way."""
    deaths: list[int] = []

    def kill_soon(round_: int) -> None:
        if round_ == KILL_IN_ROUND:
            threading.Timer(0.05, lambda: deaths.extend(_kill_a_shard())).start()

    found = fitted(replace(protocol, seed=0), vectors, given, given.shards[0], kill_soon)
    return {"shards": given.shards[0], "killed": len(deaths), "avgp": round(found.avgp, 2)}


def _kill_a_shard() -> list[int]:
    for process in child_processes(os.getpid()):
        if Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"ray::_Host"):
            os.kill(process, signal.SIGKILL)
            return [process]
    return []


def cca_scores(protocol: Protocol, vectors: Floats) -> Floats:
    """What CCA, fitted wherever work runs, says of the test pictures."""
    development = len(protocol.development)
    return Cca().fit(vectors[:development], protocol.captions).transform(vectors[development:])


if __name__ == "__main__":
    main()

"""What do networks see in pictures that nobody labelled for them, and how fast are they?

    visterm encoder add dinov2-small        # and others; those that are not installed are left out
    python -m benchmarks.networks --data ROOT --json

``NETWORK.map`` is the mean average precision, in percent, of one ridge regression from a network's
vectors of 1,500 of Corel's training pictures to their words, over its 500 validation pictures (with
``--test``: test pictures) and every word of theirs that a training picture has; the penalty is
chosen by two folds of the training pictures. ``NETWORK.pictures_a_second`` counts files, decoded
and extracted on all cores, ``NETWORK.ratio_light`` that speed over the light network's in the same
rounds, ``NETWORK.ratio_onnxruntime`` over a plain loop (Pillow, one picture at a time,
onnxruntime's own threads). ``NETWORK.digest`` tells the network's files from others. Networks
joined by + have a mAP. ``--vectors DIR`` keeps the vectors, as DIR/NETWORK/corel5k.npy.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from benchmarks.common import say, show
from benchmarks.corel_vectors import Floats, vectors_by_path
from visterm.datasets import data_folder
from visterm.encoders import Encoder, installed, open_encoder
from visterm.experiments.protocol import Protocol, corel5k
from visterm.features import parse_features
from visterm.features.extractor import join_rows

LIGHT = "cnn"
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.networks", description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder with corel5k, or corel5k itself")
    parser.add_argument("--networks", nargs="+", help="features; else the light and all installed")
    parser.add_argument("--training", type=int, default=1_500, help="training pictures")
    parser.add_argument("--pictures", type=int, default=32, help="pictures a round of speed")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of speed; 0 for none")
    parser.add_argument("--vectors", type=Path, help="a folder where vectors are kept")
    parser.add_argument("--test", action="store_true", help="rank test pictures")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    folder = data_folder("corel5k", asked.data)
    names = asked.networks or [LIGHT, *(one.name for one in installed() if not one.reads_texts)]
    measured = precisions(corel5k(folder), folder, names, asked) if asked.training else {}
    if asked.rounds:
        files = sorted((folder / "images" / "train").iterdir())[: asked.pictures]
        singles = [name for name in names if "+" not in name and name != LIGHT]
        measured |= speeds(files, singles, asked.rounds)
    for one in installed():
        if one.name in names:
            measured[f"{one.name}.digest"] = one.digest
    show(measured, as_json=asked.json)


def precisions(
    protocol: Protocol, root: Path, names: Sequence[str], asked: argparse.Namespace
) -> dict[str, Any]:
    """Mean average precision of a ridge regression on each network's vectors."""
    trained, validated = protocol.split
    drawn = np.random.default_rng(0).permutation(trained)[: asked.training]
    paths, words = protocol.development.paths, [set(w.split()) for w in protocol.development.words]
    training = [paths[i] for i in drawn], [words[i] for i in drawn]
    ranked = [paths[i] for i in validated], [words[i] for i in validated]
    if asked.test:
        ranked = list(protocol.test.paths), [set(w.split()) for w in protocol.test.words]
    known = sorted(set().union(*training[1]) & set().union(*ranked[1]))
    labels = [
        np.array([[word in one for word in known] for one in part[1]], float)
        for part in (training, ranked)
    ]
    vectors: dict[str, Floats] = {}
    measured: dict[str, Any] = {}
    for name in names:
        for part in name.split("+"):
            if part not in vectors:
                kept = None if asked.vectors is None else asked.vectors / part
                pictures = [*training[0], *ranked[0]]
                extractor = parse_features(part).fit([])
                vectors[part] = vectors_by_path("corel5k", root, pictures, kept, extractor)
        rows = np.asarray(join_rows([vectors[part] for part in name.split("+")]))
        scores = fitted(rows[: len(drawn)], labels[0])(rows[len(drawn) :])
        measured[f"{name}.map"] = round(mean_precision(labels[1], scores), 2)
        say(f"{name}: mAP {measured[f'{name}.map']}")
    return {"words": len(known), "training": len(drawn), "ranked": len(ranked[0])} | measured


def fitted(rows: Floats, labels: NDArray[np.float64]) -> Callable[[Floats], NDArray[np.float64]]:
    """A ridge regression, its penalty the best of two folds."""
    fold = np.arange(len(rows)) % 2 == 0
    merit = [
        sum(
            mean_precision(labels[~part], ridge(rows[part], labels[part], penalty)(rows[~part]))
            for part in (fold, ~fold)
        )
        for penalty in PENALTIES
    ]
    return ridge(rows, labels, PENALTIES[int(np.argmax(merit))])


def ridge(
    rows: Floats, labels: NDArray[np.float64], penalty: float
) -> Callable[[Floats], NDArray[np.float64]]:
    middle, mean = rows.mean(axis=0, dtype=np.float64), labels.mean(axis=0)
    centred = rows - middle
    gram = centred @ centred.T + penalty * np.eye(len(rows))  # there are fewer rows than numbers
    weights = centred.T @ np.linalg.solve(gram, labels - mean)
    return lambda others: (others - middle) @ weights + mean


def mean_precision(labels: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    """In percent, over the words that some picture has."""
    there = np.flatnonzero(labels.any(axis=0))
    return 100 * float(
        np.mean([average_precision_score(labels[:, w], scores[:, w]) for w in there])
    )


def speeds(files: Sequence[Path], names: Sequence[str], rounds: int) -> dict[str, Any]:
    """Pictures a second of each network, of a plain loop over it, and of the light network."""
    sides: dict[str, Callable[[], object]] = {}
    for name in (LIGHT, *names):
        sides[name] = partial(parse_features(name).fit([]).transform, files)
        if name != LIGHT:
            sides[f"{name} plain"] = plain(open_encoder(name), files)
    laps: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):  # the first warms up
        for name, side in sides.items():
            start = time.perf_counter()
            side()
            laps[name].append(len(files) / (time.perf_counter() - start))
        say(f"round {number} of {rounds}")
    measured: dict[str, Any] = {}
    for name in (LIGHT, *names):
        own = laps[name][1:]
        measured[f"{name}.pictures_a_second"] = round(statistics.median(own), 1)
        for other, key in ((LIGHT, "light"), (f"{name} plain", "onnxruntime")):
            if other in laps:
                ratios = [a / b for a, b in zip(own, laps[other][1:], strict=True)]
                measured[f"{name}.ratio_{key}"] = round(statistics.median(ratios), 3)
    return measured


def plain(encoder: Encoder, files: Sequence[Path]) -> Callable[[], object]:
    """What somebody would write first: a loop over files with onnxruntime as it is."""
    import onnxruntime
    from PIL import Image

    session = onnxruntime.InferenceSession(str(encoder.folder / encoder.layout.vision))
    takes, made = session.get_inputs()[0].name, encoder.layout.preprocessing

    def loop() -> list[Any]:
        found = []
        for path in files:
            with Image.open(path) as picture:
                square = made.square(np.asarray(picture.convert("RGB")))
            found.append(session.run(None, {takes: made.fed(square[None])})[0])
        return found

    return loop


if __name__ == "__main__":
    main()

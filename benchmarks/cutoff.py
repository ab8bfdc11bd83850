"""Where do good matches end? Probabilities against the best single score, on Corel's test queries.

    python -m benchmarks.cutoff --data DATA/corel5k --json

PAMIR learns from the training pictures (CNN vectors). On the validation pictures' queries both
sides are chosen for the best mean F1 of "above the line": `calibrate` estimates probabilities and
a line, and the peer is the one score, for all queries, that is best there. Then both draw their
line under the 2,241 test queries, once. ``fixed_number`` is another peer: always the same number
of pictures, also chosen on validation. That one knows that every Corel query has an answer, and
shows as many for queries that have none: ``nothing_to_find`` says how many pictures each shows when
the answers have been taken out of the test pictures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import corel_vectors
from visterm.calibration import Calibration, calibrate, mean_f1, word_statistics
from visterm.errors import VistermError
from visterm.experiments.runner.protocol import corel5k
from visterm.models import Pamir
from visterm.text import Relevance

BAR = 1.3
ITERATIONS = 1_000_000

Bools = NDArray[np.bool_]
Line = Callable[[Relevance, NDArray[np.float32]], Bools]
"""From queries and their scores (queries × pictures) to what is shown."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the corel5k folder")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--vectors", type=Path, help="keep the CNN's vectors in this .npy file")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="triplets of a fit")
    asked = parser.parse_args()
    try:
        protocol = corel5k(asked.data)
    except VistermError as error:
        say(f"benchmarks.cutoff: {error}")
        return 1
    development, test = corel_vectors(protocol, asked.vectors)
    teaching, held = protocol.split
    captions, relevance = protocol.captions, protocol.relevance_of(held)
    model = Pamir(C=(0.01, 0.1, 1.0), max_iter=asked.iterations, max_words=None)
    model.fit(development[teaching], captions[teaching], validation=(development[held], relevance))
    say(f"AvgP on validation pictures {100 * model.validation_:.1f}")
    rows = model.transform(development[held])
    frequency = np.asarray((captions[teaching] > 0).mean(axis=0)).ravel()
    found = calibrate(rows, relevance, frequency)
    at_large = found.with_statistics(*word_statistics(model.transform(development)))
    lines = {
        "probability": lambda asked, scores: _above(at_large, asked, scores),
        "fixed_score": _fixed_score(relevance, rows),
        "fixed_number": _fixed_number(relevance, rows),
    }
    show(
        measure(lines, at_large, protocol.test_relevance, model.transform(test)), as_json=asked.json
    )
    return 0


def measure(
    lines: dict[str, Line], found: Calibration, relevance: Relevance, rows: NDArray[np.float32]
) -> dict[str, Any]:
    """Everything about the test queries, from one ranking of the test pictures."""
    answers = relevance.pictures.toarray() > 0
    asked = relevance.queries.astype(bool).astype(np.float32)
    scores = dict.fromkeys(lines, relevance.queries @ rows.T)
    scores["probability"] = asked @ found.link.rows(rows).T
    shown = {name: line(relevance, scores[name]) for name, line in lines.items()}
    f1 = {name: mean_f1(what, answers) for name, what in shown.items()}
    emptied = {
        name: np.where(answers, -np.inf, some).astype(np.float32) for name, some in scores.items()
    }
    probabilities = _probabilities(found, relevance, scores["probability"])
    return {
        "queries": len(relevance),
        "fraction_of_best_probability": round(found.fraction or 0.0, 3),
        "min_probability": round(found.level or 0.0, 3),
        "mean_f1": {name: round(100 * value, 2) for name, value in f1.items()},
        "times_fixed_score": round(f1["probability"] / f1["fixed_score"], 3),
        "times_fixed_number": round(f1["probability"] / f1["fixed_number"], 3),
        "shown_a_query": {name: round(float(w.sum(axis=1).mean()), 2) for name, w in shown.items()},
        "nothing_to_find": {
            name: round(float(line(relevance, emptied[name]).sum(axis=1).mean()), 2)
            for name, line in lines.items()
        },
        "predicted_and_true": _reliability(probabilities, answers),
        "bar": BAR,
        "at_least_1.3_times_a_fixed_score": f1["probability"] >= BAR * f1["fixed_score"],
    }


def _above(found: Calibration, relevance: Relevance, scores: NDArray[np.float32]) -> Bools:
    queries = relevance.queries
    least = [
        found.cutoff(queries.indices[a:b], np.ones(b - a), float(row.max()))
        for (a, b), row in zip(pairwise(queries.indptr), scores, strict=True)
    ]
    return np.asarray(scores >= np.array(least)[:, None])


def _probabilities(
    found: Calibration, relevance: Relevance, scores: NDArray[np.float32]
) -> NDArray[np.float64]:
    queries = relevance.queries
    edges = pairwise(queries.indptr)
    return np.stack(
        [
            found.probabilities(queries.indices[a:b], np.ones(b - a), row)
            for (a, b), row in zip(edges, scores, strict=True)
        ]
    )


def _fixed_score(relevance: Relevance, rows: NDArray[np.float32]) -> Line:
    """The one score with the best mean F1 on validation queries, among 400 quantiles of theirs."""
    scores = relevance.queries @ rows.T
    answers = relevance.pictures.toarray() > 0
    offered = np.quantile(scores, 1 - np.geomspace(1e-4, 0.5, 400))
    best = offered[np.argmax([mean_f1(scores >= one, answers) for one in offered])]
    return lambda _, given: np.asarray(given >= best)


def _fixed_number(relevance: Relevance, rows: NDArray[np.float32]) -> Line:
    """The number of pictures with the best mean F1 on validation queries."""
    ranks = _ranks(relevance.queries @ rows.T)
    answers = relevance.pictures.toarray() > 0
    best = 1 + int(np.argmax([mean_f1(ranks < count, answers) for count in range(1, 30)]))
    return lambda _, given: np.asarray(_ranks(given) < best)


def _ranks(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable")


def _reliability(probabilities: NDArray[np.float64], answers: Bools) -> list[dict[str, float]]:
    """Mean probability and the fraction that answers, between round probabilities."""
    edges = (0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0)
    found = []
    for low, high in pairwise(edges):
        inside = (probabilities >= low) & (probabilities < high)
        if inside.any():
            predicted, true = float(probabilities[inside].mean()), float(answers[inside].mean())
            pair = {"predicted": round(predicted, 4), "true": round(true, 4)}
            found.append(pair | {"pairs": int(inside.sum())})
    return found


if __name__ == "__main__":
    raise SystemExit(main())

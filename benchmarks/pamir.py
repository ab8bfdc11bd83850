"""How fast does PAMIR learn, against its own loop in plain NumPy and against a linear SVM a word?

    python -m benchmarks.pamir --json

The problem has the papers' shape (:mod:`benchmarks.pamir_problem`). Everything runs on one thread,
and seconds are those of that thread's core (process time), so that a busy machine changes little.
``triplets_per_second`` is of the whole fit: captions made ready, Gram matrix, 2.53 M triplets,
weights. ``ratio_numpy`` is the time of a triplet in NumPy over ours, averaged over five moments of
the run, since early triplets move the model more often; NumPy is spared the drawing.
``ratio_python`` is the same for plain Python that reads single numbers, with NumPy for rows alone.
``ratio_svm`` is the seconds of one-vs-rest LinearSVC over those of PAMIR until it reaches the
SVM's AvgP on validation pictures, Gram matrix and PAMIR's checks of AvgP included; both have their
C chosen on validation beforehand. Where PAMIR does not get there it is null, and ``svm.why`` tells.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.common import say, show
from benchmarks.pamir_peers import (
    drawn,
    linear_svm,
    loop_by_numbers,
    loop_over_gram,
    loop_over_weights,
)
from benchmarks.pamir_problem import TRAINING, WORDS, Pictures, draw_pictures
from visterm.evaluation import mean_average_precision
from visterm.models import Pamir
from visterm.models.pamir._solvers import GramSolver, WeightSolver, choose_solver
from visterm.models.pamir._triplets import Triplets
from visterm.models.supervision import Supervision
from visterm.text import Relevance, relevance_from_captions
from visterm.text.weighting import inverse_frequency

ITERATIONS = 2_530_000
"""What the TPAMI paper's validation chose."""
C = 0.1
BAR = 2_000_000
MOMENTS = (0.1, 0.3, 0.5, 0.7, 0.9)
SVM_CHOICES = (0.01, 0.1, 1.0, 10.0)
PAMIR_CHOICES = (0.001, 0.01, 0.1, 1.0)

Solver = GramSolver | WeightSolver


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pamir", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="triplets a fit")
    parser.add_argument("--fits", type=int, default=5, help="fits to take the median of")
    parser.add_argument("--sample", type=int, default=4_000, help="triplets NumPy does, each time")
    parser.add_argument("--training", type=int, default=TRAINING, help="pictures to learn from")
    given = parser.parse_args()
    with threadpool_limits(limits=1):
        result = measure(given.iterations, given.fits, given.sample, given.training)
    show(result if given.json else flat(result), as_json=given.json)


def measure(iterations: int, fits: int, sample: int, pictures: int) -> dict[str, Any]:
    """The whole result."""
    training, held = draw_pictures(training=pictures)
    idf = inverse_frequency(training.captions)
    told = relevance_from_captions(training.captions, idf)  # only to describe the problem
    asked = relevance_from_captions(held.captions, idf)
    model = Pamir(C=C, max_iter=iterations, max_words=None)
    triplets = model._triplets(Supervision(training.vectors, training.captions))
    warm_up(training, triplets)
    say("drawn and compiled; now the whole fit")
    seconds = [timed(lambda: model.fit(training.vectors, training.captions)) for _ in range(fits)]
    second = statistics.median(seconds)
    reached = mean_average_precision(
        asked.queries @ model.transform(held.vectors).T, asked.pictures
    )
    solvers = {
        "gram": measure_solver(GramSolver, training, triplets, iterations),
        "weights": measure_solver(WeightSolver, training, triplets, iterations),
    }
    say("now the same loops in NumPy")
    numpy_seconds = measure_numpy(training, triplets, iterations, sample)
    say("now the SVM, some seconds for each C")
    against_svm = measure_svm(training, held, asked, triplets, iterations)
    return {
        "triplets_per_second": round(iterations / second),
        "bar_reached": iterations / second >= BAR,
        "ratio_numpy": round(numpy_seconds["gram"] * iterations / second, 1),
        "ratio_python": round(numpy_seconds["numbers"] * iterations / second, 1),
        "ratio_svm": against_svm.pop("ratio"),
        "fit_seconds": [round(s, 3) for s in seconds],
        "validation_avgp": round(reached, 4),
        "chosen": choose_solver(training.vectors, None).__name__,
        "solvers": solvers,
        "ratio_numpy_weights": round(
            numpy_seconds["weights"] * solvers["weights"]["triplets_per_second"], 1
        ),
        "svm": against_svm,
        "limit": measure_limit(training, told, solvers["gram"], iterations),
        "problem": described(training, told),
        "load": os.getloadavg()[0],
    }


def timed(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def warm_up(training: Pictures, triplets: Triplets) -> None:
    """Compile all loops for the types they will meet."""
    for solver in (GramSolver, WeightSolver):
        fresh(solver, training).run(triplets, C, 10)
    drawn(triplets, np.zeros(1, np.uint64), 1)
    few = Pictures(training.vectors[:50], training.captions[:50])
    Pamir(max_iter=10).fit(few.vectors, few.captions, validation=(few.vectors, few.captions))


def fresh(solver: type[Solver], training: Pictures, held: Pictures | None = None) -> Solver:
    start = np.zeros((WORDS, training.vectors.shape[1]), dtype=np.float32)
    return solver(training.vectors, None if held is None else held.vectors, start, 0)


def measure_solver(
    kind: type[Solver], training: Pictures, triplets: Triplets, iterations: int
) -> dict[str, float]:
    """Each part of one solver's work."""
    solver: Solver
    begin = time.process_time()
    solver = fresh(kind, training)
    made = time.process_time()
    moved = solver.run(triplets, C, iterations)
    ran = time.process_time()
    solver.weights(solver.learnt())
    done = time.process_time()
    return {
        "triplets_per_second": round(iterations / (ran - made)),
        "moved": round(moved / iterations, 4),
        "seconds_before": round(made - begin, 3),
        "seconds_triplets": round(ran - made, 3),
        "seconds_weights": round(done - ran, 3),
    }


def measure_numpy(
    training: Pictures, triplets: Triplets, iterations: int, sample: int
) -> dict[str, float]:
    """Mean seconds of a triplet in NumPy's two loops, each checked to do what ours does."""
    start = np.zeros((WORDS, training.vectors.shape[1]), dtype=np.float32)
    by_gram = GramSolver(training.vectors, None, start, 0)
    by_weights = WeightSolver(training.vectors, None, start, 0)
    spent, done = {"gram": 0.0, "numbers": 0.0, "weights": 0.0}, 0
    for moment in MOMENTS:
        steps = round(moment * iterations) - done
        for solver in (by_gram, by_weights):
            solver.run(triplets, C, steps)
        chosen = drawn(triplets, by_weights._state.copy(), sample)
        scores, alpha = by_gram._scores.copy(), by_gram._table.copy()
        weights = by_weights._table.copy()
        begin = time.process_time()
        loop_over_gram(by_gram._gram, scores, alpha, 1.0, C, chosen)
        spent["gram"] += time.process_time() - begin
        spent["weights"] += timed(
            lambda: loop_over_weights(weights, training.vectors, 1.0, C, chosen)  # noqa: B023
        )
        by_number, other_alpha = by_gram._scores.copy(), by_gram._table.copy()
        plain = [(words.tolist(), q.tolist(), *pair) for words, q, *pair in chosen]
        spent["numbers"] += timed(
            lambda: loop_by_numbers(
                by_gram._gram,
                by_number,  # noqa: B023
                other_alpha,  # noqa: B023
                1.0,
                C,
                plain,  # noqa: B023
            )
        )
        for solver in (by_gram, by_weights):
            solver.run(triplets, C, sample)
        done += steps + sample
        if not all(np.allclose(table, by_gram._scores, atol=1e-3) for table in (scores, by_number)):
            raise SystemExit("NumPy's loop over the Gram matrix differs: the comparison is void")
        if not np.allclose(weights, by_weights._table, atol=1e-3):
            raise SystemExit("NumPy's loop over the weights differs: the comparison is void")
    return {name: seconds / (sample * len(MOMENTS)) for name, seconds in spent.items()}


def measure_svm(
    training: Pictures, held: Pictures, asked: Relevance, triplets: Triplets, iterations: int
) -> dict[str, Any]:
    """How much longer the SVM takes to where PAMIR, too, gets."""
    svm = linear_svm(training, held, asked, SVM_CHOICES)
    chance = mean_average_precision(
        np.random.default_rng(0).random(asked.pictures.shape), asked.pictures
    )
    if svm.avgp < 3 * chance:
        raise SystemExit(f"the SVM learns nothing (AvgP {svm.avgp:.3f}): the comparison is void")
    # As for the SVM, C is chosen on validation beforehand and only the run with it is timed.
    runs = {c: until(np.inf, c, training, held, asked, triplets, iterations) for c in PAMIR_CHOICES}
    c = max(runs, key=lambda c: runs[c].avgp)
    timed_run = until(svm.avgp, c, training, held, asked, triplets, iterations)
    reached = timed_run.avgp >= svm.avgp
    found: dict[str, Any] = {
        "chance_avgp": round(chance, 4),
        "svm_avgp": round(svm.avgp, 4),
        "svm_c": svm.c,
        "svm_seconds": round(svm.seconds, 2),
        "pamir_best_avgp": round(runs[c].avgp, 4),
        "pamir_c": c,
        "pamir_seconds": round(timed_run.seconds, 3),
        "pamir_triplets": timed_run.triplets,
        "ratio": round(svm.seconds / timed_run.seconds, 1) if reached else None,
    }
    if not reached:
        found["why"] = (
            f"PAMIR's best AvgP within {iterations:,} triplets is {runs[c].avgp:.3f}, "
            f"the SVM's is {svm.avgp:.3f}"
        )
    return found


class Run(NamedTuple):
    """The best AvgP of a run on validation pictures, and what the whole run took."""

    avgp: float
    seconds: float
    triplets: int


def until(
    goal: float,
    c: float,
    training: Pictures,
    held: Pictures,
    asked: Relevance,
    triplets: Triplets,
    iterations: int,
) -> Run:
    """Learn until validation pictures are ranked this well, or the triplets are used up."""
    begin = time.process_time()
    solver = fresh(choose_solver(training.vectors, held.vectors), training, held)
    part, done, best = max(1, iterations // 40), 0, 0.0
    while best < goal and done < iterations:
        solver.run(triplets, c, part)
        done += part
        rows = solver.validation_rows()
        best = max(best, mean_average_precision(asked.queries @ rows.T, asked.pictures))
    return Run(best, time.process_time() - begin, done)


def measure_limit(
    training: Pictures, told: Relevance, gram: dict[str, float], iterations: int
) -> dict[str, float]:
    """Bytes that a look and a step cannot do without, and the time to move only those of the steps.

    A look reads one cache line for each score and each of the lists it draws from; a step reads two
    rows of the Gram matrix and reads and writes a row of scores for each word.
    """
    line, row = 64, 4 * training.vectors.shape[0]
    words = float(told.words_per_query.mean())
    look = line * (2 * words + 6)
    step = row * (2 + 2 * words)
    scores = np.zeros((WORDS, training.vectors.shape[0]), dtype=np.float32)
    target = np.empty_like(scores)
    seconds = min(timed(lambda: np.copyto(target, scores)) for _ in range(200))
    bytes_a_second = 2 * scores.nbytes / seconds
    least = gram["moved"] * iterations * step / bytes_a_second
    return {
        "bytes_a_look": round(look),
        "bytes_a_step": round(step),
        "copy_gb_per_second": round(bytes_a_second / 1e9, 1),
        "seconds_to_copy_the_bytes_of_all_steps": round(least, 3),
        "ratio_limit": round(gram["seconds_triplets"] / least, 2),
    }


def described(training: Pictures, told: Relevance) -> dict[str, float]:
    return {
        "pictures": training.vectors.shape[0],
        "visterms": training.vectors.shape[1],
        "visterms_a_picture": round(training.vectors.nnz / training.vectors.shape[0], 1),
        "words": WORDS,
        "queries": len(told),
        "words_a_query": round(float(told.words_per_query.mean()), 2),
        "relevant_a_query": round(float(told.relevant_per_query.mean()), 2),
    }


def flat(result: dict[str, Any], before: str = "") -> dict[str, Any]:
    """One line a number, for people."""
    lines: dict[str, Any] = {}
    for key, value in result.items():
        name = f"{before}{key}".replace("_", " ")
        lines |= flat(value, f"{name}, ") if isinstance(value, dict) else {f"{name:60}": value}
    return lines


if __name__ == "__main__":
    main()

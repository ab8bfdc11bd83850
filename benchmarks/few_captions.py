"""How much does the starter help somebody who has captioned only a few pictures?

    python -m benchmarks.few_captions --json [--data DATA/corel5k] [--plot FILE.png]

PAMIR learns from 20 to 1,000 of Corel's captioned pictures, drawn by five seeds: from zero, and
from the starter's weights, both as `visterm train` does it: where a tenth of the pictures is ten or
more they choose C and the iterations, and then all teach. All 2,241 test queries are asked of both;
a word that a model does not know scores nothing. AvgP is the mean over seeds; the Wilcoxon test is
over queries, each with its mean over seeds.

``on_starter_data``, with ``--starter-data`` IAPR TC-12's folder: what learning does to the
starter's words on pictures of its own kind, IAPR's test pictures, as AvgP over single words: of all
words, and of those that the captions hold. ``--vectors`` and ``--starter-vectors`` keep the CNN's
vectors.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.common import say, show
from benchmarks.corel_vectors import corel_vectors, kept_vectors
from visterm.datasets.iaprtc12 import read_iaprtc12
from visterm.evaluation import Evaluation, compare, evaluate_rows
from visterm.experiments.runner.protocol import Protocol, corel5k
from visterm.models import Pamir
from visterm.starter import Starter, load_starter, stay_near
from visterm.text import Relevance, Vocabulary, relevance_from_captions
from visterm.text.stop_words import STOP_WORDS
from visterm.text.weighting import weigh_queries

SIZES = (20, 50, 100, 200, 500, 1000)
SEEDS = 5
STEPS = (0.01, 0.1, 1.0)
ZERO, STARTED = "from zero", "from the starter"

Floats = NDArray[np.float32]
Taught = tuple[Vocabulary, Pamir]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_captions", description=__doc__)
    parser.add_argument("--data", type=Path, help="Corel's folder")
    parser.add_argument("--vectors", type=Path, help="where to keep Corel's vectors")
    parser.add_argument("--starter-data", type=Path, help="IAPR TC-12's folder")
    parser.add_argument("--starter-vectors", type=Path, help="where to keep its test vectors")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, help="captions to learn from"
    )
    parser.add_argument("--plot", type=Path, help="draw the curves into this file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    protocol = corel5k(arguments.data)
    development, test = corel_vectors(protocol, arguments.vectors)
    starter, harm = load_starter(), None
    if arguments.starter_data is not None:
        harm = _own_kind(starter, arguments.starter_data, arguments.starter_vectors)
    table = [
        _row(protocol, development, test, starter, size, arguments.seeds, harm)
        for size in arguments.sizes
    ]
    if arguments.plot is not None:
        _plot(table, arguments.plot)
    show({"queries": len(protocol.test_relevance), "table": table}, as_json=arguments.json)


def _row(
    protocol: Protocol,
    development: Floats,
    test: Floats,
    starter: Starter,
    size: int,
    seeds: int,
    harm: Callable[[Taught, csr_array], dict[str, float]] | None,
) -> dict[str, Any]:
    found: dict[str, list[NDArray[np.float64]]] = {ZERO: [], STARTED: []}
    harms = []
    for seed in range(seeds):
        chosen = np.random.default_rng(seed).permutation(len(development))[:size]
        texts = [protocol.development.captions[number] for number in chosen]
        vocabulary = Vocabulary.from_captions(
            texts, min_captions=2 if size >= 100 else 1, stop_words=STOP_WORDS
        )
        begun = starter.initial_model(vocabulary, size)
        for name, words, initial in ((ZERO, vocabulary, None), (STARTED, *begun)):
            counts = words.counts(texts)
            model = learn(development[chosen], counts, initial, seed)
            found[name].append(asked(protocol, words, model, test).per_query["AvgP"])
            if initial is not None and harm is not None:
                harms.append(harm((words, model), counts))
    say(f"{size} captions done")
    relevance = protocol.test_relevance
    zero, started = (
        Evaluation(
            {"AvgP": np.mean(found[name], axis=0)},
            relevance.relevant_per_query,
            relevance.words_per_query,
        )
        for name in (ZERO, STARTED)
    )
    told = compare(started, zero)
    row: dict[str, Any] = {
        "captions": size,
        ZERO: round(100 * zero.mean()["AvgP"], 2),
        STARTED: round(100 * started.mean()["AvgP"], 2),
        "seeds_won": int(
            sum(s.mean() > z.mean() for s, z in zip(found[STARTED], found[ZERO], strict=True))
        ),
        "wilcoxon_p": told.p_value,
        "above": told.above,
    }
    if harms:
        row["on_starter_data"] = {
            name: round(float(np.mean([one[name] for one in harms])), 2) for name in harms[0]
        }
    return row


def learn(vectors: Floats, captions: csr_array, initial: Pamir | None, seed: int) -> Pamir:
    """As `visterm train`: a tenth, if it is ten pictures or more, chooses; then all teach."""
    iterations = int(np.clip(100 * captions.nnz, 50_000, 3_000_000))
    settings: dict[str, Any] = {"max_iter": iterations, "max_words": 4, "random_state": seed}
    held = np.arange(len(vectors)) % 10 == 0
    if held.sum() < 10:
        model = Pamir(C=0.1, **settings)
    else:
        model = Pamir(C=STEPS, **settings).fit(
            vectors[~held],
            captions[np.flatnonzero(~held)],
            validation=(vectors[held], captions[np.flatnonzero(held)]),
            initial=initial,
        )
        model = Pamir(**settings).set_params(C=model.C_, max_iter=model.n_iter_)
    model.fit(vectors, captions, initial=initial)
    if initial is not None:
        stay_near(model, initial, captions)
    return model


def asked(protocol: Protocol, words: Vocabulary, model: Pamir, test: Floats) -> Evaluation:
    """All test queries, each word weighed as the model does; an unknown word scores nothing."""
    mapped = model.transform(test)
    rows = np.zeros((len(test), len(protocol.vocabulary)), np.float32)
    idf = np.full(len(protocol.vocabulary), float(np.max(model.idf_)))
    for number, word in enumerate(protocol.vocabulary.words):
        known = words.number(word)
        if known is not None:
            rows[:, number], idf[number] = mapped[:, known], model.idf_[known]
    relevance = protocol.test_relevance
    queries = weigh_queries(relevance.queries.astype(bool).astype(np.float32), idf)
    return evaluate_rows(rows, Relevance(queries, relevance.pictures), ["AvgP"])


def _own_kind(
    starter: Starter, folder: Path, kept: Path | None
) -> Callable[[Taught, csr_array], dict[str, float]]:
    """AvgP of the starter's words on IAPR's test pictures, before learning and after."""
    tested = read_iaprtc12(folder).tested
    vectors = kept_vectors(tested.paths, kept)
    texts = [
        f"{labels} {sentences}"
        for labels, sentences in zip(tested.words, tested.captions, strict=True)
    ]
    held = starter.vocabulary.counts(texts)
    relevance = relevance_from_captions(held, np.ones(held.shape[1]), max_words=1)
    words = relevance.queries.indices
    known = starter.model().transform(vectors)
    before = evaluate_rows(known, relevance, ["AvgP"]).per_query["AvgP"]

    def harm(taught: Taught, captions: csr_array) -> dict[str, float]:
        vocabulary, model = taught
        numbers = np.array([vocabulary.number(word) for word in starter.vocabulary.words])
        rows = model.transform(vectors)[:, numbers]
        after = evaluate_rows(rows, relevance, ["AvgP"]).per_query["AvgP"]
        touched = np.isin(numbers[words], captions.indices)
        return {
            "before": 100 * float(before.mean()),
            "after": 100 * float(after.mean()),
            "words_touched": float(touched.sum()),
            "before_touched": 100 * float(before[touched].mean()),
            "after_touched": 100 * float(after[touched].mean()),
        }

    return harm


def _plot(table: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4), layout="constrained")
    sizes = [row["captions"] for row in table]
    for name, style in ((STARTED, "o-"), (ZERO, "s--")):
        axes.plot(sizes, [row[name] for row in table], style, label=name)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("captioned pictures")
    axes.set_ylabel("AvgP on Corel's test queries, %")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()

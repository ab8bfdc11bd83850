"""What does the starter know of Corel and of Flickr8k, which it never saw?

    python -m benchmarks.starter_alone --json [--data DATA/corel5k] [--flickr8k DATA/flickr8k]

AvgP over Corel's test queries made only of words that the starter knows (in their plural, another
spelling or a synonym, as in a search), beside PAMIR trained on Corel's own 4,500 captions with the
same vectors, and beside chance; ``share`` is starter over trained. C and the iterations of the
trained one are chosen on 500 of the 4,500. ``flickr8k_ap`` is the mean AP of single words on
Flickr8k's test pictures: of every word that captions use and five of these pictures have, stop
words left out; one that the starter does not know ranks by nothing. ``--vectors FILE.npy`` keeps
the CNN's vectors of Corel, ``--flickr8k-vectors FOLDER`` those of Flickr8k; ``--starter FILE`` is
that of another network, and both hold its vectors.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.common import say, show
from benchmarks.corel_vectors import corel_vectors, vectors_by_path
from visterm.calibration.calibration import GOOD
from visterm.datasets import CaptionedDataset, CaptionedPictures, read_flickr8k
from visterm.evaluation import Evaluation, compare, evaluate_rows
from visterm.experiments.protocol import Protocol, corel5k
from visterm.models import Pamir
from visterm.starter import Starter, load_starter
from visterm.starter.starter import read_starter
from visterm.text import Relevance
from visterm.text.tokens import STOP_WORDS
from visterm.text.weighting import weigh_queries

STEPS = (0.01, 0.1, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.starter_alone", description=__doc__)
    parser.add_argument("--data", type=Path, help="Corel's folder")
    parser.add_argument("--vectors", type=Path, help="where to keep the CNN's vectors")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--flickr8k", type=Path, help="Flickr8k's folder")
    parser.add_argument("--flickr8k-vectors", type=Path, help="a folder with flickr8k.npy")
    parser.add_argument("--part", choices=["test", "dev"], default="test", help="of Flickr8k")
    parser.add_argument("--held", type=int, default=5, help="pictures that have a word asked for")
    parser.add_argument("--iterations", type=int, default=Pamir().max_iter, help="of each fit")
    parser.add_argument("--starter", type=Path, help="another starter, with vectors of its network")
    arguments = parser.parse_args()
    starter = load_starter() if arguments.starter is None else read_starter(arguments.starter)
    flickr8k = read_flickr8k(arguments.flickr8k)
    part = flickr8k.tested if arguments.part == "test" else flickr8k.validation
    assert part is not None
    vectors = vectors_by_path(
        "flickr8k", part.paths[0].parents[1], part.paths, arguments.flickr8k_vectors
    )
    protocol = corel5k(arguments.data)
    development, test = corel_vectors(protocol, arguments.vectors)
    found = measure(protocol, development, test, starter, arguments.iterations)
    found |= measure_single_words(flickr8k, part, vectors, starter, arguments.held)
    show(found, as_json=arguments.json)


def measure(
    protocol: Protocol,
    development: NDArray[np.float32],
    test: NDArray[np.float32],
    starter: Starter,
    iterations: int,
) -> dict[str, Any]:
    words = protocol.vocabulary.words
    known = np.array([starter.find(word) is not None for word in words])
    relevance = protocol.test_relevance
    unknown_words = relevance.queries.astype(bool).astype(np.float32) @ (~known).astype(np.float32)
    asked = relevance.take(np.flatnonzero(unknown_words == 0))
    numbers = [starter.find(word) or 0 for word in words]  # unknown ones are not asked for
    idf = starter.vocabulary.idf[numbers]
    say(f"{known.sum()} of {len(words)} words, {len(asked)} of {len(relevance)} queries")
    ours = _evaluated(starter.model().transform(test)[:, numbers], asked, idf)
    trained = _trained(protocol, development, iterations)
    theirs = _evaluated(trained.transform(test), asked, trained.idf_)
    random = np.random.default_rng(0).standard_normal((len(test), len(words)))
    chance = _evaluated(random.astype(np.float32), asked, trained.idf_)
    lengths = asked.words_per_query
    rows = {"all": np.ones(len(asked), bool)}
    rows |= {f"{n} words": lengths == n for n in np.unique(lengths).tolist()}
    table = {name: _row(mask, ours, theirs, chance) for name, mask in rows.items()}
    return {
        "share": table["all"]["share"],
        "words_known": int(known.sum()),
        "words": len(words),
        "words_unknown": [word for word, one in zip(words, known, strict=True) if not one],
        "table": table,
        "good_matches": {
            name: _good_matches(starter, np.array(numbers), test, asked.take(np.flatnonzero(mask)))
            for name, mask in rows.items()
        },
        "queries_on_which_the_starter_is_better": compare(ours, theirs).better,
        "trained": {"C": trained.C_, "max_iter": trained.n_iter_},
    }


def measure_single_words(
    data: CaptionedDataset,
    pictures: CaptionedPictures,
    vectors: NDArray[np.float32],
    starter: Starter,
    held: int,
) -> dict[str, Any]:
    """Mean AP of single words that captions use, known to the starter or not."""
    every = data.queries.vocabulary(data.train.captions, pictures.captions)
    holding = csr_array(every.counts(pictures.captions).astype(bool).astype(np.float32))
    often = np.bincount(holding.indices, minlength=len(every)) >= held
    words = [t for t in np.flatnonzero(often) if every.words[t] not in STOP_WORDS]
    known = [-1 if (n := starter.find(every.words[t])) is None else n for t in words]
    rows = np.zeros((len(pictures), len(words)), np.float32)
    there = [place for place, number in enumerate(known) if number >= 0]
    rows[:, there] = starter.model().transform(vectors)[:, [known[place] for place in there]]
    asked = Relevance(csr_array(np.eye(len(words), dtype=np.float32)), holding[:, words].T.tocsr())
    ap = evaluate_rows(rows, asked, ["AvgP"]).per_query["AvgP"]
    return {
        "flickr8k_ap": round(100 * float(ap.mean()), 2),
        "flickr8k_words": len(words),
        "flickr8k_words_known": len(there),
        "flickr8k_known_ap": round(100 * float(ap[there].mean()), 2) if there else 0.0,
    }


def _evaluated(rows: NDArray[np.float32], asked: Relevance, idf: NDArray[np.float64]) -> Evaluation:
    """The queries as each model weighs their words."""
    queries = weigh_queries(asked.queries.astype(bool).astype(np.float32), idf)
    return evaluate_rows(rows, Relevance(queries, asked.pictures), ["AvgP", "P@10"])


def _trained(protocol: Protocol, vectors: NDArray[np.float32], iterations: int) -> Pamir:
    training, held = protocol.split
    model = Pamir(C=STEPS, max_iter=iterations, max_words=protocol.max_words, retrain=True)
    captions = protocol.captions
    return model.fit(
        vectors[training], captions[training], validation=(vectors[held], captions[held])
    )


def _good_matches(
    starter: Starter, numbers: NDArray[np.int64], test: NDArray[np.float32], asked: Relevance
) -> dict[str, float]:
    """Where the starter says that good matches end: how right it is, and how sure of it."""
    calibration = starter.calibration()
    rows = calibration.link.rows(starter.model().transform(test))
    shown, right, sure, found, there = 0, 0, 0.0, [], asked.pictures.toarray() > 0
    queries = asked.queries.astype(bool).astype(np.float32)
    for number, answers in enumerate(there):
        first, last = queries.indptr[number : number + 2]
        words, weights = numbers[queries.indices[first:last]], queries.data[first:last]
        scores = rows[:, words] @ weights
        good = scores >= calibration.least_score(words, weights, GOOD)
        hits = int((good & answers).sum())
        found.append(2 * hits / (int(good.sum()) + int(answers.sum())))
        shown, right = shown + int(good.sum()), right + hits
        sure += float(calibration.probabilities(words, weights, scores[good]).sum())
    return {
        "pictures_a_query": round(shown / len(there), 2),
        "mean_f1": round(float(np.mean(found)), 3),
        "right": round(right / max(shown, 1), 3),
        "mean_chance_told": round(sure / max(shown, 1), 3),
    }


def _row(
    mask: NDArray[np.bool_], ours: Evaluation, theirs: Evaluation, chance: Evaluation
) -> dict[str, float]:
    avgp = [100 * float(one.per_query["AvgP"][mask].mean()) for one in (ours, theirs, chance)]
    return {
        "queries": int(mask.sum()),
        "starter": round(avgp[0], 2),
        "trained": round(avgp[1], 2),
        "chance": round(avgp[2], 2),
        "share": round(avgp[0] / avgp[1], 3),
    }


if __name__ == "__main__":
    main()

"""How well is "Rosalinde in the snow" found, where Rosalinde is a name that only its owner knows?

    python -m benchmarks.personal_words --data ROOT --json [--vectors FOLDER] [--validation]

Series of one animal, place or event of Corel and IAPR TC-12 stand for what people give names to.
Whoever made these sets put pictures of one kind under neighbouring numbers, so a series is a run of
pictures, by number, that all hold one rare word, a label of Corel or a word of IAPR's sentences
that at most 100 pictures hold; between neighbours of a run at most two others lie. Of runs that
overlap the longest counts. At least ten of its pictures are training pictures, which may be
examples, and at least two test pictures, which are answers. The word is not used otherwise.

A collection holds the test pictures without captions, and for each series 1, 3, 5 or 10 examples
whose caption is an invented name. The name is asked for alone, and with one word in context: a
label that the starter knows, that some answers of the series hold and others do not, and that at
least five test pictures hold. The starter never saw Corel; of IAPR TC-12 it saw training pictures,
so with ``--validation`` (a ninth of the training pictures instead of the test pictures) it knows
the words of IAPR better than it should, for all ways alike.

``alone`` and ``in_context`` are mean AvgP over queries of both sets and three draws of examples, in
percent, by the number of examples; ``ratio`` is visterm as a multiple of the best other way there.
visterm is asked by `Collection.caption_many`, `Collection.train_first` and `Collection.search`;
the others, on the same vectors and with the starter's weights and probabilities of words, are

- ``mean_picture``: cosine to the mean example;
- ``mean_picture_and_text``: that plus the word's scores, both in standard deviations;
- ``palavra``: cosine to the mean of the mean example and the word's weights, as N. Cohen et al.
  (ECCV 2022) put a learnt name between words;
- ``logistic_times_text``: logistic regression of examples against all other pictures, times the
  word's probability.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import Floats, vectors_by_path
from benchmarks.personal_words_peers import WAYS, Asked
from benchmarks.vector_collection import put
from visterm.collection import Collection
from visterm.collection.training.pretrained import begin
from visterm.datasets import CaptionedPictures, read_corel5k, read_iaprtc12
from visterm.starter import load_starter
from visterm.text.query import UnknownWords
from visterm.text.tokens import STOP_WORDS, stem, tokens

SETS = ("corel5k", "iaprtc12")
SIZES = (1, 3, 5, 10)
DRAWS = 3
RARE = 100
"""Pictures that hold the word of a series, at most."""
_APART = 3
_LEAST_ANSWERS, _LEAST_HELD = 2, 5
_NINTH = 9

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Series:
    """Pictures of one thing with an invented name: numbers of training and of asked pictures."""

    name: str
    examples: Numbers
    answers: Numbers
    contexts: Mapping[str, Numbers]
    """Answers that hold a word, by words that some of them hold."""


@dataclass(frozen=True)
class Album:
    """Vectors of training pictures and of pictures that are asked for, and the series of both."""

    training: Floats
    asked: Floats
    series: list[Series]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.personal_words",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of both sets")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--vectors", type=Path, help="keep the CNN's vectors in this folder")
    parser.add_argument("--validation", action="store_true", help="leave the test pictures alone")
    parser.add_argument("--draws", type=int, default=DRAWS)
    given = parser.parse_args()
    found: dict[str, Any] = {}
    precisions: dict[tuple[str, int], list[dict[str, float]]] = defaultdict(list)
    for name in SETS:
        album = read_album(name, given.data / name, given.vectors, given.validation)
        contexts = sum(len(series.contexts) for series in album.series)
        found[name] = {"series": len(album.series), "queries_in_context": contexts}
        for size in SIZES:
            rows: dict[str, list[dict[str, float]]] = {"alone": [], "in_context": []}
            for seed in range(given.draws):
                for kind, row in queried(album, size, seed):
                    rows[kind].append(row)
            for kind, of_queries in rows.items():
                found[name].setdefault(kind, {})[str(size)] = _means(of_queries)
                precisions[kind, size] += of_queries
            say(f"{name}, {size} examples: {found[name]['in_context'][str(size)]}")
    for (kind, size), of_queries in precisions.items():
        found.setdefault(kind, {})[str(size)] = _means(of_queries)
    show(found, as_json=given.json)
    return 0


def read_album(name: str, folder: Path, kept: Path | None, validation: bool) -> Album:
    """A data set as series of pictures, with examples and answers apart."""
    data = (read_corel5k if name == "corel5k" else read_iaprtc12)(folder)
    training, asked = data.development, data.tested
    if validation:
        every = range(len(training))
        asked = training.take(every[::_NINTH])
        training = training.take([n for n in every if n % _NINTH])
    vectors = vectors_by_path(name, folder, [*training.paths, *asked.paths], kept)
    first = len(training)
    series = list(_series(training + asked, first, name))
    return Album(vectors[:first], vectors[first:], series)


def _series(pictures: CaptionedPictures, first_asked: int, kind: str) -> Iterator[Series]:
    """The longest runs of neighbours that hold a rare word, as examples and answers."""
    labels = [set(map(stem, tokens(text))) for text in pictures.words]
    asked_labels = labels[first_asked:]
    counts = Counter(word for words in asked_labels for word in words)
    known = [
        word
        for word, count in sorted(counts.items())
        if count >= _LEAST_HELD and load_starter().vocabulary.number(word) is not None
    ]
    taken: set[int] = set()
    for run in sorted(_runs(pictures), key=lambda run: (-len(run), run[0])):
        numbers = np.array(run)
        answers = numbers[numbers >= first_asked] - first_asked
        examples = numbers[numbers < first_asked]
        if taken & set(run) or len(examples) < max(SIZES) or len(answers) < _LEAST_ANSWERS:
            continue
        taken |= set(run)
        holds = {word: [n for n in answers if word in asked_labels[n]] for word in known}
        contexts = {
            word: np.array(held) for word, held in holds.items() if 0 < len(held) < len(answers)
        }
        yield Series(_invented(len(taken), kind), examples, answers, contexts)


def _runs(pictures: CaptionedPictures) -> Iterator[list[int]]:
    """Pictures that hold a rare word and lie next to each other by the numbers of their files."""
    order = sorted(
        range(len(pictures)), key=lambda n: int(re.sub(r"\D", "", pictures.paths[n].stem))
    )
    texts = [{stem(word) for word in tokens(text)} - STOP_WORDS for text in pictures.captions]
    counts = Counter(word for text in texts for word in text)
    last: dict[str, int] = {}
    runs: dict[str, list[int]] = {}
    for place, number in enumerate(order):
        for word in sorted(texts[number]):
            if counts[word] > RARE:
                continue
            if word in last and place - last[word] > _APART:
                yield runs.pop(word)
            last[word] = place
            runs.setdefault(word, []).append(number)
    yield from runs.values()


def _invented(number: int, kind: str) -> str:
    """A name that is no word."""
    random = np.random.default_rng([number, len(kind)])
    syllables = zip(
        random.choice(list("bdfgkmprtvz"), 4), random.choice(list("aiou"), 4), strict=True
    )
    return "".join(consonant + vowel for consonant, vowel in syllables)


def queried(album: Album, size: int, seed: int) -> Iterator[tuple[str, dict[str, float]]]:
    """AvgP of each way for every query, and whether it was asked ``alone`` or ``in_context``."""
    drawn = [
        np.random.default_rng([seed, place]).permutation(series.examples)[:size]
        for place, series in enumerate(album.series)
    ]
    vectors = np.concatenate([album.training[np.concatenate(drawn)], album.asked])
    first = len(vectors) - len(album.asked)
    units = vectors - vectors.mean(axis=0)
    units /= np.linalg.norm(units, axis=1)[:, None]
    starter = load_starter()
    link = starter.calibration().link
    values = link.rows(vectors @ starter.weights.T)
    with tempfile.TemporaryDirectory() as folder, Collection.open(folder) as collection:
        put(collection, vectors, {})
        with collection.catalogue.writing("beginning"):
            begin(collection.catalogue)
        for place, series in enumerate(album.series):
            numbers = range(place * size + 1, (place + 1) * size + 1)
            collection.caption_many(list(numbers), series.name)
        collection.train_first()
        for place, series in enumerate(album.series):
            alone = Asked(units, np.arange(place * size, (place + 1) * size))
            for word, answers in {"": series.answers, **series.contexts}.items():
                asked = alone
                if word:
                    number = starter.vocabulary.number(word)
                    asked = alone.together_with(starter.weights[number], values[:, number])
                scores = {way: rank(asked)[first:] for way, rank in WAYS.items()}
                scores["visterm"] = _searched(collection, f"{series.name} {word}", len(units))
                row = {
                    way: _average_precision(found[-len(album.asked) :], answers)
                    for way, found in scores.items()
                }
                yield ("in_context" if word else "alone"), row


def _searched(collection: Collection, query: str, pictures: int) -> Floats:
    """Scores that order pictures as a search does; the same for all where it knows nothing."""
    scores = np.zeros(pictures, np.float32)
    try:
        results = collection.search(f"{query} captioned:no", pictures).results
    except UnknownWords:
        return scores
    for rank, result in enumerate(results):
        scores[result.picture - 1] = len(results) - rank
    return scores


def _average_precision(scores: Floats, answers: Numbers) -> float:
    """In percent; pictures of the same score are in random order."""
    shuffled = np.random.default_rng(0).permutation(len(scores))
    order = shuffled[np.argsort(-scores[shuffled], kind="stable")]
    places = np.flatnonzero(np.isin(order, answers)) + 1
    return 100 * float(np.mean(np.arange(1, len(places) + 1) / places))


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    if not rows:
        return {}
    found = {way: float(np.mean([row[way] for row in rows])) for way in rows[0]}
    best = max(value for way, value in found.items() if way != "visterm")
    rounded = {way: round(value, 2) for way, value in found.items()}
    return rounded | {"ratio": round(found["visterm"] / best, 3)}


if __name__ == "__main__":
    raise SystemExit(main())

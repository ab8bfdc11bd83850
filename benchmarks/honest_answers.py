"""Is what visterm calls a good match right, and does it say so where there is none?

    python -m benchmarks.honest_answers --data ROOT --json [--part validation] [--vectors FOLDER]

Collections of Corel (labels) and Flickr8k (five captions a picture): pictures without captions,
with the starter alone, and after 300 other pictures were added with one caption each. Queries have
one to three words of a picture's captions. Words are drawn at random and called *absent* until a
third of the pictures hold one; these are taken out of the collection. A query from one of them
that holds an absent word has no answer; queries from the pictures that stay have some. Both are
asked of `Collection.search` with ``captioned:no``. All of it is done for four draws of absent words
and captioned pictures.

``no_answer_with_good``   of queries without an answer, those that show a good match
``precision_of_good``     of what is called good, in queries with an answer, what is right
``answered``              of queries with an answer among the first five, those that show a good or
                          possible match
``ece``                   expected calibration error of the first 20 results of all queries, about
                          half of which have no answer, in ten bins
``ece_with_answer``       the same of queries with an answer alone

In the state ``captioned`` no caption holds an absent word: the starter knows it, or nobody does,
and such queries are not asked. In ``captioned_elsewhere`` captions do, and queries without an
answer have words of captions alone: all that answers them is captioned. ``--part validation`` (500
of Corel's training pictures, Flickr8k's dev pictures) is what was chosen on; ``test``, the default,
is for the report.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import Floats, vectors_by_path
from benchmarks.vector_collection import put
from visterm.calibration.calibration import GOOD, POSSIBLE
from visterm.collection import Collection, SearchResult
from visterm.collection.training.pretrained import begin
from visterm.datasets import CaptionedPictures, read_corel5k, read_flickr8k
from visterm.text.query import UnknownWords
from visterm.text.tokens import STOP_WORDS, stem, tokens
from visterm.text.unoffered_words import PICTURE_TALK

CAPTIONED = 300
DRAWS = 4
QUERIES = 100
"""Queries of each kind, state and draw."""
STATES = ("starter", "captioned", "captioned_elsewhere")
_HELD = 5
"""Pictures that hold a word which is asked for, at least."""
_TAKEN_OUT = 1 / 3
_SHOWN = 20


@dataclass(frozen=True)
class Pictures:
    """Pictures with the words that any of their captions gives them, and one caption each."""

    vectors: NDArray[np.float32]
    words: list[frozenset[str]]
    captions: list[str]

    def take(self, numbers: Sequence[int]) -> Pictures:
        words, captions = self.words, self.captions
        return Pictures(
            self.vectors[numbers], [words[n] for n in numbers], [captions[n] for n in numbers]
        )


@dataclass(frozen=True)
class Trial:
    """A collection, captioned pictures first, and what is asked of it."""

    captioned: Pictures
    asked: Pictures
    answerable: list[list[str]]
    unanswerable: list[list[str]]
    """Queries, as words of one picture's captions."""


@dataclass
class Tally:
    """What the answers to many queries amounted to."""

    no_answer: list[bool] = field(default_factory=list)
    good: list[bool] = field(default_factory=list)
    answered: list[bool] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    of_nothing: list[float] = field(default_factory=list)
    """Probabilities in queries without an answer."""

    def add(self, other: Tally) -> None:
        """Count what another has counted, too."""
        for name, flags in vars(other).items():
            getattr(self, name).extend(flags)

    def count(self, probabilities: Sequence[float], right: Sequence[bool]) -> None:
        """Count the results of a query that has answers, best first."""
        self.probabilities += probabilities[:_SHOWN]
        self.right += right[:_SHOWN]
        self.good += [r for r, p in zip(right, probabilities, strict=True) if p >= GOOD]
        if any(right[:5]):
            self.answered.append(probabilities[0] >= POSSIBLE)

    def count_unanswerable(self, probabilities: Sequence[float]) -> None:
        """Count the results of a query that has no answer, best first."""
        self.no_answer.append(max(probabilities, default=0.0) >= GOOD)
        self.of_nothing += probabilities[:_SHOWN]

    def figures(self) -> dict[str, float | None]:
        return {
            "no_answer_with_good": _percent(self.no_answer),
            "precision_of_good": _percent(self.good),
            "answered": _percent(self.answered),
            "ece": _calibration_error(
                self.probabilities + self.of_nothing, self.right + [False] * len(self.of_nothing)
            ),
            "ece_with_answer": _calibration_error(self.probabilities, self.right),
        }


def _calibration_error(probabilities: Sequence[float], answers: Sequence[bool]) -> float:
    """In percent, over ten bins of equal width."""
    chances, right = np.array(probabilities), np.array(answers, float)
    bins = np.minimum((10 * chances).astype(int), 9)
    gaps = [
        (bins == b).mean() * abs(chances[bins == b].mean() - right[bins == b].mean())
        for b in np.unique(bins)
    ]
    return round(100 * float(np.sum(gaps)), 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.honest_answers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="the folder with corel5k and flickr8k")
    parser.add_argument("--vectors", type=Path, help="a folder that keeps the CNN's vectors")
    parser.add_argument("--part", choices=["test", "validation"], default="test")
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each kind, state and draw")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument(
        "--captions", type=int, default=CAPTIONED, help="captioned pictures; 4 are a first minute"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    both = {state: Tally() for state in STATES}
    found: dict[str, Any] = {}
    for name in ("corel5k", "flickr8k"):
        pool, asked = read(name, arguments.data, arguments.vectors, arguments.part == "test")
        for state in STATES:
            tally = Tally()
            for seed in range(arguments.draws):
                say(f"{name}, {state}, draw {seed + 1} of {arguments.draws}")
                trial = drawn(pool, asked, state, seed, arguments.queries, arguments.captions)
                _ask(trial, tally)
            found[f"{name}.{state}"] = tally.figures()
            both[state].add(tally)
    for state, tally in both.items():
        found[state] = tally.figures()
    show({"part": arguments.part, **found}, as_json=arguments.json)


def read(
    name: str, data: Path | None, vectors: Path | None, is_test: bool
) -> tuple[Pictures, Pictures]:
    """Pictures that may have captions, and pictures that are asked for."""
    root = None if data is None else data / name
    if name == "corel5k":
        corel = read_corel5k(root)
        every = range(len(corel.development))  # ten in a row look alike, as test pictures do not
        pool = corel.development.take([n for n in every if n % 9])
        asked = corel.tested if is_test else corel.development.take(every[::9])
    else:
        flickr = read_flickr8k(root)
        assert flickr.validation is not None
        pool, asked = flickr.train, flickr.tested if is_test else flickr.validation

    above = next(folder for folder in pool.paths[0].parents if folder.name == name)
    rows = vectors_by_path(name, above, [*pool.paths, *asked.paths], vectors)

    def pictures(part: CaptionedPictures, rows: Floats) -> Pictures:
        words = [frozenset(map(stem, tokens(caption))) for caption in part.captions]
        captions = [caption.split("\n")[0] for caption in part.captions]
        return Pictures(rows, words, captions)

    return pictures(pool, rows[: len(pool)]), pictures(asked, rows[len(pool) :])


def drawn(
    pool: Pictures, asked: Pictures, state: str, seed: int, queries: int, captions: int = CAPTIONED
) -> Trial:
    """A collection without the pictures that hold absent words, and queries of both kinds."""
    rng = np.random.default_rng(seed)
    forms = _forms(asked)
    absent: set[str] = set()
    for word in rng.permutation(sorted(forms)).tolist():
        if sum(bool(words & absent) for words in asked.words) >= _TAKEN_OUT * len(asked.words):
            break
        absent.add(word)
    elsewhere = state == "captioned_elsewhere"
    order = rng.permutation(len(pool.words)).tolist()
    free = [n for n in order if elsewhere or not pool.words[n] & absent]
    captioned = pool.take([] if state == "starter" else free[:captions])
    here = [n for n, words in enumerate(asked.words) if not words & absent]
    gone = [words for words in asked.words if words & absent]
    written = {stem(token) for caption in captioned.captions for token in tokens(caption)}
    lost = _queries([words & forms.keys() for words in gone], 50 * queries, rng)
    unanswerable = [
        [forms[word] for word in query]
        for query in lost
        if query & absent and (not elsewhere or query <= written)
    ]
    answerable = [
        [forms[word] for word in query]
        for query in _queries([asked.words[n] & forms.keys() for n in here], queries, rng)
    ]
    return Trial(captioned, asked.take(here), answerable, unanswerable[:queries])


def _ask(trial: Trial, tally: Tally) -> None:
    """Ask a collection all queries."""
    first, asked = len(trial.captioned.captions), trial.asked
    captions = dict(enumerate(trial.captioned.captions, 1))
    with tempfile.TemporaryDirectory() as folder, Collection.open(folder) as collection:
        put(collection, np.concatenate([trial.captioned.vectors, asked.vectors]), captions)
        with collection.catalogue.writing("beginning"):
            begin(collection.catalogue)
        if captions:
            collection.train(force=True)
        for query in trial.unanswerable:
            shown = _search(collection, query)
            if shown is not None:
                tally.count_unanswerable([_probability(one) for one in shown])
        for query in trial.answerable:
            shown = _search(collection, query)
            if shown is not None:
                wanted = frozenset(map(stem, query))
                right = [wanted <= asked.words[one.picture - first - 1] for one in shown]
                tally.count([_probability(one) for one in shown], right)


def _search(collection: Collection, words: Sequence[str]) -> Sequence[SearchResult] | None:
    """What is found for a query all of whose words are known; None for others."""
    try:
        answer = collection.search(" ".join([*words, "captioned:no"]), k=5000)
    except UnknownWords:
        return None
    is_whole = not answer.unknown and not answer.replaced and answer.cutoff is not None
    return answer.results if is_whole else None


def _probability(result: SearchResult) -> float:
    assert result.probability is not None
    return result.probability


def _forms(data: Pictures) -> dict[str, str]:
    """Words that enough pictures hold, by their stems, as they are written most often."""
    counts: dict[str, int] = {}
    for words in data.words:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    forms: dict[str, str] = {}
    for caption in data.captions:
        for token in tokens(caption):
            if token not in STOP_WORDS and token not in PICTURE_TALK and len(token) > 2:
                forms.setdefault(stem(token), token)
    return {word: form for word, form in forms.items() if counts.get(word, 0) >= _HELD}


def _queries(
    inside: Sequence[frozenset[str]], count: int, rng: np.random.Generator
) -> Iterator[frozenset[str]]:
    """Queries of one to three words that stand in the captions of one picture."""
    for _ in range(count if inside else 0):
        words = sorted(inside[int(rng.integers(len(inside)))])
        if words:
            size = min(int(rng.integers(1, 4)), len(words))
            yield frozenset(rng.choice(words, size, replace=False).tolist())


def _percent(flags: Sequence[bool]) -> float | None:
    return round(100 * float(np.mean(flags)), 2) if flags else None


if __name__ == "__main__":
    main()

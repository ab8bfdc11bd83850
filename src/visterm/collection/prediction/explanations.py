"""Why a picture was found, place by place and word by word, and which words a picture says."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.link import log_logistic
from visterm.collection.feedback.log import columns
from visterm.collection.feedback.offsets import FeedbackOffsets
from visterm.collection.ingest.extractors import kept
from visterm.collection.media.originals import Originals
from visterm.collection.media.records import record
from visterm.collection.prediction.neighbours import (
    Neighbours,
    neighbours_of,
    with_neighbours,
)
from visterm.collection.search import ScoreParts
from visterm.collection.search.frame_folding import FoldedRanker
from visterm.collection.search.rankers import word_ranker
from visterm.collection.store.active_model import ActiveModel, active_model, frame_rows
from visterm.collection.store.caption_words import holders
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.versions import MODEL
from visterm.errors import BadInput, UnreadablePicture
from visterm.text.query import parse_query
from visterm.text.unoffered_words import is_unoffered

if TYPE_CHECKING:
    from visterm.features.contributions import Parts

Box = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Explanation:
    """What each place of a picture contributes to its score, for each word of the query.

    The score is not linear in places, as a word's log-probability levels off: each has its part of
    what all of them together change, in proportion to what it adds to the word's odds. All
    contributions and ``rest`` sum to ``score``. Where the model is not linear in places, or the
    features know none, ``words`` is empty and all of the score is rest. So is what captions change.
    """

    words: dict[str, NDArray[np.float64]]
    rest: float
    score: float
    box: Box = (0.0, 0.0, 1.0, 1.0)
    """The part of the picture that the places cover: left, top, right, bottom, as fractions."""
    evidence: ScoreParts | None = None
    """What sight and captions add to the score, and the words that the caption holds."""

    @property
    def places(self) -> NDArray[np.float64] | None:
        """The contributions of all words together."""
        return sum(self.words.values(), start=np.zeros(1)) if self.words else None


@dataclass(frozen=True)
class Likely:
    """A word for a picture: its score, and how likely the picture shows it, where that is known."""

    word: str
    score: float
    probability: float | None = field(default=None)


def explain(catalogue: Catalogue, root: Path, picture: int, text: str) -> Explanation:
    """Why a picture has the score it has for a query; conditions do not matter.

    Of a video, it is the best frame that is explained.
    """
    now = active_model(catalogue)
    ranker = word_ranker(catalogue, now, parse_query(text))
    _check_found(now, picture)
    if frames := frame_rows(catalogue):
        picture = FoldedRanker(ranker, frames).rows([picture])[0]
    total = float(ranker.scores(np.array([picture]))[0])
    (evidence,) = ranker.parts([picture])
    parts = _parts(catalogue, root, now, picture) if ranker.numbers.size else None
    weights = None if parts is None else _weights(catalogue, now, ranker.numbers)
    if parts is None or weights is None:
        return Explanation({}, total, total, evidence=evidence)
    asked_for = zip(ranker.numbers.tolist(), ranker.weights.tolist(), *weights, strict=False)
    words = {
        now.vocabulary.words[number]: _contributions(now, number, weight, parts.scores(row), moved)
        for number, weight, row, moved in asked_for
    }
    rest = total - float(sum(contributions.sum() for contributions in words.values()))
    return Explanation(words, rest, total, parts.box, evidence)


def describe(catalogue: Catalogue, picture: int, k: int) -> list[Likely]:
    """The words that a picture most likely shows, likeliest first."""
    now = active_model(catalogue)
    _check_found(now, picture)
    rows = Rows(catalogue, now.version.extractor)
    vectors = np.stack([rows.of([picture])[picture]])
    near = neighbours_of(rows, vectors, [picture])
    return likeliest(catalogue, now, values_of(catalogue, now, [picture]), near, k)[0]


def values_of(catalogue: Catalogue, now: ActiveModel, pictures: list[int]) -> NDArray[np.float64]:
    """The value of every word for pictures of the index, with what clicks added.

    A video shows what any of its frames shows.
    """
    if frames := frame_rows(catalogue):
        numbers = (frames.rows(np.array([one])) for one in pictures)
        every = [_row_values(catalogue, now, one[now.index.holds(one)]) for one in numbers]
        return np.stack([one.max(axis=0) for one in every])
    return _row_values(catalogue, now, np.array(pictures))


def _row_values(
    catalogue: Catalogue, now: ActiveModel, numbers: NDArray[np.int64]
) -> NDArray[np.float64]:
    count = now.version.words
    rows = now.index.rows(numbers)
    values = np.zeros((len(rows), len(now.vocabulary)))
    values[:, :count] = rows[:, :count]
    for word, place in columns(catalogue).items():
        if count + place < rows.shape[1]:
            values[:, word] += rows[:, count + place]
    return values


def likeliest(
    catalogue: Catalogue,
    now: ActiveModel,
    values: NDArray[np.float64],
    near: list[Neighbours],
    k: int,
) -> list[list[Likely]]:
    """The ``k`` likeliest words of each row of values, one a word of the vocabulary."""
    found = _word_probabilities(now, values)
    if found is not None:
        found = with_neighbours(catalogue, now.vocabulary, found, near)
    ranked = (values if found is None else found).copy()
    ranked[:, _unoffered(catalogue, now)] = -np.inf
    order = np.argsort(-ranked, axis=1, kind="stable")[:, :k]

    def likely(row: int, word: int) -> Likely:
        probability = None if found is None else float(found[row, word])
        return Likely(now.vocabulary.words[word], float(values[row, word]), probability)

    return [[likely(row, word) for word in words] for row, words in enumerate(order.tolist())]


def _unoffered(catalogue: Catalogue, now: ActiveModel) -> list[int]:
    """Words that are not to be said of strangers, and that no caption here uses."""
    return [
        number
        for number, (word, key) in enumerate(
            zip(now.vocabulary.words, now.vocabulary.keys, strict=True)
        )
        if is_unoffered(word) and not holders(catalogue.db, key).size
    ]


def _word_probabilities(
    now: ActiveModel, values: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    if now.calibration is None or not now.calibration.is_known:
        return None
    return now.calibration.word_probabilities(values)


def _check_found(now: ActiveModel, picture: int) -> None:
    if not now.index.holds([picture])[0]:
        raise BadInput(
            f"picture {picture} cannot be found now: its files have gone, or visterm add has not "
            "described it yet"
        )


def _contributions(
    now: ActiveModel, word: int, weight: float, parts: NDArray[np.float64], moved: float
) -> NDArray[np.float64]:
    """What parts of a word's value contribute to the score, by the word's log-probability, or by
    that of its absence where it is unwanted.

    ``moved`` is what clicks add to any picture.
    """
    if now.link is None:
        return weight * parts
    slope, start = now.link.slopes[word], now.link.intercepts[word] + now.link.slopes[word] * moved
    if weight < 0:
        slope, start = -slope, -start
    rise = slope * float(parts.sum())
    if abs(rise) < 1e-9:
        return abs(weight) * parts * slope * (1 - np.exp(log_logistic(start)))
    share = (log_logistic(start + rise) - log_logistic(start)) / rise
    return np.asarray(abs(weight) * parts * slope * share)


def _weights(
    catalogue: Catalogue, now: ActiveModel, words: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """The model's weights of words, with what clicks added, and what those add to any picture;
    None where a model has none."""
    from visterm.models import load_model

    learnt = load_model(now.version.folder / MODEL).linear_weights()
    if learnt is None:
        return None
    weights = np.zeros((len(words), learnt.shape[1]))
    known = words < now.version.words  # of words that a yes began only clicks say something
    weights[known] = learnt[words[known]]
    offsets = FeedbackOffsets.read(catalogue, now.version, now.vocabulary, now.index)
    moved = np.zeros(len(weights))
    for place, word in enumerate(words.tolist()):
        if word in offsets.directions:
            weights[place] += offsets.directions[word]
            moved[place] = -offsets.directions[word] @ now.version.mean(weights.shape[1])
    return weights, moved


def _parts(catalogue: Catalogue, root: Path, now: ActiveModel, picture: int) -> Parts | None:
    """A picture's vector by place, from its file."""
    from visterm.features.contributions import parts_of
    from visterm.pictures import read_picture

    extractor = kept(catalogue, catalogue.get("features") or "")
    if extractor is None or extractor.key != now.version.extractor:
        return None
    originals, about = Originals(root, catalogue.store), record(catalogue, picture)
    for file in about.files:
        try:
            with originals.opened(about, file) as (path, _):
                pixels = read_picture(path, max_side=extractor.max_side, second=about.second)
                return parts_of(extractor, pixels)
        except UnreadablePicture:
            continue  # another copy of it may still be there
    return None

"""Why a picture was found, place by place and word by word, and which words a picture says."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.link import log_logistic
from visterm.collection.ingest.extractors import kept
from visterm.collection.media.originals import Originals
from visterm.collection.media.records import record
from visterm.collection.prediction.neighbours import (
    Neighbours,
    neighbours_of,
    with_neighbours,
)
from visterm.collection.search import ScoreParts
from visterm.collection.search.query_terms import query_terms
from visterm.collection.search.ranking import word_scores
from visterm.collection.search.searcher import only_unknown
from visterm.collection.store.caption_words import holders
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import DescribedPictures
from visterm.collection.store.snapshot import Snapshot, reading
from visterm.collection.store.word_model import WordModel
from visterm.errors import BadInput, UnreadablePicture
from visterm.index.feature_file import in_memory
from visterm.text.query import UnknownWords, parse_query
from visterm.text.tokens import PICTURE_TALK
from visterm.text.unoffered_words import is_unoffered
from visterm.text.vocabulary import Vocabulary

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
    with reading(catalogue) as now:
        model, query = now.words, parse_query(text)
        pictures = _found(now, model, picture)
        terms = query_terms(query, now)
        if query.words and not terms.terms:
            raise UnknownWords(only_unknown(terms.unknown), terms.unknown)
        scores = word_scores(now, pictures, terms).scores
        rows = pictures.positions(now.frames.rows(np.array([picture])))
        position = rows[[int(np.argmax(scores.scores(rows)))]]
        picture = int(pictures.ids[position[0]])
        total = float(scores.scores(position)[0])
        (evidence,) = scores.parts(position)
        numbers, weights = terms.numbers, terms.weights
    parts = _parts(catalogue, root, model, picture) if numbers.size else None
    if parts is None or model.weights is None:
        return Explanation({}, total, total, evidence=evidence)
    words = {}
    for number, weight in zip(numbers.tolist(), weights.tolist(), strict=False):
        made = model.word_weights(number)  # linked: its bias is what any picture has
        contributions = _contributions(weight, parts.scores(made.vector), made.bias)
        words[model.vocabulary.words[number]] = contributions
    rest = total - float(sum(contributions.sum() for contributions in words.values()))
    return Explanation(words, rest, total, parts.box, evidence)


def describe(catalogue: Catalogue, picture: int, k: int) -> list[Likely]:
    """The words that a picture most likely shows, likeliest first."""
    with reading(catalogue) as now:
        model = now.words
        pictures = _found(now, model, picture)
        position = pictures.positions(np.array([picture]))
        near = neighbours_of(now, model.version.extractor, pictures.file.dense(position), [picture])
        return likeliest(now, model, values_of(now, model, [picture]), near, k)[0]


def values_of(now: Snapshot, model: WordModel, pictures: list[int]) -> NDArray[np.float64]:
    """Log-probabilities of all words for pictures that can be found.

    A video shows what any of its frames shows.
    """
    every = now.pictures(model.version.extractor)
    assert every is not None
    rows = [every.positions(now.frames.rows(np.array([picture]))) for picture in pictures]
    logs = model.log_probabilities(every.file.at(np.concatenate(rows)))
    starts = np.cumsum([0, *(len(some) for some in rows)])[:-1]
    return np.maximum.reduceat(logs.astype(np.float64), starts, axis=0)


def mapped(model: WordModel, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """The same for vectors of pictures that are not in the collection."""
    return model.log_probabilities(in_memory(vectors)).astype(np.float64)


def likeliest(
    now: Snapshot,
    model: WordModel,
    values: NDArray[np.float64],
    near: list[Neighbours],
    k: int,
) -> list[list[Likely]]:
    """The ``k`` likeliest words of each row of values, one a word of the vocabulary."""
    found = None
    if model.calibration.is_known:
        found = model.calibration.word_probabilities(values)
        found = with_neighbours(now.catalogue, model.vocabulary, found, near)
    ranked = (values if found is None else found).copy()
    ranked[:, _unoffered(now, model)] = -np.inf
    order = np.argsort(-ranked, axis=1, kind="stable")[:, :k]

    def likely(row: int, word: int) -> Likely:
        probability = None if found is None else float(found[row, word])
        return Likely(model.vocabulary.words[word], float(values[row, word]), probability)

    return [[likely(row, word) for word in words] for row, words in enumerate(order.tolist())]


def _unoffered(now: Snapshot, model: WordModel) -> list[int]:
    """Words about pictures, and those that are not said of strangers unless a caption uses them."""
    talk = Vocabulary.of_words(sorted(PICTURE_TALK))
    words = zip(model.vocabulary.words, model.vocabulary.keys, strict=True)
    return [
        number
        for number, (word, key) in enumerate(words)
        if any(part in talk for part in word.split())
        or (is_unoffered(word) and not holders(now.catalogue.db, key).size)
    ]


def _found(now: Snapshot, model: WordModel, picture: int) -> DescribedPictures:
    pictures = now.pictures(model.version.extractor)
    if pictures is None or not pictures.holds([picture])[0]:
        raise BadInput(
            f"picture {picture} cannot be found now: its files have gone, or visterm add has not "
            "described it yet"
        )
    return pictures


def _contributions(weight: float, parts: NDArray[np.float64], start: float) -> NDArray[np.float64]:
    """What parts of a word's log odds contribute to the score, by its log-probability, or by that
    of its absence where it is unwanted.

    ``start`` are the log odds of any picture.
    """
    if weight < 0:
        parts, start = -parts, -start
    rise = float(parts.sum())
    if abs(rise) < 1e-9:
        return abs(weight) * parts * (1 - np.exp(float(log_logistic(np.array(start)))))
    low, high = log_logistic(np.array([start, start + rise]))
    share = float(high - low) / rise
    return np.asarray(abs(weight) * parts * share)


def _parts(catalogue: Catalogue, root: Path, model: WordModel, picture: int) -> Parts | None:
    """A picture's vector by place, from its file."""
    from visterm.features.contributions import parts_of
    from visterm.pictures import read_picture

    extractor = kept(catalogue, catalogue.get("features") or "")
    if extractor is None or extractor.key != model.version.extractor:
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

"""Why a picture was found, place by place and word by word."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.calibration import log_logistic
from visterm.collection.ingest.extractors import kept
from visterm.collection.library.descriptions import findable
from visterm.collection.media.records import record
from visterm.collection.media.thumbnails import original
from visterm.collection.search.ranking import LocalScores
from visterm.collection.search.request import ScoreParts
from visterm.collection.search.searcher import word_ranking
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.snapshot import reading
from visterm.collection.store.word_model import WordModel
from visterm.errors import UnreadablePicture
from visterm.text.query import parse_query

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
    probability: float | None = None
    """How likely it is that the picture answers, as a search says; None where that is not known."""

    @property
    def places(self) -> NDArray[np.float64] | None:
        """The contributions of all words together."""
        return sum(self.words.values(), start=np.zeros(1)) if self.words else None


def explain(catalogue: Catalogue, root: Path, picture: int, text: str) -> Explanation:
    """Why a picture has the score it has for a query; conditions do not matter.

    Of a video, it is the best frame that is explained.
    """
    with reading(catalogue) as now:
        model = now.words
        findable(now, model, picture)
        pictures, ranking = word_ranking(now, parse_query(text))
        assert isinstance(ranking.scores, LocalScores)
        assert ranking.scores.query is not None
        assert ranking.terms is not None
        rows = pictures.positions(now.frames.rows(np.array([picture])))
        scores = ranking.scores.scores.scores(rows)
        best = int(np.argmax(scores))
        picture, total = int(pictures.ids[rows[best]]), float(scores[best])
        (evidence,) = ranking.scores.query.parts(rows[[best]])
        (probability,) = ranking.probabilities(scores[[best]])
        numbers, weights = ranking.terms.numbers, ranking.terms.weights
    parts = _parts(catalogue, root, model, picture) if numbers.size else None
    if parts is None or model.weights is None:
        return Explanation({}, total, total, evidence=evidence, probability=probability)
    words = {}
    for number, weight in zip(numbers.tolist(), weights.tolist(), strict=False):
        made = model.word_weights(number)  # linked: its bias is what any picture has
        contributions = _contributions(weight, parts.scores(made.vector), made.bias)
        words[model.vocabulary.words[number]] = contributions
    rest = total - float(sum(contributions.sum() for contributions in words.values()))
    return Explanation(words, rest, total, parts.box, evidence, probability)


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
    from visterm.pictures.sandbox import read_picture

    extractor = kept(catalogue, catalogue.get("features") or "")
    if extractor is None or extractor.key != model.version.extractor:
        return None
    about = record(catalogue, picture)
    for file in about.files:
        try:
            with original(root, about, file) as (path, _):
                pixels = read_picture(path, max_side=extractor.max_side, second=about.second)
                return parts_of(extractor, pixels)
        except UnreadablePicture:
            continue  # another copy of it may still be there
    return None

"""Saying what pictures show: likely words, and phrases and captions of the pictures most alike.

A picture of the collection is described from what is known of it; any other file is looked at
first. Many pictures are compared with the collection in one pass. What people said about the
captioned pictures most alike says something about a picture.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.collection.ingest.extractors import described_by, vectors_of_files
from visterm.collection.media import captions
from visterm.collection.media.records import located
from visterm.collection.search.evidence import WrittenWords
from visterm.collection.search.searcher import word_probability
from visterm.collection.store.caption_words import holders
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import DescribedPictures, Rows
from visterm.collection.store.snapshot import Snapshot, reading
from visterm.collection.store.urls import Url, as_path
from visterm.collection.store.word_model import WordModel
from visterm.errors import BadInput, VistermError
from visterm.index.feature_file import in_memory
from visterm.index.scan import best
from visterm.progress import Progress, silent
from visterm.text.unoffered_words import is_unoffered, picture_talk
from visterm.text.vocabulary import Vocabulary

NEIGHBOURS = 12
"""Captioned pictures whose phrases and words count."""
SHARPNESS = 20.0
"""How much more the nearest of them count: phrases weigh ``exp(SHARPNESS · cosine)``.

On held-out IAPR TC-12 training pictures these two gave the most right phrases among the first five.
"""
_NEAR, _FALL = 0.75, 10.0
"""What a neighbour's caption says of words weighs ``exp(_FALL · (nearness − _NEAR))``, one at most,
and the model's opinion one; nearness is 0 for a usual picture and 1 for the same. Of some values
these gave the most right labels among the first five on held-out IAPR TC-12 training pictures, and
the best likelihood, with 300 captions as with 16,000."""


_COMPARED_TOGETHER = 4096
"""Pictures that are compared together."""
DESCRIBED_TOGETHER = 256
"""Pictures described together."""
_CAPTIONS_READ = 5000
"""Captions that tell which words are about pictures."""
_LEAST = 1e-12
"""Probabilities below this are as good as none."""


@dataclass(frozen=True)
class Likely:
    """A word for a picture: its score in a search for the word, and how likely the picture shows
    it, where that is known."""

    word: str
    score: float
    probability: float | None = field(default=None)


@dataclass(frozen=True)
class LikelyPhrase:
    """A phrase of captions of the pictures most alike, and the weight of those that hold it."""

    kind: str
    phrase: str
    share: float


@dataclass(frozen=True)
class NearestCaption:
    """A caption of a picture that is alike, the cosine of the two, and where that picture lies."""

    text: str
    score: float
    path: Path | Url


@dataclass(frozen=True)
class Description:
    """What is said of one picture; ``own`` are the captions it has, by source.

    ``reason`` says why nothing could be said.
    """

    path: Path | Url
    words: list[Likely] = field(default_factory=list)
    phrases: list[LikelyPhrase] = field(default_factory=list)
    captions: list[NearestCaption] = field(default_factory=list)
    own: dict[str, str] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True)
class Wanted:
    """How many words, phrases and captions to say."""

    words: int = 10
    phrases: int = 5
    captions: int = 3


def descriptions(
    catalogue: Catalogue,
    root: Path,
    paths: Sequence[str | os.PathLike[str]],
    wanted: Wanted,
    *,
    progress: Progress = silent,
) -> Iterator[Description]:
    """What is to be said of each picture, in order."""
    extractor = described_by(catalogue)
    for first in range(0, len(paths), DESCRIBED_TOGETHER):
        batch = [as_path(path) for path in paths[first : first + DESCRIBED_TOGETHER]]
        with reading(catalogue) as now:
            yield from list(_described(now, root, extractor, _model(now, extractor), batch, wanted))
        progress("describing pictures", first + len(batch), len(paths))


def _model(now: Snapshot, extractor: str) -> WordModel | None:
    """What knows words; None where nothing but captions does."""
    if now.version is None and captions.any_there(now.catalogue):
        return None
    if now.words.version.extractor != extractor:
        raise VistermError(
            "the model learnt from other features than the pictures now have; visterm train"
        )
    return now.words


def _described(
    now: Snapshot,
    root: Path,
    extractor: str,
    model: WordModel | None,
    paths: list[Path | Url],
    wanted: Wanted,
) -> Iterator[Description]:
    catalogue = now.catalogue
    numbers = [captions.at_path(catalogue, root, path) for path in paths]
    vectors, reasons = _vectors(catalogue, extractor, paths, numbers)
    seen = [place for place in range(len(paths)) if place in vectors]
    matrix = np.stack([vectors[place] for place in seen]) if seen else np.empty((0, 0), np.float32)
    near = neighbours_of(now, extractor, matrix, [numbers[place] for place in seen])
    words = _words(now, model, matrix, [numbers[place] for place in seen], near, wanted.words)
    everyone = sorted({int(number) for caption in near for number in caption.pictures})
    texts = captions.effective_captions(catalogue, everyone)
    places_of = located(catalogue, root, everyone)
    for place, (path, number) in enumerate(zip(paths, numbers, strict=True)):
        if place not in vectors:
            yield Description(path, reason=reasons[place])
            continue
        own = seen.index(place)
        alike = [
            NearestCaption("; ".join(texts[other].split("\n")), float(cosine), places_of[other][0])
            for other, cosine in zip(near[own].pictures.tolist(), near[own].cosines, strict=True)
            if other in texts and other in places_of
        ]
        distinct = {caption.text.casefold(): caption for caption in reversed(alike)}
        nearest = [caption for caption in alike if distinct[caption.text.casefold()] is caption]
        yield Description(
            path,
            words[own],
            _phrases(alike, wanted.phrases),
            nearest[: wanted.captions],
            {} if number is None else captions.of_picture(catalogue, number),
        )


def _vectors(
    catalogue: Catalogue, extractor: str, paths: list[Path | Url], numbers: list[int | None]
) -> tuple[dict[int, NDArray[np.float32]], dict[int, str]]:
    """The vectors of pictures by their place in the sequence, or the reasons why there are none."""
    known = Rows(catalogue, extractor).of([number for number in numbers if number is not None])
    vectors = {
        place: known[number]
        for place, number in enumerate(numbers)
        if number is not None and number in known
    }
    new = [place for place in range(len(paths)) if place not in vectors]
    if not new:
        return vectors, {}
    read, unreadable = vectors_of_files(catalogue, [str(paths[place]) for place in new])
    vectors |= {new[n]: vector for n, vector in read.items()}
    return vectors, {new[n]: reason for n, reason in unreadable.items()}


def describe(catalogue: Catalogue, picture: int, k: int) -> list[Likely]:
    """The words that a picture most likely shows, likeliest first."""
    with reading(catalogue) as now:
        model = now.words
        pictures = findable(now, model, picture)
        vectors = pictures.file.dense(pictures.positions(np.array([picture])))
        near = neighbours_of(now, model.version.extractor, vectors, [picture])
        return _words(now, model, vectors, [picture], near, k)[0]


def _words(
    now: Snapshot,
    model: WordModel | None,
    vectors: NDArray[np.float32],
    numbers: Sequence[int | None],
    near: list[Neighbours],
    k: int,
) -> list[list[Likely]]:
    """The likeliest words of each picture: of all frames of videos, else of its vector."""
    if model is None or not k or not numbers:
        return [[] for _ in numbers]
    pictures = now.pictures(model.version.extractor)
    is_known = np.array(
        [
            number is not None and pictures is not None and bool(pictures.holds([number])[0])
            for number in numbers
        ]
    )
    values = np.empty((len(numbers), len(model.vocabulary)))
    if is_known.any():
        inside = [number for number, known in zip(numbers, is_known, strict=True) if known]
        values[is_known] = values_of(now, model, [number or 0 for number in inside])
    if not is_known.all():
        values[~is_known] = model.log_probabilities(in_memory(vectors[~is_known]))
    return likeliest(now, model, values, numbers, near, k)


def values_of(now: Snapshot, model: WordModel, pictures: list[int]) -> NDArray[np.float64]:
    """Log-probabilities of all words for pictures that can be found.

    A video shows what any of its frames shows.
    """
    every = now.pictures(model.version.extractor)
    assert every is not None
    rows = [every.positions(now.frames.rows(np.array([picture]))) for picture in pictures]
    logs = model.log_probabilities(every.file.at(np.concatenate(rows)))
    starts = np.cumsum([0, *map(len, rows)])[:-1]
    return np.maximum.reduceat(logs.astype(np.float64), starts, axis=0)


def likeliest(
    now: Snapshot,
    model: WordModel,
    seen: NDArray[np.float64],
    numbers: Sequence[int | None],
    near: list[Neighbours],
    k: int,
) -> list[list[Likely]]:
    """Up to ``k`` words of each picture, likeliest first, from log-probabilities by sight.

    Scores and probabilities are those of a search for the word. Which words are said is decided
    with what captions say of other pictures like it.
    """
    written = WrittenWords.of(now, numbers)
    logs = written.logs(seen)
    opinion = logs
    if model.calibration.is_known:
        chances = model.calibration.exclusive(seen)
        chances = with_neighbours(now.catalogue, model.vocabulary, chances, near)
        opinion = written.logs(np.log(np.maximum(chances, _LEAST)))
    offered = np.delete(np.arange(len(model.vocabulary)), unoffered(now, model))
    order = offered[np.argsort(-opinion[:, offered], axis=1, kind="stable")[:, :k]]

    def likely(row: int, word: int) -> Likely:
        score = float(logs[row, word])
        return Likely(model.vocabulary.words[word], score, word_probability(now, word, score))

    said = ([likely(row, word) for word in words] for row, words in enumerate(order.tolist()))
    return [sorted(words, key=_unlikeliness) for words in said]


def _unlikeliness(one: Likely) -> float:
    return -float(np.exp(one.score) if one.probability is None else one.probability)


def unoffered(now: Snapshot, model: WordModel) -> list[int]:
    """Words about pictures, and those that are not said of strangers unless a caption uses them."""
    talk = now.remembered("picture talk", lambda: picture_talk(_some_captions(now.catalogue)))
    words = zip(model.vocabulary.words, model.vocabulary.keys, strict=True)
    return [
        number
        for number, (word, key) in enumerate(words)
        if not talk.isdisjoint(key.split())
        or (is_unoffered(word) and not holders(now.catalogue.db, key).size)
    ]


def _some_captions(catalogue: Catalogue) -> Iterator[str]:
    """Captions, at most `_CAPTIONS_READ`, spread over the collection."""
    (every,) = catalogue.db.execute("SELECT count(*) FROM captions").fetchone()
    step = max(1, every // _CAPTIONS_READ)
    found = catalogue.db.execute("SELECT text FROM captions WHERE picture % ? = 0", (step,))
    return (text for (text,) in found)


def findable(now: Snapshot, model: WordModel, picture: int) -> DescribedPictures:
    """The rows of pictures, among which this one is; else `BadInput`."""
    pictures = now.pictures(model.version.extractor)
    if pictures is None or not pictures.holds([picture])[0]:
        raise BadInput(
            f"picture {picture} cannot be found now: its files have gone, or visterm add has not "
            "described it yet"
        )
    return pictures


def _phrases(near: list[NearestCaption], k: int) -> list[LikelyPhrase]:
    """The phrases with the largest share of the neighbours' weight."""
    if not k or not near:
        return []
    weights = np.exp(SHARPNESS * np.array([caption.score for caption in near]))
    weights /= weights.sum()
    shares: dict[tuple[str, str], float] = {}
    for caption, weight in zip(near, weights, strict=True):
        for key in _phrases_of(caption.text):
            shares[key] = shares.get(key, 0.0) + float(weight)
    first = sorted(shares.items(), key=lambda pair: -pair[1])[:k]
    return [LikelyPhrase(kind, text, share) for (kind, text), share in first]


@lru_cache(maxsize=8192)
def _phrases_of(text: str) -> list[tuple[str, str]]:
    """Pictures taken together have neighbours in common."""
    from visterm.text.phrases import phrases

    return [(phrase.kind, str(phrase)) for phrase in phrases(text)]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The captioned pictures with the highest cosines, nearest first, and the usual cosine."""

    pictures: NDArray[np.int64]
    cosines: NDArray[np.float32]
    usual: float

    def weights(self) -> NDArray[np.float64]:
        """How much what each of them says of words counts, beside the model's one."""
        nearness = (self.cosines.astype(np.float64) - self.usual) / max(1 - self.usual, 1e-6)
        return np.exp(np.minimum(_FALL * (nearness - _NEAR), 0.0))


def neighbours_of(
    now: Snapshot, extractor: str, vectors: NDArray[np.float32], own: list[int | None]
) -> list[Neighbours]:
    """For each vector the captioned pictures most alike, itself left out."""
    pictures = now.pictures(extractor)
    if not own or pictures is None:
        return [Neighbours(np.empty(0, np.int64), np.empty(0, np.float32), 0.0) for _ in own]
    captioned = now.catalogue.db.execute("SELECT DISTINCT picture FROM captions ORDER BY picture")
    ids = np.fromiter((picture for (picture,) in captioned), np.int64)
    positions, known = pictures.located(ids)
    ids = ids[known]
    lengths = now.remembered("lengths of vectors", pictures.file.lengths)[positions]
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    near = np.empty((len(own), ids.size), np.float32)
    for first in range(0, ids.size, _COMPARED_TOGETHER):
        part = slice(first, first + _COMPARED_TOGETHER)
        rows = pictures.file.vectors(positions[part])
        near[:, part] = np.asarray(rows @ units.T).T / np.maximum(lengths[part], 1e-30)
    neighbours = []
    for number, cosines in zip(own, near, strict=True):
        others = ids != number
        nearest = best(ids[others], cosines[others], NEIGHBOURS)
        neighbours.append(Neighbours(*nearest, float(cosines.mean()) if cosines.size else 0.0))
    return neighbours


def with_neighbours(
    catalogue: Catalogue,
    vocabulary: Vocabulary,
    probabilities: NDArray[np.float64],
    neighbours: list[Neighbours],
) -> NDArray[np.float64]:
    """Probabilities of words (pictures × words), after what is said of the pictures most alike.

    ``(Σ_j w_j y_jt + P_t) / (Σ_j w_j + 1)`` with y_jt whether neighbour j's caption holds word t:
    what a model sees is the prior, worth one picture that looks the same.
    """
    everyone = sorted({int(number) for near in neighbours for number in near.pictures})
    texts = captions.effective_captions(catalogue, everyone)
    held = vocabulary.counts([texts.get(number, "") for number in everyone]).astype(bool)
    updated = np.array(probabilities, np.float64)
    for row, near in enumerate(neighbours):
        if near.pictures.size:
            weights = near.weights()
            mentions = held[np.searchsorted(everyone, near.pictures)]
            updated[row] = (weights @ mentions + updated[row]) / (weights.sum() + 1)
    return updated

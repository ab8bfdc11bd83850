"""Saying what pictures show: likely words, and phrases and captions of the pictures most alike.

A picture of the collection is described from what is known of it; any other file is looked at
first. Many pictures are compared with the collection in one pass.
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
from visterm.collection.prediction.explanations import Likely, likeliest, mapped, values_of
from visterm.collection.prediction.neighbours import SHARPNESS, Neighbours, neighbours_of
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.snapshot import Snapshot, reading
from visterm.collection.store.urls import Url, as_path
from visterm.collection.store.word_model import WordModel
from visterm.errors import VistermError
from visterm.progress import Progress, silent

AT_ONCE = 256
"""Pictures described together."""


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
    for first in range(0, len(paths), AT_ONCE):
        some = [as_path(path) for path in paths[first : first + AT_ONCE]]
        with reading(catalogue) as now:
            yield from list(_described(now, root, extractor, _model(now, extractor), some, wanted))
        progress("describing pictures", first + len(some), len(paths))


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
    looked = _looked(catalogue, Rows(catalogue, extractor), paths, numbers)
    seen = [place for place in range(len(paths)) if looked.reasons[place] is None]
    theirs = [numbers[place] for place in seen]
    near = neighbours_of(now, extractor, looked.vectors, theirs)
    words = _words(now, model, looked.vectors, theirs, near, wanted.words)
    alike: list[list[_Near]] = [[] for _ in seen]
    if wanted.phrases or wanted.captions:
        alike = _alike(catalogue, root, near)
    said = iter(zip(words, alike, strict=True))
    for path, number, reason in zip(paths, numbers, looked.reasons, strict=True):
        if reason is not None:
            yield Description(path, reason=reason)
            continue
        likely, about_others = next(said)
        yield Description(
            path,
            likely,
            _phrases(about_others, wanted.phrases),
            _distinct(about_others, wanted.captions),
            {} if number is None else captions.of_picture(catalogue, number),
        )


@dataclass
class _Looked:
    """The vectors of the pictures that could be read, in order; for the others, why not."""

    vectors: NDArray[np.float32]
    reasons: list[str | None]


def _looked(
    catalogue: Catalogue, rows: Rows, paths: list[Path | Url], numbers: list[int | None]
) -> _Looked:
    known = rows.of([number for number in numbers if number is not None])
    found: dict[int, NDArray[np.float32]] = {
        place: known[number]
        for place, number in enumerate(numbers)
        if number is not None and number in known
    }
    reasons: list[str | None] = [None] * len(paths)
    new = [place for place in range(len(paths)) if place not in found]
    if new:
        vectors, unreadable = vectors_of_files(catalogue, [str(paths[place]) for place in new])
        found |= {new[n]: vector for n, vector in vectors.items()}
        for n, reason in unreadable.items():
            reasons[new[n]] = reason
    ordered = [found[place] for place in range(len(paths)) if reasons[place] is None]
    return _Looked(np.stack(ordered) if ordered else np.empty((0, 0), np.float32), reasons)


def _words(
    now: Snapshot,
    model: WordModel | None,
    vectors: NDArray[np.float32],
    numbers: list[int | None],
    near: list[Neighbours],
    k: int,
) -> list[list[Likely]]:
    """The likeliest words of each picture: of all frames of videos, else of its vector."""
    if model is None or not k or not numbers:
        return [[] for _ in numbers]
    values = mapped(model, vectors)
    pictures = now.pictures(model.version.extractor)
    known = [
        n
        for n, number in enumerate(numbers)
        if number is not None and pictures is not None and pictures.holds([number])[0]
    ]
    if now.frames and known:
        values[known] = values_of(now, model, [numbers[n] or 0 for n in known])
    return likeliest(now, model, values, near, k)


@dataclass(frozen=True)
class _Near:
    """A captioned picture that is alike."""

    text: str
    cosine: float
    path: Path | Url


def _alike(catalogue: Catalogue, root: Path, near: list[Neighbours]) -> list[list[_Near]]:
    """What is said of the pictures most alike, and where they lie."""
    everyone = sorted({int(number) for one in near for number in one.pictures})
    texts = captions.effective_captions(catalogue, everyone)
    places_of = located(catalogue, root, everyone)
    return [
        [
            _Near("; ".join(texts[number].split("\n")), float(cosine), places_of[number][0])
            for number, cosine in zip(one.pictures.tolist(), one.cosines, strict=True)
            if number in texts and number in places_of
        ]
        for one in near
    ]


def _phrases(near: list[_Near], k: int) -> list[LikelyPhrase]:
    """The phrases with the largest share of the neighbours' weight."""
    if not k or not near:
        return []
    weights = np.exp(SHARPNESS * np.array([one.cosine for one in near]))
    weights /= weights.sum()
    shares: dict[tuple[str, str], float] = {}
    for one, weight in zip(near, weights, strict=True):
        for key in _phrases_of(one.text):
            shares[key] = shares.get(key, 0.0) + float(weight)
    first = sorted(shares.items(), key=lambda pair: -pair[1])[:k]
    return [LikelyPhrase(kind, text, share) for (kind, text), share in first]


@lru_cache(maxsize=8192)
def _phrases_of(text: str) -> list[tuple[str, str]]:
    """Pictures taken together have neighbours in common."""
    from visterm.text.phrases import phrases

    return [(phrase.kind, str(phrase)) for phrase in phrases(text)]


def _distinct(near: list[_Near], k: int) -> list[NearestCaption]:
    """The nearest captions; of equal ones the first."""
    found: dict[str, NearestCaption] = {}
    for one in near:
        found.setdefault(one.text.casefold(), NearestCaption(one.text, one.cosine, one.path))
    return list(found.values())[:k]

"""Words to begin with: those that the model is surest of, each with its best picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.collection.library.descriptions import unoffered
from visterm.collection.search.evidence import WrittenWords
from visterm.collection.search.searcher import word_probability
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.snapshot import reading

_SAMPLE = 500
"""Pictures looked at, spread over the collection."""
_LEAST = 0.3
"""A word less likely than this in its best picture is not offered."""
_ALIKE = 0.7
"""Of words whose probabilities correlate by more, as *bike* and *cyclist*, one is offered."""
_COLOURS = """
black blue brown dark gray green grey light orange pink purple red white yellow
"""


@dataclass(frozen=True)
class SuggestedWord:
    """A word, the picture that shows it best, and how likely that picture shows it."""

    word: str
    picture: int
    probability: float


def suggested_words(catalogue: Catalogue, k: int) -> list[SuggestedWord]:
    """Up to ``k`` words that pictures of the collection show, the surest first.

    No two have the same best picture, or are seen in much the same pictures.
    """
    with reading(catalogue) as now:
        model = now.words
        pictures = now.pictures(model.version.extractor)
        if pictures is None or not len(pictures) or not model.calibration.is_known:
            return []
        sample = pictures.findable[:: max(1, len(pictures) // _SAMPLE)]
        rows = pictures.file.at(pictures.positions(sample))
        seen = model.log_probabilities(rows).astype(np.float64)
        probabilities = model.calibration.exclusive(seen)
        probabilities[:, unoffered(now, model)] = 0
        best = probabilities.argmax(axis=0)
        scores = WrittenWords.of(now, sample.tolist()).logs(seen)
        chosen = _chosen(probabilities, model.vocabulary.words, k)
        said = [(word, word_probability(now, word, scores[best[word], word])) for word in chosen]
        return [
            SuggestedWord(model.vocabulary.words[word], int(sample[best[word]]), probability)
            for word, probability in said
            if probability is not None and probability >= _LEAST
        ]


def _chosen(probabilities: NDArray[np.float64], words: Sequence[str], k: int) -> list[int]:
    """The words that sight is surest of, of pictures × words."""
    best = probabilities.argmax(axis=0)
    highest = probabilities.max(axis=0)
    centred = probabilities - probabilities.mean(axis=0)
    centred /= np.maximum(np.linalg.norm(centred, axis=0), 1e-12)
    colours = frozenset(_COLOURS.split())
    chosen: list[int] = []
    for number in np.argsort(-highest, kind="stable").tolist():
        if len(chosen) == k or highest[number] < _LEAST:
            break
        is_new = best[number] not in best[chosen]
        is_alike = bool((centred[:, chosen].T @ centred[:, number] > _ALIKE).any())
        if words[number] not in colours and is_new and not is_alike:
            chosen.append(number)
    return chosen

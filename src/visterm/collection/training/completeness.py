"""How complete captions are, learnt from the collection's own: r of the captions' evidence.

Of the words that sight expects to hold for a captioned picture, captions mention some:
``r = Σ_p |caption of p ∩ words| / Σ_p Σ_t P_t(p)``, and long captions more than short ones. Before
there are many, r stays near what is usual.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from visterm.collection.media.captions import effective_captions
from visterm.collection.store.caption_words import (
    COMPLETENESS,
    LENGTHS,
    USUAL_COMPLETENESS,
    captioned,
    length_of,
    stems,
)
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.snapshot import OLD_COMPLETENESS, snapshot
from visterm.collection.store.versions import caption_changes

_SAMPLE = 500
_PRIOR = 20.0
"""So many expected words, of all captions, count as much as what is usual."""
_NEAR = 5.0
"""So many expected words of a caption count as much as what others mention."""
_TYPICAL = np.array([0.0, 1, 2.5, 5.5, 11.5, 23.5, 48])
"""Words of captions by their length."""
_LIMITS = (0.05, 0.95)


def learn_completeness(catalogue: Catalogue) -> None:
    """Learn r where captions or the model have changed enough; the caller holds the lock."""
    if not catalogue.one(f"SELECT {OLD_COMPLETENESS}"):
        return
    changes, worded = caption_changes(catalogue), captioned(catalogue.db)
    now = snapshot(catalogue)
    model = now.words
    pictures = now.pictures(model.version.extractor)
    seen = worded[:0] if pictures is None else worded[pictures.holds(worded)]
    places = np.unique(np.linspace(0, seen.size - 1, min(seen.size, _SAMPLE)).astype(int))
    some = seen[places].tolist() if seen.size else []
    texts = effective_captions(catalogue, some)
    said, lengths = np.zeros(len(some)), np.zeros(len(some), np.int64)
    for place, picture in enumerate(some):
        text = texts[picture]
        said[place] = len({n for n in model.vocabulary.numbers_in(text) if n < model.words})
        lengths[place] = length_of(len(stems(text)))
    expected = np.zeros(len(some))
    if some and pictures is not None:
        rows = pictures.file.at(pictures.located(np.array(some))[0])
        logs = model.log_probabilities(rows)[:, : model.words]
        expected = np.exp(logs.astype(np.float64)).sum(axis=1)
    learnt = {
        "by_length": by_length(said, lengths, expected),
        "version": model.version.id,
        "changes": changes,
        "captioned": int(worded.size),
    }
    with catalogue.transaction():
        catalogue.set(COMPLETENESS, json.dumps(learnt))


def by_length(
    said: NDArray[np.float64], lengths: NDArray[np.int64], expected: NDArray[np.float64]
) -> list[float]:
    """How complete captions of each length are, from the words that some mention and should.

    >>> found = by_length(np.array([1.0, 2, 2]), np.array([1, 2, 2]), np.full(3, 4.0))
    >>> [round(r, 2) for r in found]
    [0.0, 0.29, 0.41, 0.69, 0.95, 0.95, 0.95]
    """
    usual = np.array(USUAL_COMPLETENESS)
    if not said.size:
        return usual.tolist()
    prior = _PRIOR * float(usual[lengths].mean())
    overall = (said.sum() + prior) / (expected.sum() + _PRIOR)
    share = said.sum() / _TYPICAL[lengths].sum()
    rates = [0.0]
    for length in range(1, LENGTHS):
        mine = said[lengths == length]
        words = (mine.sum() + share * _TYPICAL[length]) / (mine.size + 1)
        r = (words + _NEAR * overall) / (expected.mean() + _NEAR)
        rates.append(float(np.clip(r, *_LIMITS)))
    return rates

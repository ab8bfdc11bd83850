"""How complete captions are, learnt from the collection's own: r of the captions' evidence.

Of the words that sight expects to hold for a captioned picture, captions mention some:
``r = Σ_p |caption of p ∩ words| / Σ_p Σ_t P_t(p)``. Before there are many, r stays near a half.
"""

from __future__ import annotations

import json

import numpy as np

from visterm.collection.media.captions import effective_captions
from visterm.collection.store.active_model import NotTrained, active_model
from visterm.collection.store.caption_words import (
    COMPLETENESS,
    EVERY,
    USUAL_COMPLETENESS,
    holders,
)
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.versions import caption_changes

_SAMPLE = 500
_PRIOR = 20.0
"""So many expected words count as much as what is usual."""
_LIMITS = (0.05, 0.95)
_NEWS = 0.1
"""The part of captions that must have changed before it is worth learning again."""


def learn_completeness(catalogue: Catalogue) -> None:
    """Learn r where captions or the model have changed enough; the caller holds the lock."""
    try:
        now = active_model(catalogue)
    except NotTrained:
        return
    if now.link is None:
        return
    stored = json.loads(catalogue.get(COMPLETENESS) or "{}")
    changes = caption_changes(catalogue)
    captioned = holders(catalogue.db, EVERY)
    is_old = stored.get("version") != now.version.id
    if not is_old and abs(changes - stored["changes"]) <= _NEWS * captioned.size:
        return
    captioned = captioned[now.index.holds(captioned)]
    places = np.unique(np.linspace(0, captioned.size - 1, min(captioned.size, _SAMPLE)).astype(int))
    some = captioned[places].tolist() if captioned.size else []
    texts = effective_captions(catalogue, some)
    words = now.version.words
    said = sum(
        len({number for number in now.vocabulary.numbers_in(text) if number < words})
        for text in texts.values()
    )
    expected = float(np.exp(now.index.rows(some)[:, :words].astype(np.float64)).sum())
    value = float(np.clip((said + _PRIOR * USUAL_COMPLETENESS) / (expected + _PRIOR), *_LIMITS))
    found = {"value": value, "version": now.version.id, "changes": changes}
    with catalogue.transaction():
        catalogue.set(COMPLETENESS, json.dumps(found))

"""How far names of files and folders are right, learnt from pictures that have captions as well.

If a name is right with probability κ', a caption that mentions r of what a picture shows holds the
name's words with probability κ'·r. So ``κ' = Σ [the caption holds the word] / Σ r`` over the words
of names that pictures can show. Before there are many, κ' stays near what is usual.
"""

from __future__ import annotations

import json

import numpy as np

from visterm.collection.media.captions import effective_captions
from visterm.collection.store.caption_words import (
    EVERY,
    completeness,
    holders,
    length_of,
    stems,
)
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.name_words import (
    CERTAINTY,
    FILE,
    USUAL_CERTAINTY,
    counting,
    name_key,
    stemmed,
)
from visterm.collection.store.snapshot import snapshot
from visterm.collection.store.versions import caption_changes

_SAMPLE = 2000
_PRIOR = 20.0
"""So many mentions that captions could make count as much as what is usual."""
_NEWS = 0.1
"""So many captions and files a picture must have changed before it is worth learning again."""
_LIMITS = (0.1, 0.95)


def learn_name_certainty(catalogue: Catalogue) -> None:
    """Learn κ' of each source that counts where enough has changed; the caller holds the lock."""
    sources = counting(catalogue.db)
    if not sources:
        return
    now = snapshot(catalogue)
    if now.version is None:
        return
    model, pictures = now.words, now.pictures(now.version.extractor)
    count = 0 if pictures is None else len(pictures)
    stored = json.loads(catalogue.get(CERTAINTY) or "{}")
    changes = caption_changes(catalogue) + int(catalogue.get("place_changes") or 0)
    is_same = stored.get("version") == now.version.id and {*stored["certainty"]} == {*sources}
    if is_same and abs(changes - stored["changes"]) <= _NEWS * count:
        return
    visible = set(model.vocabulary.keys[: model.words])
    learnt = {source: _learnt(catalogue, source, visible) for source in sources}
    found = {"certainty": learnt, "version": now.version.id, "changes": changes}
    with catalogue.transaction():
        catalogue.set(CERTAINTY, json.dumps(found))


def _learnt(catalogue: Catalogue, source: str, visible: set[str]) -> float:
    both = np.intersect1d(
        holders(catalogue.db, EVERY), holders(catalogue.db, name_key(source)), assume_unique=True
    )
    places = np.unique(np.linspace(0, both.size - 1, min(both.size, _SAMPLE)).astype(int))
    some = both[places].tolist() if both.size else []
    texts, complete = effective_captions(catalogue, some), completeness(catalogue.db)
    said, expected = _PRIOR * USUAL_CERTAINTY[source], _PRIOR
    for picture, names in _names(catalogue, source, some).items():
        caption = stems(texts[picture])
        for word in names & visible:
            said += word in caption
            expected += complete[length_of(len(caption))]
    return float(np.clip(said / expected, *_LIMITS))


def _names(catalogue: Catalogue, source: str, pictures: list[int]) -> dict[int, set[str]]:
    """The stems of the words in names of pictures that are there."""
    column = "name" if source == FILE else "folder"
    question = f"SELECT picture, {column} FROM places WHERE NOT vanished AND picture IN {{numbers}}"
    found: dict[int, set[str]] = {}
    for picture, name in catalogue.among(question, pictures):
        found.setdefault(picture, set()).update(stemmed(source, name))
    return found

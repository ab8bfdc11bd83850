"""Known words for unknown ones of many languages, by the multilingual sentence encoder.

An unknown word, with an article before it (in German with its capital, in six other languages
together), is compared with the known ones, and the nearer of the two counts. Some words lie near
everything; what a word has in common with its neighbours on the average is taken off (as in
cross-domain similarity local scaling, A. Conneau et al., ICLR 2018).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.errors import VistermError
from visterm.text.sentence_encoder import DIMENSIONS, has_sentences, sentence_rows
from visterm.text.synonyms import everyday_words, same_words
from visterm.text.unoffered_words import FILLING

_ENGLISH = "the {}"
_ARTICLES = (_ENGLISH, "le {}", "el {}", "il {}", "o {}", "de {}")
_NEIGHBOURS = 10
_HUBNESS = 0.5
_MANY = 500
"""Known words that leave little room for what means none of them."""


class Nearest(NamedTuple):
    """The place of the nearest known word, and how sure that is: from about 0 to 0.7."""

    place: int
    confidence: float


@lru_cache(maxsize=256)
def nearest(text: str, known: tuple[str, ...]) -> Nearest | None:
    """The known word that lies nearest to a word or phrase; None without an encoder, or words."""
    if not known or not has_sentences():
        return None
    listed = set(known)
    # Everyday words beside few known ones: what lies nearer to one of them means that, not these.
    others = everyday_words() if len(known) < _MANY else ()
    words = (*known, *(word for word in others if word not in listed))
    rows, common = _known_rows(words)
    german = " ".join(word.capitalize() for word in text.split())
    texts = [f"die {german}", *(one.format(text) for one in _ARTICLES)]
    asked = sentence_rows(texts)
    either = np.maximum(rows @ asked[0], rows @ asked[1:].mean(axis=0))
    scores = either - _HUBNESS * common
    # Words that are true of much are what nobody means who types another one.
    scores[[at for at, word in enumerate(words) if word in FILLING]] = -1.0
    place = int(scores.argmax())
    confidence = float(scores[place])
    if place >= len(known):
        same = next((word for word in same_words(words[place]) if word in listed), None)
        return None if same is None else Nearest(known.index(same), confidence)
    return Nearest(place, confidence)


@lru_cache(maxsize=4)
def _known_rows(known: tuple[str, ...]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The known words as rows, and how near each lies to its neighbours, itself among them."""
    rows = _encoded(known).astype(np.float32)
    common = np.empty(len(rows), np.float32)
    count = min(_NEIGHBOURS + 1, len(rows))
    for first in range(0, len(rows), 1024):
        near = rows[first : first + 1024] @ rows.T
        common[first : first + 1024] = np.partition(near, -count, axis=1)[:, -count:].mean(axis=1)
    return rows, common


def _encoded(known: tuple[str, ...]) -> NDArray[np.float16]:
    """The words' vectors, from the user's cache where they were encoded before."""
    from visterm.files import write_whole

    path = _cache(known)
    with contextlib.suppress(OSError, ValueError):
        found = np.load(path, allow_pickle=False)
        if found.shape == (len(known), DIMENSIONS):
            return np.asarray(found, np.float16)
    texts = [_ENGLISH.format(word) for word in known]
    rows = sentence_rows(texts).astype(np.float16)
    with contextlib.suppress(VistermError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: np.save(file, rows, allow_pickle=False))
    return rows


def _cache(known: Sequence[str]) -> Path:
    from platformdirs import user_cache_path

    digest = hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]
    return user_cache_path("visterm", appauthor=False) / f"sentence-words-{digest}.npy"

"""Pictures and captions of the papers' shape, drawn: Corel's statistics, without Corel.

Captions: 1 to 5 of 179 words, as long as Corel's; a picture has one of 70 themes, a theme seven
words of its own, drawn by a Zipf law, and one word in twenty comes from elsewhere. 4,000 of them
make about 7,300 queries of 2.8 words with 5.4 relevant pictures (Corel: 7,214, 2.8, 5.4).

Pictures: 77 different visterms of 10,000. One block in six shows a word of the caption, through one
of the 120 visterms that can say it; the others are whatever the world is made of, by a Zipf law.
Vectors are tf·idf of unit length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

WORDS, VISTERMS, VISTERMS_A_PICTURE = 179, 10_000, 77
TRAINING, VALIDATION = 4_000, 500
_THEMES, _WORDS_A_THEME, _STRANGE = 70, 7, 0.05
_LENGTHS = [0.04, 0.15, 0.355, 0.453, 0.002]
_VISTERMS_A_WORD, _SHOWING = 120, 0.165

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pictures:
    vectors: csr_array
    captions: csr_array


def draw_pictures(seed: int = 0, training: int = TRAINING) -> tuple[Pictures, Pictures]:
    """Pictures to learn from, and pictures to choose with."""
    rng = np.random.default_rng(seed)
    words = _captions(rng, training + VALIDATION)
    seen = np.stack([_visterms(rng, caption) for caption in _sayings(rng, words)])
    vectors = _tf_idf(seen)
    starts = np.concatenate([[0], np.cumsum([len(caption) for caption in words])]).astype(np.int32)
    said = np.ones(starts[-1], dtype=np.float32)
    captions = csr_array(
        (said, np.concatenate(words).astype(np.int32), starts), shape=(len(words), WORDS)
    )
    return (
        Pictures(vectors[:training], captions[:training]),
        Pictures(vectors[training:], captions[training:]),
    )


def _zipf(n: int, power: float, shift: float = 0) -> Floats:
    share = 1 / (np.arange(1, n + 1) + shift) ** power
    return share / share.sum()


def _captions(rng: np.random.Generator, pictures: int) -> list[NDArray[np.int64]]:
    common = _zipf(WORDS, 1.0, 2)
    chances = np.tile(_STRANGE * common, (_THEMES, 1))
    for theme in chances:
        own = rng.choice(WORDS, _WORDS_A_THEME, replace=False, p=common)
        theme[own] += (1 - _STRANGE) * _zipf(_WORDS_A_THEME, 0.9)
    themes, lengths = rng.integers(_THEMES, size=pictures), rng.choice(5, pictures, p=_LENGTHS) + 1
    return [
        np.sort(rng.choice(WORDS, length, replace=False, p=chances[theme]))
        for theme, length in zip(themes, lengths, strict=True)
    ]


def _sayings(rng: np.random.Generator, captions: list[NDArray[np.int64]]) -> list[Floats]:
    """How likely each visterm is in each picture, as running sums to draw from."""
    background = rng.permutation(_zipf(VISTERMS, 0.6))
    says = np.zeros((WORDS, VISTERMS))
    for word in says:
        word[rng.choice(VISTERMS, _VISTERMS_A_WORD, replace=False)] = _zipf(_VISTERMS_A_WORD, 0.5)
    return [
        np.cumsum((1 - _SHOWING) * background + _SHOWING * says[caption].mean(axis=0))
        for caption in captions
    ]


def _visterms(rng: np.random.Generator, chances: Floats) -> NDArray[np.int64]:
    """The first so many different visterms of a long draw."""
    drawn = np.searchsorted(chances, rng.random(4 * VISTERMS_A_PICTURE) * chances[-1])
    _, first = np.unique(drawn, return_index=True)
    return np.sort(drawn[np.sort(first)[:VISTERMS_A_PICTURE]])


def _tf_idf(seen: NDArray[np.int64]) -> csr_array:
    holding = np.bincount(seen[:TRAINING].ravel(), minlength=VISTERMS)
    values = np.log(TRAINING / np.maximum(holding, 0.5))[seen]
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    starts = np.arange(len(seen) + 1, dtype=np.int32) * VISTERMS_A_PICTURE
    entries = (values.astype(np.float32).ravel(), seen.astype(np.int32).ravel(), starts)
    return csr_array(entries, shape=(len(seen), VISTERMS))

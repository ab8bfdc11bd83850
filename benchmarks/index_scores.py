"""Scores such as a PAMIR map gives, drawn: most around or below zero, a few high, in albums.

Pictures come in albums of 60 on average (geometric), next to each other in order of id, as people
take them. An album is about four words, drawn by a Zipf-like popularity (the commonest word is in
some 12 % of the albums, the rarest of 256 in 0.5 %), each with a log-normal strength (sigma 0.5);
of its pictures seven in ten show the word, more or less strongly (log-normal, sigma 0.3). To every
score of every picture noise is added: normal, mean -0.1, deviation 0.15.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from visterm.index.score import Floats

WORDS_OF_AN_ALBUM = 4.0
PICTURES_OF_AN_ALBUM = 60.0
_CHUNK = 1 << 16


def popularity(words: int) -> npt.NDArray[np.float64]:
    """In what share of the albums each word is."""
    share = 1 / (np.arange(words) + 10.0)
    return np.minimum(WORDS_OF_AN_ALBUM * share / share.sum(), 0.5)


def draw(pictures: int, words: int, rng: np.random.Generator) -> Floats:
    """The rows of so many pictures."""
    rows = np.empty((pictures, words), np.float32)
    share = popularity(words).astype(np.float32)
    for first in range(0, pictures, _CHUNK):
        chunk = rows[first : first + _CHUNK]
        rng.standard_normal(dtype=np.float32, out=chunk)
        chunk *= 0.15
        chunk -= 0.1
        album = np.cumsum(rng.random(len(chunk)) < 1 / PICTURES_OF_AN_ALBUM)
        about = rng.random((album[-1] + 1, words), np.float32) < share
        strength = np.zeros(about.shape, np.float32)
        strength[about] = np.exp(0.5 * rng.standard_normal(int(about.sum()), np.float32))
        picture, word = np.nonzero(about[album])
        shown = rng.random(picture.size) < 0.7
        picture, word = picture[shown], word[shown]
        level = np.exp(0.3 * rng.standard_normal(picture.size, np.float32))
        chunk[picture, word] += strength[album[picture], word] * level
    return rows

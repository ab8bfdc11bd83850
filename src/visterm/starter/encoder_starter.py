"""A dual encoder in the starter's part: what its text side makes of words is where W begins.

A word's row is the encoder's vector of a few prompts around it, so pictures are ranked before
anybody has captioned one, and training moves only what captions teach. The words that are offered
are the starter's; any other has its row as soon as somebody asks for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.encoders import Encoder
from visterm.errors import VistermError
from visterm.files import write_whole
from visterm.starter.starter import Starter, load_starter
from visterm.text import Vocabulary

if TYPE_CHECKING:
    from visterm.calibration.calibration import Calibration

SPREAD = 0.25
"""The deviation of a word's values over pictures at large, as the shipped starter's are."""
LEAST_SPREAD = 1e-4
"""A cosine's deviation over pictures below which a word says nothing about them."""
_LEAST_PART = 0.25
"""Of the deviation of all values: what those below the middle have at least."""
_LEAST = 0.1
"""Of the usual deviation: a word that moves pictures less than this says nothing about them."""


@dataclass(frozen=True, eq=False)
class EncoderStarter(Starter):
    """An encoder's rows of words, for pictures of which some say what is usual.

    ``pictures`` are the vectors of some, at large; ``scale`` brings cosines to values as models
    have them.
    """

    encoder: Encoder
    pictures: NDArray[np.float32]
    scale: float

    def rows(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Rows of any words."""
        return np.float32(self.scale) * self.encoder.word_rows(words)

    def calibration(self, vocabulary: Vocabulary | None = None) -> Calibration:
        """By how far pictures lie above others: nobody has measured what cosines are worth."""
        from visterm.calibration.calibration import uncalibrated

        chosen = vocabulary or self.vocabulary
        known = [self.find(word) for word in chosen.words]
        weights = self.weights[[0 if number is None else number for number in known]]
        if new := [place for place, number in enumerate(known) if number is None]:
            weights[new] = self.rows([chosen.words[place] for place in new])
        means, deviations = usual_values(self.pictures @ weights.T)
        deviations = np.maximum(deviations, _LEAST * SPREAD)
        return replace(uncalibrated(means, deviations, -chosen.idf), is_known=True)

    def _unknown_rows(self, words: Sequence[str]) -> NDArray[np.float32]:
        return self.rows(words) if words else super()._unknown_rows(words)


def usual_values(
    values: NDArray[np.floating],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the values of pictures that do not show a word lie, word by word: middle and deviation.

    The median, and the deviation of those below it: pictures that show the word lie above.

    >>> plain = np.arange(9.0)
    >>> [float(one[0].round(1)) for one in usual_values(np.append(plain, [90.0, 95.0])[:, None])]
    [5.0, 8.6]
    """
    if not len(values):
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
    middle = np.median(values, axis=0).astype(np.float64)
    spread = values.std(axis=0, dtype=np.float64)
    below = np.minimum(values - middle.astype(values.dtype), 0)
    own = np.sqrt(2 * np.square(below, dtype=np.float64).mean(axis=0))
    return middle, np.clip(own, _LEAST_PART * spread, np.maximum(spread, 1e-12))


def encoder_starter(encoder: Encoder, key: str, pictures: NDArray[np.float32]) -> EncoderStarter:
    """The encoder as a starter for pictures like these; ``key`` is of their extractor."""
    vocabulary = load_starter().vocabulary
    rows = _word_rows(encoder, vocabulary.words)
    spreads = (pictures @ rows.T).std(axis=0) if len(pictures) else np.empty(0)
    # Words of which the encoder knows nothing would make the usual deviation that of rounding.
    varying = spreads[spreads > LEAST_SPREAD]
    scale = SPREAD / float(np.median(varying)) if varying.size else 1.0
    weights = np.float32(scale) * rows
    return EncoderStarter(vocabulary, weights, key, {}, encoder, pictures, scale)


def _word_rows(encoder: Encoder, words: Sequence[str]) -> NDArray[np.float32]:
    """Rows of the words that are offered, kept beside the encoder: thousands of texts take long."""
    said = json.dumps([words, encoder.manifest.prompts, encoder.manifest.digest])
    path = encoder.folder / f"words-{hashlib.sha256(said.encode()).hexdigest()[:16]}.npy"
    with contextlib.suppress(OSError, ValueError):
        rows = np.load(path, allow_pickle=False)
        if rows.shape == (len(words), encoder.dimensions):
            return np.asarray(rows, np.float32)
    rows = encoder.word_rows(words)
    with contextlib.suppress(VistermError):
        write_whole(path, lambda file: np.save(file, rows, allow_pickle=False))
    return rows

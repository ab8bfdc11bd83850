"""Words trained by PAMIR and by linear discriminants, and which of them can be seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from starter.class_weights import of_unit_spread
from starter.corpus import Corpus
from visterm.evaluation import evaluate_rows
from visterm.models import Pamir
from visterm.progress import Progress
from visterm.text import Relevance

Floats = NDArray[np.float32]

SEEN = 0.015
"""A word is kept where AvgP is above chance by this part of what it could be."""
JUDGED = 10
"""… on at least so many validation pictures."""
RIDGE = 1.0
"""λ of the discriminants, in mean variances: of ⅒ to 10 the best on Corel's and Flickr8k's
development pictures."""


def train_words(corpus: Corpus, parameters: dict[str, object], progress: Progress) -> Pamir:
    """PAMIR on the training pictures; validation pictures choose what there is to choose."""
    model = Pamir(**parameters)  # type: ignore[arg-type]
    teach, choose = corpus.training, corpus.validation
    return model.fit(
        corpus.vectors[teach],
        corpus.words[teach],
        validation=(corpus.vectors[choose], corpus.words[choose]),
        progress=progress,
    )


def retrain(corpus: Corpus, chosen: Pamir, progress: Progress) -> Pamir:
    """The same from training and validation pictures together, with what was chosen."""
    again = Pamir(**chosen.get_params() | chosen.decided())
    rows = corpus.development
    return again.fit(corpus.vectors[rows], corpus.words[rows], progress=progress)


def with_discriminants(corpus: Corpus, pictures: NDArray[np.int64], weights: Floats) -> Floats:
    """PAMIR's weights and the discriminants of the same pictures, half each on one scale.

    They rank pictures of another kind better together than either alone.
    """
    vectors = corpus.vectors[pictures]
    own = discriminants(vectors, corpus.words[pictures])
    both = of_unit_spread(weights, vectors) + of_unit_spread(own, vectors)
    return np.asarray(both / 2, np.float32)


def discriminants(vectors: Floats, words: csr_array) -> Floats:
    """Linear discriminants of all words: ``(Σ + λ·I)⁻¹ (m_t − m)``, one row a word."""
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    scatter = centred.T @ centred / len(centred)
    held = np.maximum(np.bincount(words.indices, minlength=words.shape[1]), 1)
    means = (words.T @ centred) / held[:, None]
    ridge = RIDGE * np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    return np.linalg.solve(scatter + ridge, means.T).T.astype(np.float32)


def word_quality(rows: Floats, words: csr_array) -> NDArray[np.float64]:
    """AvgP of each word asked alone; NaN where no picture has it."""
    asked = Relevance(csr_array(np.eye(rows.shape[1], dtype=np.float32)), csr_array(words.T))
    return evaluate_rows(rows, asked, ["AvgP"]).per_query["AvgP"]


def can_be_seen(
    avgp: NDArray[np.float64], words: csr_array, *, unjudged: bool = False
) -> NDArray[np.bool_]:
    """Which words rank pictures clearly better than chance; ``unjudged`` says of too few."""
    holding = np.bincount(words.indices, minlength=words.shape[1])
    chance = holding / words.shape[0]
    with np.errstate(invalid="ignore"):
        above = (avgp - chance) / (1 - chance) >= SEEN
    return np.where(holding >= JUDGED, above, unjudged)

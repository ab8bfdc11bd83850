"""How good the starter is: calibration on validation pictures, AvgP on test pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from starter.corpus import Corpus
from starter.joint_words import Joined
from starter.trained_words import can_be_seen, word_quality
from visterm.calibration.estimation import calibrate
from visterm.evaluation import mean_average_precision
from visterm.text import relevance_from_captions


def worth_keeping(corpus: Corpus, judged: Joined) -> NDArray[np.bool_]:
    """Words that can be seen on validation pictures, and those too rare there to tell."""
    words = _words_of(corpus, judged, corpus.validation)
    rows = corpus.vectors[corpus.validation] @ judged.weights.T
    return can_be_seen(word_quality(rows, words), words, unjudged=True)


def calibrated(corpus: Corpus, judged: Joined) -> dict[str, Any]:
    """What scores are worth, by pictures that nobody learnt from, as `Calibration.to_json`."""
    rows = corpus.vectors[corpus.validation] @ judged.weights.T
    words = _words_of(corpus, judged, corpus.validation)
    found = calibrate(rows, words, np.exp(-judged.vocabulary.idf)).to_json()
    return {name: _rounded(value) for name, value in found.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return np.round(value, 5).tolist() if isinstance(value, list) else value


def measured(corpus: Corpus, joined: Joined) -> dict[str, Any]:
    """AvgP on the test pictures: of each word that some of them have, of words, of pairs."""
    rows = (corpus.vectors[corpus.test] @ joined.weights.T).astype(np.float32)
    words = _words_of(corpus, joined, corpus.test)
    avgp = word_quality(rows, words)
    asked = relevance_from_captions(words, joined.vocabulary.idf, max_words=2)
    pairs = asked.take(np.flatnonzero(asked.words_per_query == 2))
    holding = np.bincount(words.indices, minlength=words.shape[1])
    there = holding > 0
    return {
        "avgp": {
            word: round(float(value), 4)
            for word, value, one in zip(joined.vocabulary.words, avgp, there, strict=True)
            if one
        },
        "test_words": int(there.sum()),
        "test_avgp_words": round(float(avgp[there].mean()), 4),
        "test_chance_words": round(float((holding[there] / len(rows)).mean()), 4),
        "test_pairs": len(pairs),
        "test_avgp_pairs": round(
            float(mean_average_precision(pairs.queries @ rows.T, pairs.pictures)), 4
        ),
    }


def _words_of(corpus: Corpus, joined: Joined, pictures: NDArray[np.int64]) -> csr_array:
    """Pictures × the joined words; a word that the corpus does not know holds of none."""
    spoken = np.flatnonzero(joined.numbers >= 0)
    chosen = corpus.words[pictures][:, joined.numbers[spoken]].tocoo()
    shape = (len(pictures), len(joined.numbers))
    return csr_array((chosen.data, (chosen.row, spoken[chosen.col])), shape=shape)

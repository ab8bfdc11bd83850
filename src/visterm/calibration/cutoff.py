"""From which probability on a match is good.

The threshold with the best F1 is half of that F1 (Z. Lipton et al., Optimal thresholding of
classifiers to maximize F1 measure, 2014). What F1 can be reached, the probability p of the best
match says: about ``2p / (1 + p)``, were it right and alone; a little more than a quarter of that
was best for one word, and about a third for several, which fewer pictures answer, on validation
pictures of Corel, IAPR TC-12 and Flickr8k. A match must also be likelier than hopeless, and than
any picture is that is drawn blindly; and one that is likelier than not is good whatever the best
one is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_SHARES = np.array([0.27, 0.31, 0.35])
"""The part of the F1 within reach, for queries of one, two, and three words and more."""
_LEVEL = 0.02
"""Below it no match is good."""
_MORE = 1.5
"""A good match is so many times likelier to answer than any picture."""
_SURE = 0.5
"""What is likelier than not is a good match."""


def probability_threshold(highest: ArrayLike, prior: ArrayLike, words: int = 1) -> Floats:
    """The probability from which a match is good, for the highest probabilities of some queries.

    ``prior`` is how many pictures in one have all ``words`` of the query, as far as their number
    says.

    >>> probability_threshold([0.9, 0.1, 0.01, 0.8], [0.01, 0.01, 0.01, 0.3]).round(2).tolist()
    [0.26, 0.05, 0.02, 0.45]
    >>> float(probability_threshold(0.9, 0.01, words=3).round(2))
    0.33
    """
    best = np.asarray(highest, float)
    share = _SHARES[min(max(words, 1), len(_SHARES)) - 1]
    wanted = share * 2 * best / (1 + best)
    least = np.maximum(_LEVEL, _MORE * np.asarray(prior, float))
    return np.minimum(np.maximum(least, wanted), _SURE)


def mean_f1(shown: NDArray[np.bool_], answers: NDArray[np.bool_]) -> float:
    """F1 of what is shown (queries × pictures), averaged over queries.

    >>> mean_f1(np.array([[True, True], [False, False]]), np.array([[True, False], [True, True]]))
    0.3333333333333333
    """
    hits = (shown & answers).sum(axis=1)
    both = shown.sum(axis=1) + answers.sum(axis=1)
    return float(np.mean(2 * hits / np.maximum(both, 1)))

"""Where the true caption of a picture stands, and the true picture of a caption: R@K, median rank.

Sets of captions hold equal ones, so "the true one" can be read two ways, and both are given:

- *equal captions count*: a caption equal to the true one is as true (case, punctuation and spacing
  aside). The rank is that of the best placed of them.
- *only its own*: the caption that was written for this very picture, and no other.

Equal scores stand in the order of the set, lower number first, as all measures have it: a model
that scores everything alike gets the order's rank, about the middle of the set on average.
``ties="last"`` gives the most severe reading instead: every wrong one with the same score stands
before the true one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.evaluation.ranking import as_scores, checked_gains, relevant_ranks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ranks = NDArray[np.int64]
Ties = Literal["order", "last"]
_WORD = re.compile(r"[a-z0-9]+")


def equal_captions(captions: Sequence[str], among: Sequence[str] | None = None) -> csr_array:
    """Which captions are equal, as ones in a sparse table: captions × captions (or × ``among``).

    >>> equal_captions(["A blue sky;", "a car", "a  blue sky"]).toarray().astype(int).tolist()
    [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    """
    from scipy.sparse import csr_array

    numbers: dict[str, int] = {}
    texts = list(captions) + (list(among) if among is not None else [])
    same = np.array([numbers.setdefault(_key(text), len(numbers)) for text in texts], np.int64)
    ones = np.ones(len(texts), np.float32)
    table = csr_array((ones, (np.arange(len(texts)), same)), shape=(len(texts), len(numbers)))
    left = table[: len(captions)]
    return csr_array(left @ (table[len(captions) :] if among is not None else left).T)


def _key(text: str) -> str:
    # Other scripts leave nothing to ROUGE's tokens, and must not all be equal for that.
    return " ".join(_WORD.findall(text.lower()) if text.isascii() else text.casefold().split())


def true_ranks(scores: ArrayLike, true: csr_array | None = None, ties: Ties = "order") -> Ranks:
    """The rank, from 1, of the best placed true output of each query.

    Parameters
    ----------
    scores : array of shape (Q, n)
    true : csr_array of shape (Q, n), optional
        Positive where an output is true, such as `equal_captions` gives; the output of the query's
        own number where not given. Every query needs one.
    ties
        See the top of this file.

    Examples
    --------
    >>> scores = [[0.5, 0.5, 0.1], [0.2, 0.2, 0.9], [0.1, 0.0, 0.7]]
    >>> true_ranks(scores).tolist(), true_ranks(scores, ties="last").tolist()
    ([1, 3, 1], [2, 3, 1])
    """
    from scipy.sparse import csr_array

    table = as_scores(scores)
    if true is None:
        if table.shape[0] > table.shape[1]:
            raise BadInput(f"{table.shape[0]} queries have no true one each in {table.shape[1]}")
        own = np.arange(len(table))
        true = csr_array((np.ones(len(table), np.float32), (own, own)), shape=table.shape)
    if ties not in ("order", "last"):
        raise BadInput(f"ties are broken by 'order' or put 'last', not {ties!r}")
    ranked = relevant_ranks(table, true)
    if not ranked.relevant.all():
        lacking = int(np.flatnonzero(ranked.relevant == 0)[0])
        raise BadInput(f"query {lacking} has no true output, so its rank cannot be measured")
    if ties == "order":
        return ranked.ranks[ranked.starts[:-1]]
    return _last_among_equals(table, checked_gains(true))


def _last_among_equals(scores: NDArray[np.floating], true: csr_array) -> Ranks:
    held = scores[np.repeat(np.arange(len(scores)), np.diff(true.indptr)), true.indices]
    best = np.maximum.reduceat(held, true.indptr[:-1])
    true_there = np.add.reduceat(
        (held == np.repeat(best, np.diff(true.indptr))).astype(np.int64), true.indptr[:-1]
    )
    return 1 + (scores >= best[:, None]).sum(axis=1, dtype=np.int64) - true_there


@dataclass(frozen=True)
class CaptionRanks:
    """The ranks of all queries, read both ways; a rank is counted from 1."""

    equal_count: Ranks
    only_own: Ranks

    def summary(self, at: Sequence[int] = (1, 5, 10, 50)) -> Mapping[str, dict[str, float]]:
        """R@K (the fraction of queries with a rank up to K) and the median rank, both ways.

        Examples
        --------
        >>> ranks = CaptionRanks(np.array([1, 2, 9]), np.array([1, 4, 9]))
        >>> ranks.summary([5])["only its own"]
        {'R@5': 0.6666666666666666, 'median rank': 4.0}
        """
        ways = {"equal captions count": self.equal_count, "only its own": self.only_own}
        return {
            way: {f"R@{k}": float(np.mean(ranks <= k)) for k in at}
            | {"median rank": float(np.median(ranks))}
            for way, ranks in ways.items()
        }


def caption_ranks(scores: ArrayLike, captions: Sequence[str], ties: Ties = "order") -> CaptionRanks:
    """Ranks where the true output of query i is number i, of captions or of pictures.

    Parameters
    ----------
    scores : array of shape (n, n)
        Pictures × captions, or captions × pictures: ``captions[i]`` belongs to picture i, so the
        equal ones are the same read from either side.
    captions : the n captions
    ties
        See the top of this file.

    Examples
    --------
    >>> scores = [[0.1, 0.2, 0.9], [0.0, 1.0, 0.1], [0.5, 0.9, 0.5]]
    >>> found = caption_ranks(scores, ["a sea", "a car", "a sea"])
    >>> found.equal_count.tolist(), found.only_own.tolist()
    ([1, 1, 2], [3, 1, 3])
    """
    table = as_scores(scores)
    if table.shape != (len(captions), len(captions)):
        raise BadInput(
            f"{len(captions)} captions need {len(captions)} × {len(captions)} scores, "
            f"not {' × '.join(map(str, table.shape))}"
        )
    return CaptionRanks(
        true_ranks(table, equal_captions(captions), ties), true_ranks(table, None, ties)
    )

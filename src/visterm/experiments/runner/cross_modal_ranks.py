"""Where the picture of a caption stands, and the best of a picture's captions: R@K both ways.

A picture may have several captions, five in Flickr8k: each of them asks for its picture, and for
a picture the best placed of its captions counts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.evaluation.caption_ranks import true_ranks
from visterm.experiments.runner.protocol import Protocol

AT = (1, 5, 10)
_SCORES_AT_ONCE = 2**24
Scores = Callable[[slice], NDArray[np.floating]]
"""Some queries × all answers."""


def cross_modal_ranks(rows: NDArray[np.float32], protocol: Protocol) -> dict[str, float]:
    """R@1, R@5, R@10 and the median rank of image retrieval and of annotation."""
    captions, owners = protocol.test.single_captions()
    queries = protocol.vocabulary.query_vectors(captions)
    own = csr_array(
        (np.ones(len(owners), np.float32), (np.arange(len(owners)), owners)),
        shape=(len(owners), len(rows)),
    )
    return ranks_both_ways(
        lambda part: queries[part] @ rows.T, lambda part: (queries @ rows[part].T).T, own
    )


def ranks_both_ways(to_pictures: Scores, to_captions: Scores, own: csr_array) -> dict[str, float]:
    """The same of scores, some captions or pictures at a time; ``own`` is captions × pictures.

    >>> scores = lambda some: np.eye(2)[some]
    >>> found = ranks_both_ways(scores, scores, csr_array(np.eye(2)))
    >>> found["image retrieval R@1"], found["annotation median rank"]
    (100.0, 1.0)
    """
    ways = {
        "image retrieval": ranks_in_blocks(to_pictures, own),
        "annotation": ranks_in_blocks(to_captions, csr_array(own.T)),
    }
    found: dict[str, float] = {}
    for way, ranks in ways.items():
        found |= {f"{way} R@{k}": round(100 * float(np.mean(ranks <= k)), 2) for k in AT}
        found[f"{way} median rank"] = float(np.median(ranks))
    return found


def ranks_in_blocks(scores: Scores, true: csr_array) -> NDArray[np.int64]:
    """The rank of the best placed true answer of each query, some queries at a time.

    >>> mirrored = np.eye(2)[::-1]
    >>> ranks_in_blocks(lambda part: mirrored[part], csr_array(np.eye(2))).tolist()
    [2, 2]
    """
    queries, answers = true.shape
    size = max(1, _SCORES_AT_ONCE // max(1, answers))
    parts = [slice(at, min(at + size, queries)) for at in range(0, queries, size)]
    return np.concatenate([true_ranks(scores(part), true[part]) for part in parts])

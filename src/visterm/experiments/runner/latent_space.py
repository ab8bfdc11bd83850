"""Pictures by what their visterms mean: coordinates in the space they share with words.

The visterms and words of training pictures stand side by side, ``[p | c]``, and a truncated SVD
finds the directions in which both vary most. A picture without a caption has coordinates by its
visterms alone, ``p V``, V the visterms' half of the right singular vectors. Visterms that go with
the same words come near to each other, which is what ten tokens a picture need most.

J.-Y. Pan, H.-J. Yang, P. Duygulu and C. Faloutsos, ICME 2004, use the same space to translate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from visterm.errors import BadInput
from visterm.matrices import unit_rows
from visterm.text.weighting import weigh_queries


def latent_rows(
    parts: Sequence[csr_array],
    captions: csr_array,
    idf: NDArray[np.float64],
    size: int,
) -> tuple[NDArray[np.float32], ...]:
    """Unit vectors of ``size`` numbers; the first part are the training pictures of the captions.

    >>> pictures = csr_array(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32))
    >>> captions = csr_array(np.array([[1.0, 0], [1, 0], [0, 1]]))  # two visterms of one word
    >>> (rows,) = latent_rows([pictures], captions, np.ones(2), size=2)
    >>> abs(rows @ rows.T).round(2)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    from scipy.sparse.linalg import svds

    words = weigh_queries(captions, idf)
    both = csr_array(hstack([parts[0], words], format="csr"), dtype=np.float64)
    if not 1 <= size < min(both.shape):
        raise BadInput(f"latent is a whole number from 1 to {min(both.shape) - 1}, not {size!r}")
    start = np.ones(min(both.shape)) / np.sqrt(min(both.shape))
    _, _, axes = svds(both, k=size, v0=start)
    towards = axes[:, : parts[0].shape[1]].T.astype(np.float32)
    rows = (part @ towards for part in parts)
    return tuple(unit_rows(each) for each in rows)

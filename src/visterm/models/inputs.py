"""What a model is given, checked once and brought to the few shapes the loops understand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from visterm.errors import BadInput
from visterm.kernels.vector_kernels import Vectors as Vectors
from visterm.kernels.vector_kernels import is_sparse as is_sparse
from visterm.text import Relevance

SMALLEST = 1e-18
"""Where all numbers are smaller, their squares are nothing in single precision."""
LARGEST = 1e9
"""Beyond it sums of products of four numbers, which some models need, leave single precision."""


def dense(vectors: ArrayLike | csr_array) -> NDArray[np.float32]:
    """The same vectors as a plain array.

    >>> dense(csr_array((1, 2)))
    array([[0., 0.]], dtype=float32)
    """
    return np.asarray(vectors.toarray() if is_sparse(vectors) else vectors, dtype=np.float32)


def stack(first: Vectors, second: Vectors) -> Vectors:
    """The pictures of both, first's first.

    >>> stack(np.zeros((1, 2)), np.ones((2, 2))).shape
    (3, 2)
    """
    if is_sparse(first) and is_sparse(second):
        return csr_array(vstack([first, second], format="csr"))
    return np.vstack([dense(first), dense(second)])


def finite_rows(values: ArrayLike | csr_array, what: str, otherwise: str) -> Vectors:
    """Check rows of numbers, one a picture: two dimensions, all finite.

    >>> finite_rows([[1, 2], [3, 4]], "vectors", "give numbers").dtype
    dtype('float32')
    """
    try:
        rows: Vectors = (
            csr_array(values, dtype=np.float32)
            if is_sparse(values)
            else np.ascontiguousarray(values, dtype=np.float32)
        )
    except (TypeError, ValueError):
        raise BadInput(f"{what} must be {otherwise}") from None
    if rows.ndim != 2:
        raise BadInput(f"{what} need two dimensions, one row a picture, not {rows.ndim}")
    numbers = rows.data if is_sparse(rows) else rows
    if not np.isfinite(numbers).all():
        raise BadInput(f"{what} hold NaN or infinite numbers; find and remove them first")
    largest = max(numbers.max(), -numbers.min()) if numbers.size else 0.0
    if largest > LARGEST:
        raise BadInput(f"{what} hold numbers beyond ±{LARGEST:.0e}; scale them down first")
    return rows if largest >= SMALLEST else rows * np.float32(0)  # lengths of these would be zero


def picture_vectors(X: ArrayLike | csr_array, *, width: int | None = None) -> Vectors:
    """Check picture vectors: two dimensions, finite numbers, and the width a fitted model knows.

    >>> picture_vectors([[1, 2], [3, 4]]).dtype
    dtype('float32')
    """
    numbers = "numbers, one row a picture; run an extractor on the pictures first"
    vectors = finite_rows(X, "picture vectors", numbers)
    if is_sparse(vectors) and not vectors.has_canonical_format:
        vectors = vectors.copy()
        vectors.sum_duplicates()
    if vectors.shape[0] == 0 or vectors.shape[1] == 0:
        raise BadInput(f"no picture vectors: the shape is {vectors.shape}")
    if width is not None and vectors.shape[1] != width:
        raise BadInput(
            f"the model learnt from vectors of {width} numbers, these have {vectors.shape[1]}; "
            "use the same extractor for both"
        )
    return vectors


def word_matrix(Y: ArrayLike | csr_array, pictures: int, *, words: int | None = None) -> csr_array:
    """Check captions given as pictures × words: one row a picture, no negative or broken entry.

    >>> word_matrix([[0, 1], [2, 0]], pictures=2).nnz
    2
    """
    try:
        captions = csr_array(Y) if is_sparse(Y) else csr_array(np.atleast_2d(np.asarray(Y, float)))
    except (TypeError, ValueError):
        raise BadInput(
            "captions must be a pictures × words matrix of counts; Vocabulary.counts makes one"
        ) from None
    if captions.shape[0] != pictures:
        raise BadInput(f"{pictures} picture vectors but {captions.shape[0]} captions; pair them up")
    if words is not None and captions.shape[1] != words:
        raise BadInput(f"the model knows {words} words, these captions use {captions.shape[1]}")
    if not np.isfinite(captions.data).all() or (captions.data < 0).any():
        raise BadInput("captions hold NaN, infinite or negative counts")
    captions = captions.astype(np.float32)
    captions.eliminate_zeros()
    if captions.nnz == 0:
        raise BadInput("every caption is empty: there is nothing to learn from")
    captions.sum_duplicates()
    return captions


def caption_words(Y: Relevance | ArrayLike | csr_array, pictures: int) -> csr_array:
    """Check captions to learn from: words, not `Relevance`, and not the same everywhere."""
    if isinstance(Y, Relevance):
        raise BadInput(
            "this model learns from captions (pictures × words), not from Relevance; "
            "Vocabulary.counts makes them, and Pamir learns from Relevance"
        )
    captions = word_matrix(Y, pictures)
    holding = np.bincount(captions.indices, minlength=captions.shape[1])
    if ((holding == 0) | (holding == pictures)).all():
        raise BadInput(
            "no word tells pictures apart: each is in every caption or in none; "
            "give captions that differ"
        )
    return captions


def relevance_for(Y: Relevance, pictures: int, *, words: int | None = None) -> Relevance:
    """Check relevance given for these pictures."""
    if Y.pictures.shape[1] != pictures:
        raise BadInput(
            f"relevance speaks of {Y.pictures.shape[1]} pictures, but there are {pictures} vectors"
        )
    if words is not None and Y.queries.shape[1] != words:
        raise BadInput(f"the model knows {words} words, these queries use {Y.queries.shape[1]}")
    if not np.isfinite(Y.queries.data).all():
        raise BadInput("query vectors hold NaN or infinite numbers")
    return Y


def square_table(table: Vectors) -> Vectors:
    """A checked table of pictures with themselves."""
    n, m = table.shape
    if n != m:
        raise BadInput(
            "a precomputed kernel is a square table of the training pictures with each other, "
            f"not {n} × {m}"
        )
    gap = abs(table - table.T).max()
    if gap > 1e-3 * abs(table).max():
        raise BadInput("the precomputed kernel is not symmetric: rows and columns need one order")
    return table


def csr_arrays(name: str, matrix: csr_array) -> dict[str, NDArray[Any]]:
    """Compressed rows as fitted attributes, ``name_data_``, ``name_columns_``, ``name_starts_``.

    >>> [*csr_arrays("texts", csr_array([[0.0, 2.0]]))]
    ['texts_data_', 'texts_columns_', 'texts_starts_']
    """
    return {
        f"{name}_data_": matrix.data,
        f"{name}_columns_": matrix.indices.astype(np.int32),
        f"{name}_starts_": matrix.indptr.astype(np.int64),
    }


def csr_from(model: object, name: str, width: int) -> csr_array:
    """The matrix that `csr_arrays` made attributes of."""
    data, columns, starts = (
        getattr(model, f"{name}_{part}_") for part in ("data", "columns", "starts")
    )
    return csr_array((data, columns, starts), shape=(len(starts) - 1, width))

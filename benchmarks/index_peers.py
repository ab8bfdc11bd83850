"""The peers of the index, each a function from a query to its best pictures, on one thread."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from visterm.index import Index
from visterm.index.score import Floats, Integers

K = 20
_FAISS_ROWS = 2_000_000
_TOGETHER = 1 << 16

Search = Callable[[Integers, Floats], object]


class Peer(NamedTuple):
    """How to ask a peer, and by how much its time must be multiplied for the whole index."""

    search: Search
    times: float
    note: str


def words_of(index: Index, words: Integers) -> Floats:
    """The exact values of some words over all pictures, one contiguous row a word."""
    columns = np.empty((words.size, len(index)), np.float32)
    for first in range(0, len(index), _TOGETHER):
        some = np.arange(first, min(first + _TOGETHER, len(index)))
        columns[:, some] = index.values(words, some).T
    return columns


def numpy_peer(columns: Floats, words: Integers) -> Peer:
    """The product of the query's columns, then argpartition."""

    def search(asked: Integers, weights: Floats) -> Integers:
        rows = np.searchsorted(words, asked)
        total = weights[0] * columns[rows[0]]
        for row, weight in zip(rows[1:], weights[1:], strict=True):
            total += weight * columns[row]
        best = np.argpartition(total, total.size - K)[-K:]
        return best[np.argsort(-total[best])]

    return Peer(search, 1, "float32 columns of the query's words in memory, argpartition")


def scipy_peer(columns: Floats, words: Integers) -> Peer:
    """A sparse matrix of the positive scores, one row a word, so that taking words is cheap."""
    sparse = importlib.import_module("scipy.sparse")
    matrix = sparse.csr_array(np.maximum(columns, 0))

    def search(asked: Integers, weights: Floats) -> Integers:
        total = matrix[np.searchsorted(words, asked)].T @ weights
        some = np.flatnonzero(total)  # argpartition is very slow among many zeros.
        best = some[np.argpartition(total[some], some.size - K)[-K:]]
        return best[np.argsort(-total[best])]

    return Peer(search, 1, "csr_array of the positive scores only, argpartition of what is not 0")


def bm25s_peer(columns: Floats, words: Integers) -> Peer:
    """bm25s with its numba backend over the positive scores; it knows no weights of query words."""
    bm25s = importlib.import_module("bm25s")
    matrix = importlib.import_module("scipy.sparse").csc_array(np.maximum(columns, 0).T)
    retriever = bm25s.BM25(backend="numba")
    retriever.scores = {
        "data": matrix.data,
        "indices": matrix.indices.astype(np.int32),
        "indptr": matrix.indptr.astype(np.int64),
        "num_docs": matrix.shape[0],
    }
    retriever.unique_token_ids_set = set(range(words.size))
    retriever.nonoccurrence_array = None

    def search(asked: Integers, weights: Floats) -> object:
        query = [np.searchsorted(words, asked).tolist()]
        return retriever.retrieve(query, k=K, show_progress=False)

    return Peer(search, 1, "numba backend, the positive scores only, all weights 1")


def faiss_peer(index: Index) -> Peer:
    """Flat inner product over the dense rows, as many as leave room for the others."""
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(1)
    count = min(len(index), _FAISS_ROWS)
    flat = faiss.IndexFlatIP(index.words)
    for first in range(0, count, 100_000):
        flat.add(index.rows(np.arange(first, min(first + 100_000, count))))

    def search(asked: Integers, weights: Floats) -> object:
        vector = np.zeros((1, index.words), np.float32)
        vector[0, asked] = weights
        return flat.search(vector, K)

    times = len(index) / count
    note = "IndexFlatIP, all rows" if times == 1 else f"IndexFlatIP, {count} rows, time x {times:g}"
    return Peer(search, times, note)

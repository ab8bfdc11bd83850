"""A model as the papers run it: parameters chosen on validation pictures, then everything indexed
once, with what was chosen."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.estimator import clone
from visterm.evaluation import evaluate_rows, slices
from visterm.experiments.runner.protocol import Protocol
from visterm.experiments.runner.runs import Extracted, Outcome, Seconds, choose, chosen_by
from visterm.models import Model
from visterm.models.inputs import stack
from visterm.progress import Progress, silent
from visterm.text import Relevance


@dataclass(frozen=True)
class RankedRun:
    """The test pictures as a model maps them, and what the model is worth."""

    rows: NDArray[np.float32]
    outcome: Outcome


@dataclass(frozen=True)
class IndexedModel(RankedRun):
    """The same with the model, which learnt from all development pictures."""

    model: Model


def choose_and_index(
    protocol: Protocol,
    vectors: Extracted,
    model: Model,
    seconds: Seconds,
    *,
    training_only: bool = False,
    progress: Progress = silent,
) -> IndexedModel:
    """Choose on validation pictures, learn from all development pictures, map and rank the test.

    With ``training_only`` the validation pictures choose, and are not learnt from. Indexing is what
    the TPAMI paper calls so: one training with the parameters chosen, and the mapping of the test
    pictures; features and choosing are not in it. Retrieval is scoring and sorting all test
    pictures, one query after another.
    """
    chooser = clone(model).set_params(retrain=False)
    with seconds.on("choosing"):
        choose(protocol, chooser, (vectors.training, vectors.validation), progress)
    learner = settled(chooser)
    train, held = protocol.split
    numbers, everything = train, vectors.training
    if not training_only:
        numbers = np.concatenate([train, held])
        everything = stack(vectors.training, vectors.validation)
    begin = time.process_time()
    with seconds.on("indexing"):
        learner.fit(everything, protocol.captions[numbers], progress=progress)
        rows = learner.transform(vectors.test)
    # Of all cores together: what a busy machine, or a second core, changes least.
    seconds.spent["indexing, processor"] = time.process_time() - begin
    relevance = protocol.test_relevance
    with seconds.on("retrieval"):
        rank_all(rows, relevance)
    outcome = outcome_of(protocol, rows, seconds, chosen_by(chooser), training_only)
    return IndexedModel(rows, outcome, learner)


def outcome_of(
    protocol: Protocol,
    rows: NDArray[np.float32],
    seconds: Seconds,
    chosen: dict[str, Any],
    training_only: bool = False,
) -> Outcome:
    """What test pictures that are mapped to these rows are worth.

    A query is unseen where no picture that was learnt from answers it.
    """
    relevance = protocol.test_relevance
    seen = protocol.seen_in_training if training_only else protocol.seen_queries
    return Outcome(evaluate_rows(rows, relevance), slices(relevance, seen), seconds, chosen)


def settled(model: Model) -> Model:
    """A fresh model whose parameters are what a fit with validation pictures chose.

    >>> from visterm.models import Cmtt
    >>> chooser = Cmtt(n_components=1).fit([[2.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]])
    >>> chooser.n_components_ = 10  # as a fit with validation pictures leaves it
    >>> settled(chooser).n_components
    10
    """
    fresh: Model = clone(model).set_params(**model.decided())
    return fresh


def rank_all(rows: NDArray[np.float32], relevance: Relevance) -> NDArray[np.int64]:
    """The best picture of every query, each found as a user's query would be: scores, then a sort.

    >>> from scipy.sparse import csr_array
    >>> words = csr_array(np.eye(2, dtype=np.float32))
    >>> rank_all(np.float32([[0, 1], [1, 0]]), Relevance(words, words)).tolist()
    [1, 0]
    """
    by_word = np.ascontiguousarray(rows.T)
    queries = relevance.queries
    best = np.empty(len(relevance), dtype=np.int64)
    for query in range(len(relevance)):
        part = slice(queries.indptr[query], queries.indptr[query + 1])
        scores = queries.data[part] @ by_word[queries.indices[part]]
        best[query] = np.argsort(-scores, kind="stable")[0]
    return best

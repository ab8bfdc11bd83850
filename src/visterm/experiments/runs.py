"""One run: a model learns, maps the test pictures, and is measured; and what everything took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.estimator import clone
from visterm.evaluation import Evaluation, evaluate_rows, slices
from visterm.evaluation.caption_ranks import true_ranks
from visterm.evaluation.significance import interval, resampled_means
from visterm.experiments.protocol import Protocol
from visterm.features.extractor import Rows
from visterm.models import Model
from visterm.models.inputs import stack
from visterm.models.pairs import PairModel
from visterm.progress import Progress, silent
from visterm.text import Relevance

Fitted = TypeVar("Fitted", bound=Model)
Scores = Callable[[slice], NDArray[np.floating]]
"""Some queries × all answers."""
RECALLED_AT = (1, 5, 10)
_SCORES_AT_ONCE = 2**24


@dataclass
class Seconds:
    """Wall-clock seconds by what they were spent on."""

    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - begin

    def to_json(self) -> dict[str, float]:
        rounded = {what: round(seconds, 2) for what, seconds in self.spent.items()}
        return rounded | {"total": round(sum(self.spent.values()), 2)}


@dataclass(frozen=True)
class Extracted:
    """Vectors of a protocol's pictures: training, validation, test."""

    training: Rows
    validation: Rows
    test: Rows


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    evaluation: Evaluation
    slices: dict[str, NDArray[np.bool_]]
    seconds: Seconds
    chosen: dict[str, Any]
    ranks: dict[str, float] | None = None
    """R@K and median ranks of captions and of pictures, where they were asked for."""
    resampled: NDArray[np.float64] | None = None
    """Mean AvgP on other pictures drawn from the test pictures, where models are compared."""

    def part(self, name: str) -> Evaluation:
        """The evaluation of one slice of the queries, or of "all"."""
        return self.evaluation if name == "all" else self.evaluation.slice(self.slices[name])

    def to_json(self) -> dict[str, Any]:
        """Percentages, over all queries and by slice."""
        by_slice = {
            name: percent(self.part(name)) | {"queries": int(mask.sum())}
            for name, mask in self.slices.items()
        }
        ranks = {} if self.ranks is None else {"ranks": self.ranks}
        return {
            **percent(self.evaluation),
            **ranks,
            **self._interval(),
            "queries": len(self.evaluation),
            "slices": by_slice,
            "chosen": self.chosen,
            "seconds": self.seconds.to_json(),
        }

    def _interval(self) -> dict[str, list[float]]:
        if self.resampled is None:
            return {}
        return {"interval_95": interval_95(self.evaluation, self.resampled)}


class RankedRun(NamedTuple):
    """The test pictures as a model maps them, and what the model is worth."""

    rows: NDArray[np.float32]
    outcome: Outcome
    tried: dict[str, float]
    """AvgP on validation pictures of each way that was tried."""


def percent(evaluation: Evaluation) -> dict[str, float]:
    """Means in percent, two decimals."""
    return {name: round(100 * value, 2) for name, value in evaluation.mean().items()}


def interval_95(evaluation: Evaluation, resampled: NDArray[np.float64]) -> list[float]:
    """The confidence interval of mean AvgP over the pictures, in percent."""
    return [round(100 * value, 2) for value in interval(evaluation.mean()["AvgP"], resampled)]


def run(
    protocol: Protocol,
    vectors: Extracted,
    model: Model,
    seconds: Seconds,
    *,
    ranks: bool = False,
    progress: Progress = silent,
) -> Outcome:
    """Fit with validation, map the test pictures, rank them for every test query; with ``ranks``
    also for every test caption, and the captions for every picture."""
    with seconds.on("training"):
        if "validation" in signature(model.fit).parameters:
            choose(protocol, model, (vectors.training, vectors.validation), progress)
        else:  # one's own model that chooses nothing learns from all pictures at once
            everything = stack(vectors.training, vectors.validation)
            model.fit(everything, protocol.captions[np.concatenate(protocol.split)])
    with seconds.on("mapping"):
        rows = mapped(model, vectors.test)
    relevance = protocol.test_relevance
    with seconds.on("ranking"):
        asked = asked_of(model, relevance)
        measured = replace(evaluate_rows(rows, asked), words=relevance.words_per_query)
        resampled = resampled_means(rows, asked)
        both_ways = cross_modal_ranks(model, rows, protocol) if ranks else None
    parts = slices(relevance, protocol.seen_queries)
    return Outcome(measured, parts, seconds, chosen_by(model), both_ways, resampled)


def choose(
    protocol: Protocol, model: Fitted, vectors: Sequence[Rows], progress: Progress = silent
) -> Fitted:
    """Fit to the rows of the training pictures; those of the validation pictures choose."""
    train, held = (
        (rows, protocol.captions[numbers])
        for rows, numbers in zip(vectors, protocol.split, strict=False)
    )
    model.fit(*train, validation=held, progress=progress)
    return model


def index(
    protocol: Protocol,
    vectors: Extracted,
    chooser: Model,
    seconds: Seconds,
    *,
    training_only: bool = False,
    progress: Progress = silent,
) -> RankedRun:
    """Learn from all development pictures with what a chooser chose; map and rank the test ones.

    With ``training_only`` the validation pictures chose, and are not learnt from. Indexing is what
    the TPAMI paper calls so: one training with the parameters chosen, and the mapping of the test
    pictures; features and choosing are not in it. Retrieval is scoring and sorting all test
    pictures, one query after another.
    """
    learner = settled(chooser)
    train, held = protocol.split
    numbers, everything = train, vectors.training
    if not training_only:
        numbers = np.concatenate([train, held])
        everything = stack(vectors.training, vectors.validation)
    if "n_jobs" in learner.get_params():
        learner.set_params(n_jobs=1)  # the clock below does not see the work of other processes
    begin = time.process_time()
    with seconds.on("indexing"):
        learner.fit(everything, protocol.captions[numbers], progress=progress)
        rows = learner.transform(vectors.test)
    # Of all threads together: what a busy machine changes least.
    seconds.spent["indexing, processor"] = time.process_time() - begin
    with seconds.on("retrieval"):
        rank_all(rows, protocol.test_relevance)
    outcome = outcome_of(protocol, rows, seconds, chosen_by(chooser), training_only)
    return RankedRun(rows, outcome, {})


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


def chosen_by(model: Model) -> dict[str, Any]:
    """What validation pictures decided, by the names of the parameters, and their AvgP."""
    chosen = model.decided() if hasattr(model, "decided") else {}
    chosen |= {"validation": model.validation_} if hasattr(model, "validation_") else {}
    if beyond := list(getattr(model, "extended_", ())):
        chosen["beyond_the_grid"] = beyond
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in chosen.items()
        if not isinstance(value, np.ndarray)  # such as a C for each word
    }


def rank_all(rows: NDArray[np.float32], relevance: Relevance) -> NDArray[np.int64]:
    """The best picture of every query, each found as a user's query would be: scores, then a sort.

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


def mapped(model: Model, pictures: Rows) -> NDArray[np.float32]:
    """Rows whose products with those of queries are a model's own F.

    Models of pairs have a space of their own: their ``transform`` leaves out what the mean text
    would score.
    """
    rows = model.picture_rows(pictures) if _has_own_f(model) else model.transform(pictures)
    return np.asarray(rows, dtype=np.float32)


def asked_of(model: Model, relevance: Relevance) -> Relevance:
    """The same queries as a model's own F takes them."""
    if not _has_own_f(model):
        return relevance
    return Relevance(csr_array(_texts(model, relevance.queries)), relevance.pictures)


def _has_own_f(model: Model) -> bool:
    return isinstance(model, PairModel) and hasattr(model, "text_mean_")


def _texts(model: Model, queries: csr_array) -> NDArray[np.float32] | csr_array:
    return model.text_rows(queries) if _has_own_f(model) else queries


def cross_modal_ranks(
    model: Model | None, rows: NDArray[np.float32], protocol: Protocol
) -> dict[str, float]:
    """R@1, R@5, R@10 and the median rank of image retrieval and of annotation.

    A picture may have several captions, five in Flickr8k: each of them asks for its picture, and
    for a picture the best placed of its captions counts.
    """
    captions, owners = protocol.test.single_captions()
    queries = protocol.vocabulary.query_vectors(captions)
    asked = queries if model is None else _texts(model, queries)
    own = csr_array(
        (np.ones(len(owners), np.float32), (np.arange(len(owners)), owners)),
        shape=(len(owners), len(rows)),
    )
    return ranks_both_ways(
        lambda part: asked[part] @ rows.T, lambda part: (asked @ rows[part].T).T, own
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
        found |= {f"{way} R@{k}": round(100 * float(np.mean(ranks <= k)), 2) for k in RECALLED_AT}
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

"""Measure a whole set of queries at once, and keep what every single query gave.

What is relevant comes in the forms that people have it (`gains_of`); `slices` are kinds of queries
that the papers look at apart: by words, by answers, by what training held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.evaluation.measures import measure
from visterm.evaluation.ranking import RelevantRanks, as_scores, relevant_ranks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from visterm.text.relevance import Relevance


Answers: TypeAlias = Iterable[int] | Mapping[int, float]
"""Pictures that answer a query, or their gains."""

Qrels: TypeAlias = (
    "csr_array | ArrayLike | Relevance | Mapping[int, Answers] | Mapping[str, Answers]"
    " | Sequence[set[int]]"
)


def gains_of(qrels: Qrels, shape: tuple[int, ...]) -> csr_array:
    """Gains, queries × pictures, of the shape the scores have.

    >>> gains_of({0: {2}, 1: {0: 3.0}}, (2, 3)).toarray().tolist()
    [[0.0, 0.0, 1.0], [3.0, 0.0, 0.0]]
    """
    from scipy.sparse import csr_array, issparse

    given: Any = getattr(qrels, "pictures", qrels)  # of a Relevance, its gains
    if issparse(given):
        return csr_array(given)
    if isinstance(given, Mapping):
        return _gathered(_by_row(given, shape[0]), shape)
    if isinstance(given, Sequence) and any(isinstance(one, set | frozenset) for one in given):
        named = {f"query {row}": answers for row, answers in enumerate(given)}
        return _gathered(_by_row(named, shape[0]), shape)
    try:
        return csr_array(np.asarray(given, dtype=np.float32))
    except (TypeError, ValueError) as error:
        raise BadInput(
            "qrels are gains, queries × pictures, or a set of pictures for each query, as in "
            f"[{{0, 3}}, {{2}}] ({error})"
        ) from error


def _by_row(qrels: Mapping[Any, Answers], queries: int) -> dict[int, Answers]:
    """The answers of each row of the scores; a row that numbered queries leave out has none."""
    if all(isinstance(query, int | np.integer) for query in qrels):
        strange = next((query for query in qrels if not 0 <= query < queries), None)
        if strange is not None:
            raise BadInput(f"qrels speak of query {strange}, but scores have {queries} rows")
        return {int(query): answers for query, answers in qrels.items()}
    if len(qrels) != queries:
        raise BadInput(
            f"qrels are of {len(qrels)} queries, but scores have {queries} rows; give one for "
            "each in their order, or number the queries"
        )
    return dict(enumerate(qrels.values()))


def _gathered(answers: Mapping[int, Answers], shape: tuple[int, ...]) -> csr_array:
    from scipy.sparse import csr_array

    gains = {
        (query, picture): float(one[picture]) if isinstance(one, Mapping) else 1.0
        for query, one in answers.items()
        for picture in one
    }
    for query, picture in gains:
        if not isinstance(picture, int | np.integer) or not 0 <= picture < shape[1]:
            raise BadInput(
                f"query {query} is answered by picture {picture!r}, but pictures are the columns "
                f"of the scores, 0 to {shape[1] - 1}"
            )
    places = np.array(list(gains), np.int64).reshape(-1, 2)
    values = np.array(list(gains.values()), np.float32)
    return csr_array((values, (places[:, 0], places[:, 1])), shape=shape)


PAPERS = ("AvgP", "BEP", "P@10")
_SCORES_AT_ONCE = 2**24  # 64 MB of float32 a chunk


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What every query gave, in the order of the relevance's queries.

    A query without a relevant picture cannot be measured: its results are NaN, it is left out of
    every summary and comparison, and ``skipped`` counts it.

    Attributes
    ----------
    per_query : dict of str to array of shape (Q,)
        Results by the name of the measure, as fractions (ranks for ``median rank``).
    relevant : array of shape (Q,)
        The number of relevant pictures of each query.
    words : array of shape (Q,), optional
        The number of words of each query, where what was measured against says it.
    """

    per_query: dict[str, NDArray[np.float64]]
    relevant: NDArray[np.int64]
    words: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.relevant)

    def __repr__(self) -> str:
        """The means, to be read in a notebook.

        >>> Evaluation({"AvgP": np.array([1.0, 0.5])}, np.array([3, 1]))
        Evaluation(2 queries, AvgP 75.0)
        """
        ranks = {name for name in self.per_query if measure(name).is_rank}
        means = (
            f"{name} {value if name in ranks else 100 * value:.1f}"
            for name, value in self.mean().items()
        )
        return f"Evaluation({', '.join([f'{len(self)} queries', *means])})"

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Which queries have a relevant picture."""
        return self.relevant > 0

    @property
    def skipped(self) -> int:
        """How many queries have no relevant picture and so could not be measured."""
        return int(np.count_nonzero(~self.measured))

    def mean(self) -> dict[str, float]:
        """One number a measure over the measured queries, NaN where there are none.

        It is the mean, except for ``median rank``, which is a median by name.
        """
        kept = self.measured
        return {
            name: measure(name).summarise(values[kept]) for name, values in self.per_query.items()
        }

    def slice(self, mask: ArrayLike) -> Evaluation:
        """The same results for the queries where ``mask`` is true.

        >>> every = Evaluation({"AvgP": np.array([1.0, 0.5])}, np.array([3, 1]), np.array([1, 2]))
        >>> every.slice(every.relevant >= 3).mean()
        {'AvgP': 1.0}
        """
        chosen = np.asarray(mask)
        if chosen.dtype != np.bool_ or chosen.shape != (len(self),):
            raise BadInput(
                f"a slice needs one true or false for each of the {len(self)} queries; "
                f"got {chosen.dtype} of shape {chosen.shape}"
            )
        per_query = {name: values[chosen] for name, values in self.per_query.items()}
        words = None if self.words is None else self.words[chosen]
        return Evaluation(per_query, self.relevant[chosen], words)


def evaluate(scores: ArrayLike, qrels: Qrels, measures: Iterable[str] = PAPERS) -> Evaluation:
    """Measure rankings given as scores, queries × pictures, whatever made them.

    Parameters
    ----------
    scores : array of shape (Q, n)
    qrels : array or csr_array of shape (Q, n), Relevance, mapping, or list of collections
        What is relevant: gains (positive where a picture answers a query), or for each query the
        pictures that do, as a collection of their columns or a mapping of columns to gains.
        The keys of a mapping of queries are rows of the scores, or names in the order of the rows.
    measures : names, default the three of the PAMIR papers
        See :func:`visterm.evaluation.measures.measure`.

    Examples
    --------
    >>> scores = [[0.2, 0.9, 0.1], [0.3, 0.2, 0.6]]
    >>> evaluate(scores, {"sea": {1}, "snow": {0, 1}}, ["AvgP", "RR"]).mean()
    {'AvgP': 0.7916666666666666, 'RR': 0.75}
    >>> evaluate(scores, [[0, 1, 0], [1, 1, 0]], "RR").per_query
    {'RR': array([1. , 0.5])}
    """
    names = _checked(measures)
    table = as_scores(scores)
    words = getattr(qrels, "words_per_query", None)
    return _measured([relevant_ranks(table, gains_of(qrels, table.shape))], names, words)


def evaluate_rows(
    rows: ArrayLike,
    relevance: Relevance,
    measures: Iterable[str] = PAPERS,
    *,
    chunk: int | None = None,
) -> Evaluation:
    """Rank the pictures for every query by ``queries · rows`` and measure the rankings.

    Parameters
    ----------
    rows : array of shape (n, T)
        Pictures in the text space, as a model's ``transform`` gives them. Besides one transposed
        copy of them (none if they are column-ordered), only a chunk of scores is held at a time.
    relevance : Relevance
        The queries and the pictures that answer them.
    measures : names, default the three of the PAMIR papers
        See :func:`visterm.evaluation.measures.measure`.
    chunk : int, optional
        Queries scored at a time, by default as many as fit in 64 MB. The results do not depend
        on it.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from visterm.text import Relevance
    >>> words = csr_array(np.eye(2, dtype=np.float32))
    >>> relevance = Relevance(words, csr_array(np.float32([[1, 0, 0], [0, 1, 1]])))
    >>> evaluate_rows([[1, 0], [0, 1], [0.5, 0]], relevance, ["AvgP", "P@1"]).mean()
    {'AvgP': 0.9166666666666666, 'P@1': 1.0}
    """
    names = _checked(measures)
    columns = _columns(rows, relevance)
    size = max(1, _SCORES_AT_ONCE // max(1, columns.shape[1])) if chunk is None else chunk
    if size < 1:
        raise BadInput(f"chunk must be 1 or more queries, not {chunk}")
    queries, pictures = relevance.queries.astype(np.float32), relevance.pictures
    parts = [
        relevant_ranks(queries[start : start + size] @ columns, pictures[start : start + size])
        for start in range(0, queries.shape[0], size)
    ]
    return _measured(parts, names, relevance.words_per_query)


def _checked(measures: Iterable[str]) -> list[str]:
    if isinstance(measures, str):
        measures = [measures]
    # A wrong name should be refused before minutes of scoring, not after.
    return [measure(name).name for name in measures]


def _columns(rows: ArrayLike, relevance: Relevance) -> NDArray[np.float32]:
    try:
        table = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise BadInput(f"rows must be a dense array, pictures × words ({error})") from error
    expected = (relevance.pictures.shape[1], relevance.queries.shape[1])
    if table.shape != expected:
        raise BadInput(
            f"rows have shape {table.shape} but the relevance speaks of {expected[0]} pictures "
            f"and {expected[1]} words; map exactly those pictures into that text space"
        )
    return np.ascontiguousarray(table.T)


def _measured(
    parts: Sequence[RelevantRanks], names: list[str], words: NDArray[np.int64] | None
) -> Evaluation:
    relevant = np.concatenate([np.empty(0, np.int64), *(part.relevant for part in parts)])
    if not relevant.any():
        raise BadInput(
            f"none of the {len(relevant)} queries has a relevant picture, "
            "so there is nothing to measure; check that relevance and pictures belong together"
        )
    per_query = {name: np.full(len(relevant), np.nan) for name in names}
    chosen = [(measure(name), per_query[name]) for name in names]
    query = 0
    for part in parts:
        for ranks, gains in part:
            if len(ranks):
                for one, values in chosen:
                    values[query] = one(ranks, gains)
            query += 1
    return Evaluation(per_query, relevant, words)


EASY = 3  # relevant pictures, after Grangier and Bengio, TPAMI 2008


def slices(relevance: Relevance, seen: ArrayLike | None = None) -> dict[str, NDArray[np.bool_]]:
    """A mask over the queries for each slice, to be given to ``Evaluation.slice``.

    ``single`` and ``multi`` count the words, ``easy`` queries have three relevant pictures or more
    and ``difficult`` ones fewer. With the mask ``seen`` (see :func:`seen_queries`) there are
    ``seen`` and ``unseen`` too.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from visterm.text import Relevance
    >>> words = csr_array(np.float32([[1, 0], [1, 1]]))
    >>> relevance = Relevance(words, csr_array(np.float32([[1, 1, 1], [1, 0, 0]])))
    >>> {name: mask.tolist() for name, mask in slices(relevance).items()}
    {'single': [True, False], 'multi': [False, True],
     'easy': [True, False], 'difficult': [False, True]}
    """
    words = np.diff(relevance.queries.indptr)
    easy = np.diff(relevance.pictures.indptr) >= EASY
    masks = {"single": words == 1, "multi": words > 1, "easy": easy, "difficult": ~easy}
    if seen is not None:
        known = np.asarray(seen)
        if known.dtype != np.bool_ or known.shape != words.shape:
            raise BadInput(
                f"seen needs one true or false for each of the {len(words)} queries; "
                f"got {known.dtype} of shape {known.shape}"
            )
        masks |= {"seen": known, "unseen": ~known}
    return masks


def seen_queries(test: Relevance, *training: Relevance) -> NDArray[np.bool_]:
    """Which test queries are, as sets of words, queries of the training relevance as well.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from visterm.text import Relevance
    >>> picture = csr_array(np.ones((2, 1), dtype=np.float32))
    >>> test = Relevance(csr_array(np.float32([[1, 0], [0.6, 0.8]])), picture)
    >>> training = Relevance(csr_array(np.float32([[0.8, 0.6], [0, 1]])), picture)
    >>> seen_queries(test, training).tolist()
    [False, True]
    """
    known: set[bytes] = set()
    for relevance in training:
        if relevance.queries.shape[1] != test.queries.shape[1]:
            raise BadInput(
                f"training queries are over {relevance.queries.shape[1]} words and test queries "
                f"over {test.queries.shape[1]}; both need the same vocabulary"
            )
        known.update(_word_sets(relevance))
    return np.array([words in known for words in _word_sets(test)], dtype=np.bool_)


def _word_sets(relevance: Relevance) -> list[bytes]:
    # The stored entries are the words, whatever their weight; sorted bytes are a set one can hash.
    indices = relevance.queries.indices.astype(np.int64)
    return [
        np.unique(indices[start:end]).tobytes() for start, end in pairwise(relevance.queries.indptr)
    ]

"""What is relevant to which query, in the forms that people have it: qrels as one matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from visterm.errors import BadInput

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

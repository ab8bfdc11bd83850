"""TREC's run and qrels files, so that other people's tools can check our figures.

A line of these files is split at white space, and our queries ("tree snow") and file names are full
of it. So white space, control characters and ``%`` inside a name are written as in an address
(``tree%20snow``). ir_measures reads the files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from visterm.errors import BadInput
from visterm.evaluation.ranking import as_scores, checked_gains, top
from visterm.files import write_whole

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PathLike = str | os.PathLike[str]


def write_run(
    path: PathLike,
    queries: Sequence[str],
    pictures: Sequence[str],
    scores: ArrayLike,
    depth: int = 1000,
    tag: str = "visterm",
) -> None:
    """Write the ``depth`` best pictures of every query, best first, ties in picture order.

    Scores are written with all their digits, so that what differs still differs and what is equal
    is still equal when read. Mind that trec_eval itself looks at the scores only and breaks ties by
    picture name, last name first, whatever the rank says.

    Parameters
    ----------
    path : path
    queries, pictures : names
        As many as ``scores`` has rows and columns, none empty, none twice.
    scores : array of shape (Q, n)
    depth : int, default 1000
    tag : str
        The name of the run, in the last column.
    """
    table = as_scores(scores)
    query_names, picture_names = _escaped("query", queries), _escaped("picture", pictures)
    _check_shape(table.shape, query_names, picture_names)
    if depth < 1:
        raise BadInput(f"depth must be 1 or more pictures a query, not {depth}")
    holes = np.argwhere(np.isnan(table))
    if len(holes):
        query, picture = queries[holes[0, 0]], pictures[holes[0, 1]]
        raise BadInput(f"the score of query {query!r} for picture {picture!r} is NaN")
    (run_name,) = _escaped("tag", [tag])
    lines = (
        f"{query} Q0 {picture_names[picture]} {rank} {row[picture]!s} {run_name}\n".encode()
        for query, row in zip(query_names, table, strict=True)
        for rank, picture in enumerate(top(row, depth), start=1)
    )
    write_whole(path, lambda file: file.writelines(lines))


def write_qrels(
    path: PathLike, queries: Sequence[str], pictures: Sequence[str], gains: csr_array
) -> None:
    """Write the relevant pictures of every query with their gains, which must be whole numbers.

    trec_eval would cut a gain of 0.5 down to 0 without a word, so fractions are refused here.
    """
    checked = checked_gains(gains)
    query_names, picture_names = _escaped("query", queries), _escaped("picture", pictures)
    _check_shape(checked.shape, query_names, picture_names)
    fractions = np.flatnonzero(checked.data != np.round(checked.data))
    if len(fractions):
        raise BadInput(
            f"qrels hold whole gains, but one is {checked.data[fractions[0]]:g}; "
            "multiply the gains until all are whole"
        )
    lines = (
        f"{query} 0 {picture_names[checked.indices[entry]]} {int(checked.data[entry])}\n".encode()
        for query, (start, end) in zip(query_names, pairwise(checked.indptr), strict=True)
        for entry in range(start, end)
    )
    write_whole(path, lambda file: file.writelines(lines))


def _escaped(what: str, names: Sequence[str]) -> list[str]:
    return [_escape(name) for name in _numbered(what, names)]


def _escape(name: str) -> str:
    return "".join(
        sign
        if sign.isprintable() and not sign.isspace() and sign != "%"
        else "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "surrogateescape"))
        for sign in name
    )


def _numbered(what: str, names: Sequence[str]) -> dict[str, int]:
    """Names with their numbers, none empty and none twice."""
    numbers = {name: number for number, name in enumerate(names)}
    if "" in numbers:
        raise BadInput(f"{what} {numbers['']} has an empty name; TREC files need one")
    if len(numbers) != len(names):
        twice = next(name for number, name in enumerate(names) if numbers[name] != number)
        raise BadInput(f"the {what} name {twice!r} stands twice; TREC files know them by name")
    return numbers


def _check_shape(shape: tuple[int, ...], queries: Sequence[str], pictures: Sequence[str]) -> None:
    if shape != (len(queries), len(pictures)):
        raise BadInput(
            f"{len(queries)} query names and {len(pictures)} picture names do not fit "
            f"{shape[0]} × {shape[1]} values"
        )

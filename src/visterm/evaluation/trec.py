"""TREC's run and qrels files, in and out, so that other people's tools can check our figures.

A line of these files is split at white space, and our queries ("tree snow") and file names are full
of it. So white space, control characters and ``%`` inside a name are written as in an address
(``tree%20snow``) and read back as they were.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.evaluation.ranking import as_scores, checked_gains, top
from visterm.files import write_whole

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Run = dict[str, list[tuple[str, float]]]
Qrels = dict[str, dict[str, int]]
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


def read_run(path: PathLike) -> Run:
    """The ranked ``(picture, score)`` pairs of every query of a run file.

    Larger scores come first, equal ones in the order of the file's ranks, then of its lines.
    """
    found: dict[str, list[tuple[float, int, str]]] = {}
    seen: set[tuple[str, str]] = set()
    for where, fields in _lines(path, "query Q0 picture rank score tag"):
        query, picture = _name(fields[0]), _name(fields[2])
        if (query, picture) in seen:
            raise BadInput(f"{where}: {picture!r} stands twice for the query {query!r}")
        seen.add((query, picture))
        rank, score = _whole(fields[3], "rank", where), _number(fields[4], "score", where)
        found.setdefault(query, []).append((-score, rank, picture))
    return {
        query: [(picture, -lost) for lost, _, picture in sorted(rows, key=lambda row: row[:2])]
        for query, rows in found.items()
    }


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


def read_qrels(path: PathLike) -> Qrels:
    """The gains of the judged pictures of every query; 0 or less is judged and not relevant."""
    found: Qrels = {}
    for where, fields in _lines(path, "query iteration picture gain"):
        judged = found.setdefault(_name(fields[0]), {})
        picture = _name(fields[2])
        if picture in judged:
            raise BadInput(f"{where}: {picture!r} is judged twice for the query {fields[0]!r}")
        judged[picture] = _whole(fields[3], "gain", where)
    return found


def scores_from_run(
    run: Run, queries: Sequence[str], pictures: Sequence[str]
) -> NDArray[np.float32]:
    """Scores (queries × pictures) that put the pictures in the order of the run, ties included.

    They are negated ranks, so that the order of the run holds whatever the order of ``pictures``;
    what the run does not list stands behind it, in picture order.

    Examples
    --------
    >>> scores_from_run({"tree": [("b", 0.9), ("a", 0.9)]}, ["tree"], ["a", "b", "c"])
    array([[ -2.,  -1., -inf]], dtype=float32)
    """
    rows, columns = _numbered("query", queries), _numbered("picture", pictures)
    scores = np.full((len(rows), len(columns)), -np.inf, dtype=np.float32)
    for query, ranked in run.items():
        row = _place(rows, query, "query")
        for rank, (picture, _) in enumerate(ranked, start=1):
            scores[row, _place(columns, picture, "picture")] = -rank
    return scores


def gains_from_qrels(qrels: Qrels, queries: Sequence[str], pictures: Sequence[str]) -> csr_array:
    """Gains (queries × pictures) of the relevant pictures, as ``Relevance`` holds them.

    Examples
    --------
    >>> gains_from_qrels({"tree": {"b": 2, "c": 0}}, ["tree"], ["a", "b", "c"]).toarray()
    array([[0., 2., 0.]], dtype=float32)
    """
    from scipy.sparse import csr_array

    rows, columns = _numbered("query", queries), _numbered("picture", pictures)
    entries = [
        (_place(rows, query, "query"), _place(columns, picture, "picture"), gain)
        for query, judged in qrels.items()
        for picture, gain in judged.items()
        if gain > 0
    ]
    at_row, at_column, gains = zip(*entries, strict=True) if entries else ((), (), ())
    values = np.array(gains, dtype=np.float32)
    return csr_array((values, (at_row, at_column)), shape=(len(rows), len(columns)))


def _escaped(what: str, names: Sequence[str]) -> list[str]:
    return [_escape(name) for name in _numbered(what, names)]


def _escape(name: str) -> str:
    return "".join(
        sign
        if sign.isprintable() and not sign.isspace() and sign != "%"
        else "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "surrogateescape"))
        for sign in name
    )


def _name(field: str) -> str:
    return unquote_to_bytes(field).decode("utf-8", "surrogateescape")


def _numbered(what: str, names: Sequence[str]) -> dict[str, int]:
    numbers = {name: number for number, name in enumerate(names)}
    if "" in numbers:
        raise BadInput(f"{what} {numbers['']} has an empty name; TREC files need one")
    if len(numbers) != len(names):
        twice = next(name for number, name in enumerate(names) if numbers[name] != number)
        raise BadInput(f"the {what} name {twice!r} stands twice; TREC files know them by name")
    return numbers


def _place(numbers: Mapping[str, int], name: str, what: str) -> int:
    if name not in numbers:
        raise BadInput(f"the file names the {what} {name!r}, which is not among those given")
    return numbers[name]


def _check_shape(shape: tuple[int, ...], queries: Sequence[str], pictures: Sequence[str]) -> None:
    if shape != (len(queries), len(pictures)):
        raise BadInput(
            f"{len(queries)} query names and {len(pictures)} picture names do not fit "
            f"{shape[0]} × {shape[1]} values"
        )


def _lines(path: PathLike, layout: str) -> Iterator[tuple[str, list[str]]]:
    expected = len(layout.split())
    try:
        with Path(path).open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                fields = line.split()
                where = f"{os.fspath(path)}, line {number}"
                if fields and len(fields) != expected:
                    raise BadInput(
                        f"{where}: {len(fields)} fields where {layout!r} needs {expected}"
                    )
                if fields:
                    yield where, fields
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {os.fspath(path)}: {error}") from error


def _number(field: str, what: str, where: str) -> float:
    try:
        number = float(field)
    except ValueError:
        number = float("nan")
    if np.isnan(number):
        raise BadInput(f"{where}: the {what} {field!r} is not a number")
    return number


def _whole(field: str, what: str, where: str) -> int:
    number = _number(field, what, where)
    if not number.is_integer():
        raise BadInput(f"{where}: the {what} {field!r} is not a whole number")
    return int(number)

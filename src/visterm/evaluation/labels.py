"""Labels both ways: the labels of a picture, the pictures of a label, and annotation at five."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.evaluation.ranking import as_scores, checked_gains, relevant_ranks

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class LabelRanking:
    """P@K and mean AvgP over the queries that have a true answer; the others are ``skipped``."""

    precision: float
    mean_average_precision: float
    measured: int
    skipped: int


@dataclass(frozen=True)
class BothWays:
    """Labels ranked for every picture, and pictures for every label."""

    to_labels: LabelRanking
    to_pictures: LabelRanking


def labels_both_ways(scores: ArrayLike, true: csr_array, k: int = 5) -> BothWays:
    """P@K and mAP, picture → labels and label → pictures, of one table of scores.

    Equal scores stand in the order of the labels (or pictures), lower number first.

    Parameters
    ----------
    scores : array of shape (pictures, labels)
    true : csr_array of shape (pictures, labels)
        Positive where a picture has a label.
    k : P@K's K

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> both = labels_both_ways([[0.9, 0.1], [0.3, 0.2]], csr_array([[1, 0], [0, 1]]), k=1)
    >>> both.to_labels.precision, both.to_pictures.mean_average_precision
    (0.5, 1.0)
    """
    table = as_scores(scores)
    return BothWays(ranked(table, true, k), ranked(table.T, true.T.tocsr(), k))


def ranked(scores: ArrayLike, true: csr_array, k: int = 5) -> LabelRanking:
    """P@K and mAP of queries × answers; see `labels_both_ways`.

    >>> from scipy.sparse import csr_array
    >>> ranked([[0.9, 0.1], [0.3, 0.2]], csr_array([[1, 0], [0, 0]]), k=1)
    LabelRanking(precision=1.0, mean_average_precision=1.0, measured=1, skipped=1)
    """
    from visterm.evaluation import _kernels

    if k < 1:
        raise BadInput(f"P@{k} is not defined; choose K ≥ 1")
    found = relevant_ranks(scores, true)
    measured = int(np.count_nonzero(found.relevant))
    if not measured:
        raise BadInput("nothing is true of any query, so there is nothing to measure")
    averages = np.zeros(len(found))
    _kernels.average_precisions(found.starts, found.ranks, averages)
    # P@K is out of K, so its mean needs only the number of true answers at ranks up to K.
    precision = np.count_nonzero(found.ranks <= k) / (k * measured)
    return LabelRanking(
        float(precision), float(averages.sum() / measured), measured, len(found) - measured
    )


@dataclass(frozen=True)
class LabelAnnotation:
    """Annotation as its literature counts it: means over labels of precision and recall.

    Attributes
    ----------
    precision, recall : float
        Of a label: the fraction of the pictures given it that have it, and the fraction of those
        that have it that were given it. A label given to no picture has precision 0.
    f1 : float
        2PR / (P + R) of the two means.
    n_plus : int
        Labels given to at least one picture that has them.
    labels : int
        The labels averaged over: those that at least one picture has.
    """

    precision: float
    recall: float
    f1: float
    n_plus: int
    labels: int


def annotation(scores: ArrayLike, true: csr_array, words: int = 5) -> LabelAnnotation:
    """Give every picture its ``words`` best labels, and see how well that annotates it.

    Equal scores stand in the order of the labels, lower number first. A picture without a true
    label is annotated too, and its labels count against precision.

    Parameters
    ----------
    scores : array of shape (pictures, labels)
    true : csr_array of shape (pictures, labels)

    References
    ----------
    Duygulu, Barnard, de Freitas and Forsyth, Object recognition as machine translation, ECCV 2002;
    Makadia, Pavlovic and Kumar, A new baseline for image annotation, ECCV 2008.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> annotation([[0.9, 0.1], [0.3, 0.2]], csr_array([[1, 0], [0, 1]]), words=1)
    LabelAnnotation(precision=0.25, recall=0.5, f1=0.3333333333333333, n_plus=1, labels=2)
    """
    table, gains = as_scores(scores), checked_gains(true)
    if table.shape != gains.shape:
        raise BadInput(
            f"scores are {table.shape} but the true labels {gains.shape}; give both "
            "for the same pictures and labels"
        )
    if not 1 <= words <= table.shape[1]:
        raise BadInput(f"cannot give {words} of {table.shape[1]} labels to a picture")
    if np.isnan(table).any():
        raise BadInput("some scores are NaN; check the model or the features")
    given = _best(table, words)
    held = gains.toarray() > 0
    right = np.zeros(table.shape[1], dtype=np.int64)
    hit = np.take_along_axis(held, given, axis=1)
    np.add.at(right, given[hit], 1)
    times = np.bincount(given.ravel(), minlength=table.shape[1])
    having = held.sum(axis=0)
    there = having > 0
    if not there.any():
        raise BadInput("no picture has a label, so there is nothing to measure")
    precision = float(np.mean(right[there] / np.maximum(times[there], 1)))
    recall = float(np.mean(right[there] / having[there]))
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return LabelAnnotation(precision, recall, f1, int(np.count_nonzero(right)), int(there.sum()))


def _best(table: NDArray[np.floating], words: int) -> NDArray[np.int64]:
    return np.argsort(-table, axis=1, kind="stable")[:, :words]

"""CCA: pictures and texts meet in the directions in which they agree most.

With directions a_j, b_j and their correlations ρ_j, a picture becomes ``ρ_j^s · a_j·(x − x̄)`` and a
text ``ρ_j^s · b_j·(y − ȳ)``; ``F(x, y)`` is the cosine of the two.

Canonical correlation maximises ``corr(a·x, b·y)``, one pair of directions after the other, each
uncorrelated with those before. With ``Cxx + r I = Rx Rxᵀ`` and ``Cyy + s I = Ry Ryᵀ`` the
directions are the singular vectors of the whitened cross-covariance ``Rx⁻¹ Cxy Ry⁻ᵀ``, and its
singular values are the correlations.

H. Hotelling, Biometrika 1936; D. Hardoon, S. Szedmak and J. Shawe-Taylor, Neural Computation 2004;
the scaling by correlations is from Y. Gong, Q. Ke, M. Isard and S. Lazebnik, IJCV 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute import map_items
from visterm.errors import BadInput
from visterm.models import rules
from visterm.models.inputs import Vectors, dense
from visterm.models.pairs import PairModel
from visterm.models.rules import AUTO, Rules, Tuned
from visterm.models.selection import Choice, Task
from visterm.progress import Progress
from visterm.text.spaces.space import unit


@dataclass(eq=False, repr=False, kw_only=True)
class Cca(PairModel):
    """Canonical correlation analysis of pictures and texts, regularised.

    Parameters
    ----------
    ridge : float, sequence of float or "auto"
        Added to the variances of picture vectors, as a fraction of their mean; validation pictures
        choose among several.
    text_ridge : float, sequence of float or "auto"
        The same for text vectors.
    n_components : int or sequence of int
        Pairs of directions kept; as many as there are, if there are fewer.
    scaling : float, sequence of float or "auto"
        Exponent s of the correlations: 0 trusts all directions alike, 4 mostly the strongest.
    judged_by : {"auto", "pairs", "words"}
        What validation pictures are ranked for: their own texts, or word queries made of captions;
        "auto" takes words where texts count them.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    max_words : int, optional
        Largest query made from the captions of validation pictures, if judged by words.

    Attributes
    ----------
    picture_map_ : array of shape (d, k)
    text_map_ : array of shape (T, k)
    picture_mean_, text_mean_ : arrays of shape (d,) and (T,)
    correlations_ : array of shape (k,)
    ridge_, text_ridge_, n_components_, scaling_ : what was chosen.
    validation_ : float
        Best quality on validation pictures, NaN without them.

    Notes
    -----
    ``transform`` brings a picture's row to the given text space by the linear part of the map:
    ``f(x) = text_map · row(x)``. Its products with text vectors leave out what the mean text would
    score, and the length of the text's own row; `picture_rows` and `text_rows` leave out nothing.

    Examples
    --------
    >>> pictures = np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 4.0], [1.0, 3.0]])
    >>> texts = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.2, 1.0]])
    >>> model = Cca(ridge=0.01).fit(pictures, texts)
    >>> (model.text_rows([[1, 0]]) @ model.picture_rows(pictures).T).round(1) + 0
    array([[ 1.,  1., -1., -1.]], dtype=float32)
    """

    name = "cca"
    arrays = ("picture_map_", "text_map_", "picture_mean_", "text_mean_", "correlations_")
    decides: ClassVar[Rules] = {
        "ridge": rules.NOT_NEGATIVE,
        "text_ridge": rules.NOT_NEGATIVE,
        "n_components": rules.WHOLE,
        "scaling": rules.NOT_NEGATIVE,
    }

    ridge: Tuned[float] = AUTO
    text_ridge: Tuned[float] = AUTO
    n_components: int | Sequence[int] = 256
    scaling: Tuned[float] = AUTO

    @classmethod
    def identity(cls, width: int) -> Self:
        """For pictures and texts that lie in one space already: both stay where they are.

        >>> Cca.identity(2).text_rows([[3.0, 4.0]]).round(1).tolist()
        [[0.6000000238418579, 0.800000011920929]]
        """
        model = cls(ridge=0.0, text_ridge=0.0, n_components=width, scaling=0.0)
        eye, zero = np.eye(width, dtype=np.float32), np.zeros(width, np.float32)
        fitted = {name: eye if name.endswith("map_") else zero for name in cls.arrays}
        fitted |= {f"{name}_": getattr(model, name) for name in cls.decides}
        sizes = {"n_features_in_": width, "n_texts_in_": width, "validation_": float("nan")}
        for name, value in {**fitted, **sizes, "correlations_": np.ones(width)}.items():
            setattr(model, name, value)
        return model

    def _prepare(self, task: Task) -> Moments:
        return moments(dense(task.training.vectors), dense(task.training.known_texts))

    def _learn(self, prepared: Moments, choice: Choice, progress: Progress) -> dict[str, Any]:
        found = canonical(
            prepared,
            x_ridge=choice["ridge"],
            y_ridge=choice["text_ridge"],
            dimensions=int(choice["n_components"]),
        )
        scale = found.correlations ** choice["scaling"]
        return {
            "picture_map_": (found.x_map * scale).astype(np.float32),
            "text_map_": (found.y_map * scale).astype(np.float32),
            "picture_mean_": prepared.x_mean.astype(np.float32),
            "text_mean_": prepared.y_mean.astype(np.float32),
            "correlations_": found.correlations,
        }

    def _picture_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return unit((dense(vectors) - self.picture_mean_) @ self.picture_map_)

    def _text_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return unit((dense(vectors) - self.text_mean_) @ self.text_map_)

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        return self._picture_rows(vectors) @ self.text_map_.T


Floats = NDArray[np.floating]
_PART = 4096
"""Rows whose products are summed at a time."""

Spectrum = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Variances along directions, and the directions as columns."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Means and covariances of paired rows: all that canonical correlation looks at.

    What takes long, and does not depend on ridges, is worked out once and kept. Where there are
    fewer rows than dimensions, `moments` gives a spectrum in place of a covariance: only as many
    directions as rows vary at all, and those come from the small matrix of rows by rows.
    """

    x_mean: NDArray[np.float64]
    y_mean: NDArray[np.float64]
    xx: NDArray[np.float64] | Spectrum
    yy: NDArray[np.float64] | Spectrum
    xy: NDArray[np.float64]

    @cached_property
    def x_spectrum(self) -> Spectrum:
        return self.xx if isinstance(self.xx, tuple) else _spectrum(self.xx)

    @cached_property
    def y_spectrum(self) -> Spectrum:
        return self.yy if isinstance(self.yy, tuple) else _spectrum(self.yy)

    @cached_property
    def _between(self) -> NDArray[np.float64]:
        return np.asarray(self.x_spectrum[1].T @ self.xy @ self.y_spectrum[1])

    def pairs(self, x_ridge: float, y_ridge: float) -> Canonical:
        """All pairs of directions, under these ridges; those asked for last are at hand."""
        last: dict[tuple[float, float], Canonical] = self.__dict__.setdefault("_last", {})
        if (x_ridge, y_ridge) not in last:
            x_scale, y_scale = _scale(self.x_spectrum, x_ridge), _scale(self.y_spectrum, y_ridge)
            white = x_scale[:, None] * self._between * y_scale
            left, correlations, right = np.linalg.svd(white, full_matrices=False)
            x_map = (self.x_spectrum[1] * x_scale) @ left
            # Singular vectors have no sign of their own; this one does not depend on the library.
            largest = np.abs(x_map).argmax(axis=0)
            signs = np.where(x_map[largest, np.arange(x_map.shape[1])] < 0, -1.0, 1.0)
            y_map = (self.y_spectrum[1] * y_scale) @ right.T
            last.clear()
            last[x_ridge, y_ridge] = Canonical(
                x_map * signs, y_map * signs, np.minimum(correlations, 1.0)
            )
        return last[x_ridge, y_ridge]


@dataclass(frozen=True, eq=False)
class Canonical:
    """Paired directions, the strongest first.

    ``(x − x_mean) @ x_map`` and ``(y − y_mean) @ y_map`` agree as far as ``correlations`` says.
    """

    x_map: NDArray[np.float64]
    y_map: NDArray[np.float64]
    correlations: NDArray[np.float64]


class _PartMoments(NamedTuple):
    """Rows, means, and sums of products about them, of a part of the rows."""

    n: int
    means: tuple[NDArray[np.float64], NDArray[np.float64]]
    products: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
    """Of x with x, y with y, and x with y."""


def moments(X: Floats, Y: Floats) -> Moments:
    """Means and covariances of two matrices of the same number of rows.

    Many rows are taken part by part, side by side on a cluster, and the parts summed up, which
    gives the same wherever it runs.

    >>> found = moments(np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]]))
    >>> found.x_mean, found.xy
    (array([1.]), array([[1.]]))
    """
    n = len(X)
    if n != len(Y):
        raise BadInput(f"{n} rows on one side but {len(Y)} on the other; pair them up")
    if n > _PART and n >= max(X.shape[1], Y.shape[1]):
        starts = range(0, n, _PART)
        return _summed(
            map_items(_part_moments, [(X[a : a + _PART], Y[a : a + _PART]) for a in starts])
        )
    x_mean, x = _centred(X)
    y_mean, y = _centred(Y)
    xy = np.asarray(x.T @ y / n, dtype=np.float64)
    return Moments(x_mean, y_mean, _variation(x), _variation(y), xy)


def _centred(rows: Floats) -> tuple[NDArray[np.float64], Floats]:
    """The mean, and rows about it in the precision of the data: float32 needs no 64-bit copy."""
    mean = rows.mean(axis=0, dtype=np.float64)
    return mean, rows - mean.astype(rows.dtype)


def _part_moments(part: tuple[Floats, Floats]) -> _PartMoments:
    (x_mean, x), (y_mean, y) = map(_centred, part)
    products = (np.asarray(a.T @ b, dtype=np.float64) for a, b in ((x, x), (y, y), (x, y)))
    return _PartMoments(len(x), (x_mean, y_mean), tuple(products))  # type: ignore[arg-type]


def _summed(parts: Sequence[_PartMoments]) -> Moments:
    """The moments of all parts together, each shifted from its own mean to the common one."""
    n = sum(part.n for part in parts)
    x_mean, y_mean = (sum(part.n * part.means[side] for part in parts) / n for side in (0, 1))
    found = []
    for product, (a, b) in enumerate(((0, 0), (1, 1), (0, 1))):
        total = np.zeros_like(parts[0].products[product])
        for part in parts:
            shifts = part.means[0] - x_mean, part.means[1] - y_mean
            total += part.products[product] + part.n * np.outer(shifts[a], shifts[b])
        found.append(total / n)
    return Moments(np.asarray(x_mean), np.asarray(y_mean), *found)


def canonical(
    given: Moments, *, x_ridge: float, y_ridge: float, dimensions: int | None = None
) -> Canonical:
    """The strongest pairs of directions.

    Parameters
    ----------
    x_ridge, y_ridge : float
        Added to the variances, as fractions of their mean: 0 trusts the data, more shrinks
        directions in which there is little of it.
    dimensions : int, optional
        Pairs to keep; as many as the narrower side has by default.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((50, 2))
    >>> found = canonical(moments(x, 2 * x[:, ::-1]), x_ridge=0.0, y_ridge=0.0)
    >>> found.correlations.round(6)
    array([1., 1.])
    """
    found = given.pairs(float(x_ridge), float(y_ridge))
    k = len(found.correlations) if dimensions is None else min(dimensions, len(found.correlations))
    return Canonical(found.x_map[:, :k], found.y_map[:, :k], found.correlations[:k])


def _variation(centred: Floats) -> NDArray[np.float64] | Spectrum:
    """The covariance of centred rows, or its spectrum where rows are fewer than dimensions."""
    n, width = centred.shape
    if n >= width:
        return np.asarray(centred.T @ centred / n, dtype=np.float64)
    values, vectors = _spectrum(np.asarray(centred @ centred.T / n, dtype=np.float64))
    varies = values > 1e-12 * max(float(values.max(initial=0.0)), 1e-300)
    values, vectors = values[varies], vectors[:, varies]
    return values, np.asarray(centred.T @ vectors, dtype=np.float64) / np.sqrt(n * values)


def _spectrum(covariance: NDArray[np.float64]) -> Spectrum:
    values, vectors = np.linalg.eigh(covariance)
    return np.maximum(values, 0.0), vectors


def _scale(spectrum: Spectrum, ridge: float) -> NDArray[np.float64]:
    """What whitens directions of these variances; those without variance get nothing."""
    values, vectors = spectrum
    mean = float(values.sum()) / len(vectors)  # over all dimensions, whether they vary or not
    values = values + ridge * mean
    kept = values > 1e-10 * values.max() if values.size and values.max() > 0 else values > 0
    return np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)

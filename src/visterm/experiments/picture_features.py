"""Features of a benchmark's pictures by names: ``blob-tokens+dense-sift``, ``2*cnn+blocks``.

Beside extractors there is ``blob-tokens``: the regions that the makers of Corel found in each
picture, as they published them. No extractor can make them of pixels, so they are rows that come
with the benchmark. ``blob-tokens(latent=100)`` are the same through the space that tokens and
words share (`latent_rows`).

They are learnt from the training pictures and extracted from all (`extract`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from visterm.errors import BadInput, UnreadablePicture
from visterm.experiments.cache import FEATURES, remembered
from visterm.experiments.protocol import Protocol
from visterm.features import Extractor, parse_features
from visterm.features.bag_of_visterms import Bag, visterm_weights, weigh_visterms
from visterm.features.blobs import count_blob_tokens
from visterm.features.extractor import Rows, is_whole, join_rows
from visterm.features.notation import parse_named, weighted_parts
from visterm.matrices import unit_rows
from visterm.pictures.sandbox import picture_size, read_picture
from visterm.progress import Progress, silent
from visterm.text.weighting import weigh_queries

Parts = tuple[Rows, ...]
"""Rows of the training, validation and, where they are wanted, test pictures."""
_NAMED = 5  # unreadable pictures that an error names, before it only counts them


def extract(
    protocol: Protocol, extractor: Extractor, *, test: bool = True, progress: Progress = silent
) -> Parts:
    """Learn the extractor from the training pictures, and extract the features of all pictures;
    without ``test`` those of the test pictures are not looked at."""
    train, valid = protocol.split
    paths = protocol.development.paths
    training = [paths[i] for i in train]
    _warn_if_shrunk(training[0], extractor)
    rows = extractor.fit_transform(training, progress=progress)
    if rows.shape[0] != len(training):
        raise _unreadable_pictures(protocol.name, training)
    parts = [[paths[i] for i in valid], *([protocol.test.paths] if test else [])]
    return rows, *(_transformed(protocol, extractor, part) for part in parts)


def _transformed(protocol: Protocol, extractor: Extractor, paths: Sequence[Path]) -> Rows:
    """Rows of all these pictures, or an error that names those that cannot be read."""
    found = extractor.extract(paths)
    if found.skipped:
        raise _unreadable_pictures(protocol.name, [paths[skip.number] for skip in found.skipped])
    return found.rows


def _unreadable_pictures(name: str, paths: Sequence[Path]) -> BadInput:
    reasons = []
    for path in paths:
        try:
            read_picture(path, max_side=64)
        except UnreadablePicture as error:
            reasons.append(f"{error.where}: {error.reason}")
    shown = "; ".join(reasons[:_NAMED])
    more = f"; and {len(reasons) - _NAMED} more" if len(reasons) > _NAMED else ""
    return BadInput(
        f"{len(reasons)} pictures of {name} cannot be read: {shown}{more}. Mend them, or take "
        "their rows out of the table"
    )


def _warn_if_shrunk(picture: Path, extractor: Extractor) -> None:
    """Warn where pictures have more pixels than the features will see."""
    side = getattr(extractor, "max_side", None)
    if side is None or "max_side" not in extractor.get_params():
        return
    with suppress(UnreadablePicture):
        width, height = picture_size(picture)
        if max(width, height) > side:
            warnings.warn(
                f"pictures such as {picture.name}, {width} × {height} pixels, are shrunk to {side} "
                f"on the long side; {extractor.name}(max_side={max(width, height)}) sees them all",
                stacklevel=2,
            )


BLOB_TOKENS = "blob-tokens"
BLOCKS_FOR = {"vectors": "blocks", "counts": "blocks", "blocks": "block-counts"}
"""Block features for what a model takes: visterms, or the blocks themselves."""


class PictureFeatures:
    """Vectors and visterm counts of a protocol's pictures, by the features' names.

    Each part of ``a+b`` is extracted once, however often it is asked for.

    Parameters
    ----------
    protocol : Protocol
    test : bool
        Whether those of test pictures are extracted too; what chooses must not see them.
    n_jobs : int, optional
        Processes; all cores by default.
    kept : bool
        Whether they are kept in the user's cache for the next time. Not those of an ``onnx:``
        file, which may change under its name.
    """

    def __init__(
        self,
        protocol: Protocol,
        *,
        test: bool = True,
        n_jobs: int | None = None,
        kept: bool = False,
    ) -> None:
        self.protocol = protocol
        self.test = test
        self.kept = kept
        self.n_jobs = n_jobs or os.cpu_count() or 1
        self._known: dict[tuple[str, int | None], dict[str, Parts]] = {}

    def vectors(
        self, features: str, *, points_per_centre: int | None = None, progress: Progress = silent
    ) -> Parts:
        """Vectors of unit length; several parts side by side, each of unit length before.

        ``points_per_centre`` are fewer than usual where codebooks are very large.
        """
        weights, names = weighted_parts(features)
        found = [self._forms(name, points_per_centre, progress)["vectors"] for name in names]
        if len(found) == 1:
            return found[0]
        return tuple(join_rows(rows, weights) for rows in zip(*found, strict=True))

    def counts(
        self, features: str, *, points_per_centre: int | None = None, progress: Progress = silent
    ) -> Parts:
        """Visterm counts, side by side, for the models that take them."""
        _, names = weighted_parts(features)
        for name in names:
            if not _is_tokens(name) and not isinstance(parse_features(name), Bag):
                raise BadInput(f"{name} has no visterms to count; this model needs some")
        found = [self._forms(name, points_per_centre, progress)["counts"] for name in names]
        return tuple(csr_array(hstack(rows, format="csr")) for rows in zip(*found, strict=True))

    def bag(self, features: str, *, progress: Progress = silent) -> Parts:
        """Visterms of all parts as one bag: plain tf·idf, of unit length as a whole."""
        counts = self.counts(features, progress=progress)
        idf = visterm_weights(csr_array(counts[0]))
        return tuple(weigh_visterms(csr_array(part), idf, root=False) for part in counts)

    def _forms(self, name: str, points: int | None, progress: Progress) -> dict[str, Parts]:
        """Features in every form they have: "vectors" and, of visterms, "counts"."""
        if (name, points) not in self._known:

            def make() -> dict[str, Parts]:
                return self._extracted(name, points, progress)

            if _is_tokens(name):
                found = self._blob_tokens(name)
            elif self.kept and not name.startswith("onnx:"):
                about = name, parse_features(name).key, points, self.test, self.protocol.digest
                found = remembered("features", make, *about, rooms=FEATURES)
            else:
                found = make()
            self._known[name, points] = found
        return self._known[name, points]

    def _extracted(self, name: str, points: int | None, progress: Progress) -> dict[str, Parts]:
        seed = self.protocol.seed
        extractor = parse_features(name, n_jobs=self.n_jobs, random_state=seed)
        if not isinstance(extractor, Bag):
            return {"vectors": extract(self.protocol, extractor, test=self.test, progress=progress)}
        extractor.set_params(weighting="counts")
        if points is not None:
            extractor.points_per_centre = points  # type: ignore[misc]
        counts = extract(self.protocol, extractor, test=self.test, progress=progress)
        return {"counts": counts, "vectors": tuple(extractor.weigh(csr_array(c)) for c in counts)}

    def _blob_tokens(self, name: str) -> dict[str, Parts]:
        """Counts and vectors of Corel's own tokens."""
        corel = self.protocol.corel
        if corel is None:
            raise BadInput(f"{BLOB_TOKENS} come with corel5k only; for other pictures take blobs")
        train, valid = self.protocol.split
        known = count_blob_tokens(corel.development_blobs)
        counts = [known[train], known[valid]]
        if self.test:
            counts.append(count_blob_tokens(corel.test_blobs))
        idf = visterm_weights(counts[0])
        vectors: Parts = tuple(weigh_visterms(part, idf, root=False) for part in counts)
        latent = parse_named(name).parameters.get("latent")
        if latent is not None:
            captions, words = self.protocol.captions[train], self.protocol.vocabulary
            vectors = latent_rows(vectors, captions, words.idf, latent)
        return {"counts": tuple(counts), "vectors": vectors}


def latent_rows(
    parts: Sequence[csr_array], captions: csr_array, idf: NDArray[np.float64], size: int
) -> tuple[NDArray[np.float32], ...]:
    """Pictures by what their visterms mean: unit vectors of ``size`` numbers in the space that
    visterms and words share; the first part are the training pictures of the captions.

    The visterms and words of training pictures stand side by side, ``[p | c]``, and a truncated SVD
    finds the directions in which both vary most. A picture without a caption has coordinates by its
    visterms alone, ``p V``, V the visterms' half of the right singular vectors (J.-Y. Pan, H.-J.
    Yang, P. Duygulu and C. Faloutsos, ICME 2004, use the same space to translate).

    >>> pictures = csr_array(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32))
    >>> captions = csr_array(np.array([[1.0, 0], [1, 0], [0, 1]]))  # two visterms of one word
    >>> (rows,) = latent_rows([pictures], captions, np.ones(2), size=2)
    >>> abs(rows @ rows.T).round(2)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    from scipy.sparse.linalg import svds

    words = weigh_queries(captions, idf)
    both = csr_array(hstack([parts[0], words], format="csr"), dtype=np.float64)
    if not 1 <= size < min(both.shape):
        raise BadInput(f"latent is a whole number from 1 to {min(both.shape) - 1}, not {size!r}")
    start = np.ones(min(both.shape)) / np.sqrt(min(both.shape))
    _, _, axes = svds(both, k=size, v0=start)
    towards = axes[:, : parts[0].shape[1]].T.astype(np.float32)
    return tuple(unit_rows(part @ towards) for part in parts)


def check_features(features: str) -> None:
    """Refuse names, or parameters of them, that do not exist, before anything is computed.

    >>> check_features("2*cnn(size=288)+blocks")
    >>> check_features("cnn(colour=3)")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    visterm.errors.BadInput: cnn has no parameter 'colour'; it has crop, network, ...
    """
    for name in weighted_parts(features)[1]:
        if not _is_tokens(name):
            parse_features(name)


def block_numbers(features: str) -> int | None:
    """How many numbers describe one block; None for features that make one vector a picture.

    >>> block_numbers("block-counts"), block_numbers("block-counts+cnn")
    (109, None)
    """
    _, names = weighted_parts(features)
    alone = len(names) == 1 and not _is_tokens(names[0])
    return parse_features(names[0]).block_numbers if alone else None


def _is_tokens(text: str) -> bool:
    """Whether these are Corel's own tokens, as they are or through ``latent`` numbers."""
    if not text.startswith(BLOB_TOKENS):
        return False
    name, parameters = parse_named(text)
    if set(parameters) - {"latent"}:
        raise BadInput(f"{BLOB_TOKENS} have one parameter, latent; {text!r} names another")
    if not all(is_whole(value, 1) for value in parameters.values()):
        raise BadInput(f"latent is a whole number from 1 on; {text!r} says otherwise")
    return name == BLOB_TOKENS

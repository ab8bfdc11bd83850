"""Features of a benchmark's pictures by names: ``blob-tokens+dense-sift``, ``2*cnn+blocks``.

Beside extractors there is ``blob-tokens``: the regions that the makers of Corel found in each
picture, as they published them. No extractor can make them of pixels, so they are rows that come
with the benchmark. ``blob-tokens(latent=100)`` are the same through the space that tokens and
words share (`latent_rows`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from scipy.sparse import csr_array, hstack, issparse

from visterm.errors import BadInput
from visterm.experiments.runner.latent_space import latent_rows
from visterm.experiments.runner.protocol import Protocol
from visterm.experiments.runner.row_cache import keep_rows, kept_rows
from visterm.experiments.runner.runs import extract, extract_development
from visterm.features import Extractor, parse_features
from visterm.features.bag_of_visterms import Bag
from visterm.features.blobs.blobs import count_blob_tokens
from visterm.features.concatenation import join_rows
from visterm.features.extractor import Rows
from visterm.features.notation import parse_named, weighted_parts
from visterm.features.parameters import is_whole
from visterm.features.visterm_weighting import visterm_weights, weigh_visterms
from visterm.progress import Progress, silent

BLOB_TOKENS = "blob-tokens"
BLOCKS_FOR = {"vectors": "blocks", "counts": "blocks", "blocks": "block-counts"}
"""Block features for what a model takes: visterms, or the blocks themselves."""

Parts = tuple[Rows, ...]
"""Rows of the training, validation and, where they are wanted, test pictures."""


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
    seed : int
    kept : Path, optional
        A folder where vectors are kept for the next time. Not those of an ``onnx:`` file, which
        may change under its name.
    about : str
        What tells these pictures from others there.
    """

    def __init__(
        self,
        protocol: Protocol,
        *,
        test: bool = True,
        n_jobs: int | None = None,
        seed: int = 0,
        kept: Path | None = None,
        about: str = "",
    ) -> None:
        self.protocol = protocol
        self.test = test
        self.kept = kept
        self.about = about
        self.n_jobs = n_jobs or os.cpu_count() or 1
        self.seed = seed
        self._vectors: dict[str, Parts] = {}
        self._counts: dict[str, Parts] = {}

    def vectors(self, features: str, *, progress: Progress = silent) -> Parts:
        """Vectors of unit length; several parts side by side, each of unit length before."""
        weights, names = weighted_parts(features)
        self._have(self._vectors, "vectors", names, progress)
        found = [self._vectors[name] for name in names]
        if len(found) == 1:
            return found[0]
        return tuple(join_rows(rows, weights) for rows in zip(*found, strict=True))

    def counts(self, features: str, *, progress: Progress = silent) -> Parts:
        """Visterm counts, side by side, for the models that take them."""
        _, names = weighted_parts(features)
        for name in names:
            if not _is_tokens(name) and not isinstance(parse_features(name), Bag):
                raise BadInput(f"{name} has no visterms to count; this model needs some")
        self._have(self._counts, "counts", names, progress)
        found = [self._counts[name] for name in names]
        return tuple(csr_array(hstack(rows, format="csr")) for rows in zip(*found, strict=True))

    def _have(
        self, known: dict[str, Parts], form: str, names: Sequence[str], progress: Progress
    ) -> None:
        """Extract what is not known yet and was not kept, and keep it in every form it has."""
        for name in names:
            path = self._path(name, form)
            if path is not None and name not in known and (rows := kept_rows(path)):
                known[name] = rows
        new = [name for name in names if name not in known]
        self._extract(new, progress)
        for name in new:
            for other, made in (("vectors", self._vectors), ("counts", self._counts)):
                if name in made and (path := self._path(name, other)) is not None:
                    keep_rows(path, made[name])

    def _extract(self, names: Sequence[str], progress: Progress) -> None:
        for name in names:
            if _is_tokens(name):
                self._counts[name], self._vectors[name] = self._blob_tokens(name)
                continue
            extractor = parse_features(name, n_jobs=self.n_jobs, random_state=self.seed)
            if isinstance(extractor, Bag):
                extractor.set_params(weighting="counts")
                self._counts[name] = self._extracted(extractor, progress)
                self._vectors[name] = tuple(
                    extractor.weigh(_sparse(rows)) for rows in self._counts[name]
                )
            else:
                self._vectors[name] = self._extracted(extractor, progress)

    def _path(self, name: str, form: str) -> Path | None:
        if self.kept is None or _is_tokens(name) or name.startswith("onnx:"):
            return None
        content = (name, parse_features(name).version, self.test, self.seed, self.about)
        digest = hashlib.sha256(repr(content).encode()).hexdigest()[:32]
        return self.kept / f"{digest}{'.counts' if form == 'counts' else ''}.npz"

    def _extracted(self, extractor: Extractor, progress: Progress) -> Parts:
        if not self.test:
            return extract_development(self.protocol, extractor, progress=progress)
        found = extract(self.protocol, extractor, progress=progress)
        return found.training, found.validation, found.test

    def _blob_tokens(self, name: str) -> tuple[Parts, Parts]:
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
        vectors = [weigh_visterms(part, idf, root=False) for part in counts]
        latent = parse_named(name).parameters.get("latent")
        if latent is None:
            return tuple(counts), tuple(vectors)
        captions, words = self.protocol.captions[train], self.protocol.vocabulary
        return tuple(counts), latent_rows(vectors, captions, words.idf, latent)


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


def _sparse(rows: Rows) -> csr_array:
    return rows if issparse(rows) else csr_array(rows)

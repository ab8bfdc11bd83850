"""What the starter learns from: IAPR TC-12's pictures, and the words its people used for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.corel_vectors import vectors_by_path
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.datasets import read_iaprtc12
from visterm.features import CNN, parse_features
from visterm.features.cnn.recipe import normalised
from visterm.text import Vocabulary
from visterm.text.tokens import STOP_WORDS
from visterm.text.unoffered_words import PEOPLE

LEAST = 20
"""A word of fewer captions teaches little."""
HELD_OUT = 0.2
"""Part of the folders whose pictures choose. Whole folders, because neighbours are often pictures
of one place: a random draw would hardly ask how well words are seen anywhere else."""

# Of the words for what people are, those that plainly name whom a picture shows are trained, and
# offered to nobody. The others, by skin, hair, age or origin, are not for a model to say of
# strangers.
_WHO = """
man men woman women lady ladies gentleman guy boy boys girl girls child children kid kids baby adult
adults
"""
# Names of people, makes and countries, numbers, what is not for every screen, and what other
# languages spell like another known word (a French hand and jacket, a Dutch motorcycle).
_NAMES = """
agassi safin davydenko henman schnyder ullyett raymond bryan zimonjic ayers toyota tarago italy
zealand penis penises 13 14 etc main vest motor-cyclists
"""
NOT_TRAINED = (PEOPLE - frozenset(_WHO.split())) | frozenset(_NAMES.split())


@dataclass(frozen=True, eq=False)
class Corpus:
    """Pictures with vectors and words; some teach, some choose, some are looked at once."""

    vectors: NDArray[np.float32]
    activations: NDArray[np.float32]
    """What the light network's vectors are made of, as its classifier takes it."""
    words: csr_array
    """Pictures × words, 1 where labels or sentences hold the word."""
    vocabulary: Vocabulary
    labels: frozenset[str]
    training: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def development(self) -> NDArray[np.int64]:
        return np.sort(np.concatenate([self.training, self.validation]))


def read_corpus(
    folder: Path | None,
    kept: Path | None,
    seed: int,
    features: str | None = None,
    vectors: Path | None = None,
) -> Corpus:
    """Read captions, and describe the pictures unless ``kept`` holds what the light network saw.

    ``features`` name another network to learn from; ``vectors`` is a folder that keeps its vectors,
    as benchmarks do.
    """
    data = read_iaprtc12(folder)
    pictures = data.train + data.tested
    texts = [
        f"{labels} {sentences}"
        for labels, sentences in zip(pictures.words, pictures.captions, strict=True)
    ]
    trained = len(data.train)
    vocabulary = Vocabulary.from_captions(
        texts[:trained], min_captions=LEAST, stop_words=STOP_WORDS | NOT_TRAINED
    )
    words = vocabulary.counts(texts).astype(np.float32)
    words.data[:] = 1
    activations = _activations(pictures.paths, kept)
    folders = np.array([path.parent.name for path in data.train.paths])
    names = np.random.default_rng(seed).permutation(np.unique(folders))
    held = np.isin(folders, names[: round(HELD_OUT * len(names))])
    seen = normalised(activations, CNN().normalise)
    if features is not None:
        root = pictures.paths[0].parents[2]
        extractor = parse_features(features).fit([])
        seen = vectors_by_path("iaprtc12", root, pictures.paths, vectors, extractor)
    return Corpus(
        seen,
        activations,
        words,
        vocabulary,
        frozenset(" ".join(data.train.words).split()),
        np.flatnonzero(~held),
        np.flatnonzero(held),
        np.arange(trained, len(texts)),
    )


def _activations(paths: list[Path], kept: Path | None) -> NDArray[np.float32]:
    if kept is not None and kept.is_file():
        found = np.load(kept)
        if len(found) != len(paths):
            raise SystemExit(f"{kept} holds {len(found)} pictures, not {len(paths)}")
        return np.asarray(found, dtype=np.float32)
    found = np.asarray(CNN(normalise="none", n_jobs=2).transform(paths), dtype=np.float32)
    if kept is not None:
        np.save(kept, found)
    return found

"""What the starter learns from: IAPR TC-12's pictures, and the words its people used for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.datasets.iaprtc12 import read_iaprtc12
from visterm.features import CNN
from visterm.features.cnn.recipe import normalised
from visterm.text import Vocabulary
from visterm.text.stop_words import STOP_WORDS

LEAST = 20
"""A word of fewer captions teaches little, and cannot be judged."""
HELD_OUT = 0.2
"""Part of the folders whose pictures choose. Whole folders, because neighbours are often pictures
of one place: a random draw would hardly ask how well words are seen anywhere else."""

# Numbers, places in the picture, words about pictures, and filling words: true of many captions,
# seen in none.
_NOT_SEEN = """
one two three four five six seven eight nine ten eleven twelve dozen several single double couple
left right middle centre center top bottom front back side corner edge level line round area space
lot bit part kind type row background foreground next further behind underneath opposite far near
view picture photo image shot scene close-up made taken taking different same various distant
slightly partly directly somewhat very quite almost only even still together second first closed
big large small smaller little long short huge enormous giant full empty main typical similar
looking seen wearing holding having standing surrounded covered leading supports showing getting
visible hanging way place life body country name information formation distinctive salient like
shape natural special bizarre well clear plain deep low thick hard open broken golden spare sponsor
gear safety zone pile thunderous structure waiting setting construction old new
young good nice beautiful modern ancient traditional local human
"""
# What people are, by skin, hair, age, sex or origin: not for a model to say of strangers.
_NOT_SAID = """
dark-skinned light-skinned dark-haired fair-haired blond blonde bald native natives indigenous local
locals peruvian bolivian american australian korean brazilian chinese japanese indian african
european german english male female elderly older younger fat thin
"""
NOT_TRAINED = frozenset((_NOT_SEEN + _NOT_SAID).split())


@dataclass(frozen=True, eq=False)
class Corpus:
    """Pictures with vectors and words; some teach, some choose, some are looked at once."""

    vectors: NDArray[np.float32]
    activations: NDArray[np.float32]
    """What the vectors were made of, as the network's classifier takes it."""
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


def read_corpus(folder: Path | None, kept: Path | None, seed: int) -> Corpus:
    """Read captions, and describe the pictures unless ``kept`` holds their vectors already."""
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
    return Corpus(
        normalised(activations, CNN().normalise),
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

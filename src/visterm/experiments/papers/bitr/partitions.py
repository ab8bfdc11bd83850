"""IAPR TC-12 as the BITR paper uses it: partitions, and pictures and texts as vectors.

The paper cuts all pictures into ten parts and tests on each in turn; ``partitions=1`` tests on the
first of ten parts drawn by the seed, and 0 on the test pictures that come with the benchmark. A
tenth of the other pictures chooses hyper-parameters, and is learnt from afterwards too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.datasets import CaptionedDataset, data_folder, read_iaprtc12
from visterm.errors import BadInput
from visterm.experiments.runner.protocol import Source
from visterm.experiments.runner.vector_cache import extracted, kept, recipe_of
from visterm.features import DenseSift
from visterm.models.inputs import Vectors
from visterm.progress import Progress
from visterm.text.spaces.lda import Lda

PARTS = 10
TOPICS = 100
_VISTERM_PICTURES, _TOPIC_PICTURES = 4000, 5000  # pictures that visterms and their topics come from

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class IaprExperiment:
    """All pictures of IAPR TC-12, each with its caption and labels; those to test on come last."""

    paths: list[Path]
    captions: list[str]
    labels: list[str]
    tested: int
    seed: int

    @classmethod
    def read(cls, data: Source, seed: int) -> IaprExperiment:
        """IAPR TC-12 from its folder, or another data set in its place."""
        if not isinstance(data, CaptionedDataset):
            data = read_iaprtc12(data_folder("iaprtc12", data).resolve())
        every = data.development + data.tested
        return cls(every.paths, every.captions, every.words, len(data.tested), seed)

    def partitions(self, count: int) -> Iterator[Partition]:
        """The first so many of ten parts as test pictures, or the benchmark's own for 0."""
        n = len(self.paths)
        if not 0 <= count <= PARTS:
            raise BadInput(f"there are 1 to {PARTS} partitions, or 0 for the given split")
        if count == 0:
            yield self._partition(np.arange(n - self.tested, n), "given split")
        parts = np.array_split(np.random.default_rng(self.seed).permutation(n), PARTS)
        for number in range(count):
            yield self._partition(np.sort(parts[number]), f"part {number + 1} of {PARTS}")

    def _partition(self, test: Numbers, name: str) -> Partition:
        rest = np.setdiff1d(np.arange(len(self.paths)), test)
        order = np.random.default_rng(self.seed).permutation(rest)
        held = len(rest) // PARTS
        return Partition(name, np.sort(order[held:]), np.sort(order[:held]), test)


@dataclass(frozen=True, eq=False)
class Partition:
    """Numbers of the training, validation and test pictures."""

    name: str
    train: Numbers
    validation: Numbers
    test: Numbers

    @cached_property
    def development(self) -> Numbers:
        """All that are learnt from in the end: training and validation pictures."""
        return np.sort(np.concatenate([self.train, self.validation]))


def visual_topics(iapr: IaprExperiment, n_jobs: int, progress: Progress) -> NDArray[np.float32]:
    """Mixtures of 100 visual topics: SIFT on a grid at three scales, 1,000 visterms, LDA.

    The paper learns visterms and topics from pictures of another benchmark; here some of the
    training pictures are used for both, without their captions, for all partitions alike.
    """
    order = np.random.default_rng(iapr.seed).permutation(len(iapr.paths) - iapr.tested)
    extractor = DenseSift(
        visterms=1000,
        weighting="counts",
        root=False,
        max_side=176,
        n_jobs=n_jobs,
        random_state=iapr.seed,
    )
    training = [iapr.paths[i] for i in np.sort(order[:_VISTERM_PICTURES])]
    lda = Lda(TOPICS, max_iter=2, random_state=iapr.seed)

    def mixtures() -> Vectors:
        counts = csr_array(extracted(iapr.paths, extractor, training, progress))
        lda.fit(counts[np.sort(order[:_TOPIC_PICTURES])], progress=progress)
        return lda.transform(counts)

    recipe = f"{lda.get_params()} {recipe_of(iapr.paths, extractor, training)}"
    return np.asarray(kept("topics", recipe, mixtures), np.float32)

"""How a benchmark is run: which pictures teach, which choose, which are looked at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.datasets.captioned_pictures import CaptionedPictures, read_tsv
from visterm.datasets.corel5k import Corel5k, read_corel5k
from visterm.errors import BadInput
from visterm.text import Relevance, Vocabulary, relevance_from_captions


@dataclass(frozen=True)
class Protocol:
    """Development pictures (split for validation), test pictures, words and queries.

    Attributes
    ----------
    vocabulary : Vocabulary
        Weighted by the development captions.
    max_words : int or None
        Largest query made from a caption.
    held_out : int
        How many development pictures choose hyper-parameters.
    corel : Corel5k, optional
        Where the original blob tokens are.
    """

    name: str
    development: CaptionedPictures
    test: CaptionedPictures
    vocabulary: Vocabulary
    max_words: int | None
    held_out: int
    seed: int = 0
    corel: Corel5k | None = None

    @cached_property
    def captions(self) -> csr_array:
        """Development pictures × words."""
        return self.vocabulary.counts(self.development.captions)

    @cached_property
    def split(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of the training and of the validation pictures."""
        order = np.random.default_rng(self.seed).permutation(len(self.development))
        teaching = len(self.development) - self.held_out
        return np.sort(order[:teaching]), np.sort(order[teaching:])

    @cached_property
    def test_relevance(self) -> Relevance:
        return self._relevance(self.vocabulary.counts(self.test.captions))

    @cached_property
    def development_relevance(self) -> Relevance:
        return self._relevance(self.captions)

    def relevance_of(self, numbers: NDArray[np.int64]) -> Relevance:
        """Queries that some of these development pictures answer."""
        return self._relevance(self.captions[numbers])

    def _relevance(self, captions: csr_array) -> Relevance:
        return relevance_from_captions(captions, self.vocabulary.idf, max_words=self.max_words)


def protocol_of(dataset: str, folder: Path | None = None, *, seed: int = 0) -> Protocol:
    """A benchmark by its name, or the table of one's own pictures."""
    if dataset == "corel5k":
        return corel5k(folder, seed=seed)
    if dataset.endswith(".tsv"):
        return captioned_folder(Path(dataset), seed=seed)
    raise BadInput(f"no dataset called {dataset!r}; give corel5k or a table ending in .tsv")


def corel5k(folder: Path | None = None, *, seed: int = 0) -> Protocol:
    """Corel as the papers use it: words of at least two test captions, queries of any length."""
    data = read_corel5k(folder)
    words = Vocabulary.from_captions(data.test.captions, min_captions=2, language=None)
    vocabulary = words.weighted_by(data.development.captions)
    return Protocol("corel5k", data.development, data.test, vocabulary, None, 500, seed, data)


def captioned_folder(table: Path, *, seed: int = 0) -> Protocol:
    """Any table of ``path<TAB>words``: a fifth of the pictures is the test, drawn by the seed."""
    return split_off_test(read_tsv(table), seed=seed)


def split_off_test(
    pictures: CaptionedPictures,
    *,
    seed: int = 0,
    share: float = 0.2,
    language: str | None = "english",
) -> Protocol:
    """Draw test pictures from captioned ones; a tenth of the rest is for validation."""
    if len(pictures) < 20:
        raise BadInput(
            f"{len(pictures)} captioned pictures are too few to test on; 20 is the least"
        )
    order = np.random.default_rng(seed).permutation(len(pictures))
    tested = max(1, round(share * len(pictures)))
    test = _take(pictures, np.sort(order[:tested]), "test")
    development = _take(pictures, np.sort(order[tested:]), "development")
    vocabulary = Vocabulary.from_captions(development.captions, min_captions=2, language=language)
    if len(vocabulary) == 0:
        raise BadInput("no word stands in two captions: there is nothing to learn")
    held_out = max(1, len(development) // 10)
    return Protocol(pictures.name, development, test, vocabulary, 4, held_out, seed)


def _take(pictures: CaptionedPictures, numbers: NDArray[np.int64], name: str) -> CaptionedPictures:
    return CaptionedPictures(
        [pictures.paths[i] for i in numbers], [pictures.captions[i] for i in numbers], name
    )

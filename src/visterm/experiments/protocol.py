"""How a data set is run: which pictures train, which validate, which are tested on once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.datasets import (
    CaptionedDataset,
    CaptionedPictures,
    Corel5k,
    QueryOptions,
    read_corel5k,
)
from visterm.errors import BadInput
from visterm.experiments.cache import data_digest
from visterm.text import Relevance, Vocabulary, relevance_from_captions

_MOST_QUERIES = 1_500_000
"""Where test captions answer more, so many are drawn; Corel's answer 2,241."""
Source = Path | CaptionedDataset | None
"""Where pictures come from: a data set, the folder of one, or None for where the data lie."""


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
    validation_given : bool
        Whether the last ``held_out`` development pictures are the data set's own validation part;
        else they are drawn by the seed.
    max_queries : int
        If captions make more, so many are drawn, always the same ones.
    """

    name: str
    development: CaptionedPictures
    test: CaptionedPictures
    vocabulary: Vocabulary
    max_words: int | None
    held_out: int
    seed: int = 0
    corel: Corel5k | None = None
    validation_given: bool = False
    max_queries: int = _MOST_QUERIES

    @cached_property
    def digest(self) -> str:
        """Changes with every picture, text and word, and with who trains, validates and tests."""
        both = self.development + self.test
        words = self.vocabulary.words, self.max_words, self.held_out, self.validation_given
        drawn = "" if self.max_queries == _MOST_QUERIES else f" {self.max_queries}"
        return f"{data_digest(both.paths, both.words)} {len(self.test)} {words} {self.seed}{drawn}"

    @cached_property
    def captions(self) -> csr_array:
        """Development pictures × words."""
        return self.vocabulary.counts(self.development.words)

    @cached_property
    def split(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of the training and of the validation pictures."""
        trained = len(self.development) - self.held_out
        if self.validation_given:
            return np.arange(trained), np.arange(trained, len(self.development))
        order = np.random.default_rng(self.seed).permutation(len(self.development))
        return np.sort(order[:trained]), np.sort(order[trained:])

    @cached_property
    def test_relevance(self) -> Relevance:
        return self._relevance(self.vocabulary.counts(self.test.words))

    @cached_property
    def seen_queries(self) -> NDArray[np.bool_]:
        """Which test queries some development picture answers."""
        return self._answered(self.captions)

    @cached_property
    def seen_in_training(self) -> NDArray[np.bool_]:
        """Which test queries some training picture answers; validation pictures do not count."""
        return self._answered(self.captions[self.split[0]])

    def _answered(self, captions: csr_array) -> NDArray[np.bool_]:
        """Each test query is looked up in captions: their own queries would be far too many."""
        holders = captions.tocsc()
        postings = [
            holders.indices[holders.indptr[t] : holders.indptr[t + 1]]
            for t in range(holders.shape[1])
        ]
        queries = self.test_relevance.queries
        seen = np.zeros(len(self.test_relevance), dtype=bool)
        for number, (first, last) in enumerate(pairwise(queries.indptr)):
            holding = sorted((postings[t] for t in queries.indices[first:last]), key=len)
            seen[number] = not holding or len(reduce(_common, holding)) > 0
        return seen

    def relevance_of(self, numbers: NDArray[np.int64]) -> Relevance:
        """Queries that some of these development pictures answer."""
        return self._relevance(self.captions[numbers])

    def _relevance(self, captions: csr_array) -> Relevance:
        return relevance_from_captions(
            captions, self.vocabulary.idf, max_words=self.max_words, max_queries=self.max_queries
        )


def protocol_of(data: CaptionedDataset, *, seed: int = 0, share: float = 0.2) -> Protocol:
    """How a data set is run: its own parts where they are given, others drawn by the seed.

    Where no test pictures are given, ``share`` of the pictures are drawn for it: whole pictures,
    never some of the captions of one.
    """
    if data.test is None:
        data = with_test(data, share=share, seed=seed)
    development, test = data.development, data.tested
    given = data.validation is not None
    held_out = len(data.validation) if data.validation is not None else data.held_out
    return Protocol(
        data.name,
        development,
        test,
        data.queries.vocabulary(development.words, test.words),
        data.queries.max_words,
        held_out or max(1, len(development) // 10),
        seed,
        data if isinstance(data, Corel5k) else None,
        validation_given=given,
    )


def corel5k(data: Source = None, *, seed: int = 0) -> Protocol:
    """Corel as the papers use it, from its folder; or another data set in its place."""
    if not isinstance(data, CaptionedDataset):
        data = read_corel5k(data)
    return protocol_of(data, seed=seed)


def dealt_out(
    data: CaptionedDataset, shares: Sequence[float], *, seed: int = 0, max_words: int | None = None
) -> Protocol:
    """All pictures of a data set dealt out anew, by the shares that train, validate and test."""
    every = data.development + data.tested
    order = np.random.default_rng(seed).permutation(len(every))
    ends = np.cumsum(shares) / sum(shares) * len(every)
    parts = np.split(order, ends[:-1].round().astype(int))
    train, validation, test = (every.take(np.sort(part)) for part in parts)
    queries = replace(data.queries, language=None, max_words=max_words, words_from="test")
    name = f"{data.name}, dealt out anew"
    return protocol_of(CaptionedDataset(name, train, test, validation, queries), seed=seed)


def split_off_test(
    pictures: CaptionedPictures,
    *,
    seed: int = 0,
    share: float = 0.2,
    language: str | None = "english",
) -> Protocol:
    """Draw test pictures from captioned ones; a tenth of the rest is for validation."""
    queries = QueryOptions(language=language)
    return protocol_of(
        CaptionedDataset(pictures.name, pictures, queries=queries), seed=seed, share=share
    )


def with_test(data: CaptionedDataset, *, share: float, seed: int = 0) -> CaptionedDataset:
    """The data set with test pictures drawn from its training ones."""
    pictures = data.train
    if len(pictures) < 20:
        raise BadInput(
            f"{len(pictures)} captioned pictures are too few to test on; 20 is the least"
        )
    order = np.random.default_rng(seed).permutation(len(pictures))
    tested = max(1, round(share * len(pictures)))
    parts = (np.sort(order[tested:]), "development"), (np.sort(order[:tested]), "test")
    train, test = (pictures.take(numbers, name) for numbers, name in parts)
    return replace(data, train=train, test=test)


def _common(some: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.intersect1d(some, others, assume_unique=True)

"""The training set: captioned pictures as matrices, with a part held out for validation."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.estimation import mention_rate
from visterm.collection.media.captions import to_learn_from
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import findable, vectors_of
from visterm.collection.training.version_files import at_large
from visterm.errors import VistermError
from visterm.text.tokens import STOP_WORDS

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from visterm.features.extractor import Rows as Vectors
    from visterm.models import Pamir
    from visterm.starter import Starter
    from visterm.text import Relevance, Vocabulary

HELD_OUT = 0.1
_ENOUGH_TO_JUDGE = 10
"""With fewer held-out pictures a comparison would be noise."""
_MANY = 100
"""From so many captions on, a word must stand in two: one picture teaches nothing to others."""
_MOST_NEGATIVES = 1000
_LARGEST_QUERY = 4


class TooFewCaptions(VistermError):
    """There is nothing that a model could learn from."""


@dataclass(frozen=True)
class TrainingSet:
    """Vectors, captions and words; ``held`` says which pictures are kept out of learning."""

    pictures: NDArray[np.int64]
    vectors: Vectors
    captions: csr_array
    vocabulary: Vocabulary
    held: NDArray[np.bool_]
    initial: Pamir | None = None
    """Where learning starts, if not from zero."""
    uncaptioned: int = 0
    """How many of the pictures, the last ones, have no caption, and serve as negatives only."""
    mention_rate: float = 1.0
    """How much of what a person would accept for a picture captions mention."""
    others: Vectors | None = None
    """Vectors of some pictures without captions, if there are any: they say how pictures vary."""

    def __len__(self) -> int:
        """How many captioned pictures there are."""
        return len(self.held) - self.uncaptioned

    @property
    def words(self) -> int:
        """How many words captions hold; the vocabulary may know more."""
        return len(np.unique(self.captions.indices))

    @property
    def frequency(self) -> NDArray[np.float64]:
        """The part of captions that hold each word, or would, by all that is known."""
        if self.initial is not None:
            return np.exp(-self.vocabulary.idf)
        held = np.bincount(self.captions.indices, minlength=len(self.vocabulary))
        return held / len(self.held)

    @property
    def can_be_judged(self) -> bool:
        return int(self.held.sum()) >= _ENOUGH_TO_JUDGE and bool(self.captions[self.held].nnz)

    def digest(self, *more: str) -> str:
        """What tells these pictures and captions, and what more is said, from others."""
        digest = hashlib.sha256(repr((self.vocabulary.words, self.vectors.shape, more)).encode())
        words = self.captions
        for part in (self.pictures, self.held, words.data, words.indices, words.indptr):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def queries(self) -> Relevance:
        """What the held-out pictures' captions ask for, among the held-out pictures.

        Of very many queries some are drawn, always the same ones.
        """
        from visterm.text.relevance import VALIDATION_QUERIES, relevance_from_captions

        return relevance_from_captions(
            self.captions[self.held],
            self.vocabulary.idf,
            max_words=_LARGEST_QUERY,
            max_queries=VALIDATION_QUERIES,
        )


def read_training_set(
    catalogue: Catalogue,
    extractor: str,
    starter: Starter | None = None,
    validation: Collection[int] | None = None,
) -> TrainingSet:
    """Everything that can be learnt from now; a ``starter`` brings its words and a beginning.

    The pictures of ``validation`` are held out, or else a tenth by their content.

    Raises
    ------
    TooFewCaptions
        Where there is too little, with what is missing.
    """
    examples = _captioned(catalogue, extractor)
    texts = [text for *_, text in examples]
    captioned = [number for number, *_ in examples]
    vectors = vectors_of(catalogue, extractor, captioned)
    vocabulary = _vocabulary(texts)
    negatives: list[int] = []
    if _needs_negatives(vocabulary.counts(texts)):
        negatives = _uncaptioned(catalogue, extractor, captioned)
        vocabulary = vocabulary.weighted_by([*texts, *[""] * len(negatives)])
    initial = None
    if starter is not None:
        vocabulary, initial = starter.initial_model(vocabulary, len(texts) + len(negatives))
    captions = vocabulary.counts([*texts, *[""] * len(negatives)])
    worded = np.diff(captions.indptr) > 0
    _check_enough(int(worded.sum()), len(np.unique(captions.indices)), len(negatives))
    worded[len(texts) :] = True
    kept = [one for one, has_words in zip(examples, worded[: len(texts)], strict=True) if has_words]
    captions = captions[np.flatnonzero(worded)]
    pictures = [number for number, *_ in kept] + negatives
    if pictures != captioned:
        vectors = vectors_of(catalogue, extractor, pictures)
    if validation is None:
        held = np.array([held_out(digest) for _, digest, _ in kept] + [False] * len(negatives))
    else:
        held = np.isin(pictures, [*validation]) & ~np.isin(pictures, negatives)
    others = at_large(catalogue, extractor, captioned)
    return TrainingSet(
        np.array(pictures),
        vectors,
        captions,
        vocabulary,
        held,
        initial,
        len(negatives),
        mention_rate(texts),
        others if others.shape[0] else None,
    )


def check_captions(catalogue: Catalogue, extractor: str) -> None:
    """Raise `TooFewCaptions` as `read_training_set` does, without vectors: they may be damaged."""
    examples = _captioned(catalogue, extractor)
    texts = [text for *_, text in examples]
    captions, negatives = _vocabulary(texts).counts(texts), 0
    if _needs_negatives(captions):
        negatives = len(_uncaptioned(catalogue, extractor, [number for number, *_ in examples]))
    worded = int((np.diff(captions.indptr) > 0).sum())
    _check_enough(worded, len(np.unique(captions.indices)), negatives)


def _captioned(catalogue: Catalogue, extractor: str) -> list[tuple[int, bytes, str]]:
    """Id, content hash and text of every picture that has words and a vector, by id."""
    captioned = list(to_learn_from(catalogue, extractor))
    if not captioned:
        raise TooFewCaptions(
            "no picture has a caption yet; give some with visterm caption PICTURE WORDS or visterm "
            "caption --from TABLE (keywords inside picture files are found by visterm add)"
        )
    return captioned


def _vocabulary(texts: list[str]) -> Vocabulary:
    """The words and names of captions; of many captions, those that stand in two or more."""
    from visterm.text import Vocabulary
    from visterm.text.names import names_in

    return Vocabulary.from_captions(
        texts,
        min_captions=2 if len(texts) >= _MANY else 1,
        stop_words=STOP_WORDS,
        names=names_in(texts, STOP_WORDS),
    )


def _check_enough(captioned: int, words: int, negatives: int) -> None:
    if captioned < 2:
        raise TooFewCaptions(
            f"{'one captioned picture is' if captioned else 'captions without words are'} too few "
            "to learn from (caption at least 2)"
        )
    if words < 2 and not negatives:
        raise TooFewCaptions(
            f"one word in all {captioned} captions is too few to learn from (no picture is without "
            "it; add others, or caption some with other words)"
        )


def _needs_negatives(captions: csr_array) -> bool:
    """Whether some word stands in all of a few captions, so that they cannot say what it is not."""
    worded = int((np.diff(captions.indptr) > 0).sum())
    if not 1 < worded < _MANY:
        return False
    return bool(np.bincount(captions.indices).max() == worded)


def _uncaptioned(catalogue: Catalogue, extractor: str, captioned: list[int]) -> list[int]:
    """Some pictures without a caption: who did not caption them most likely does not mean them."""
    others = np.setdiff1d(findable(catalogue, extractor), captioned)
    if len(others) > _MOST_NEGATIVES:
        others = np.random.default_rng(0).choice(others, _MOST_NEGATIVES, replace=False)
    return sorted(others.tolist())


def held_out(digest: bytes) -> bool:
    """Whether a picture is kept to judge by: a matter of its content, so that it never changes."""
    # Not the first bytes: whoever else deals pictures out by hash would deal them the same way.
    return int.from_bytes(digest[-4:], "big") < HELD_OUT * 2**32

"""The space of words: a number for each word of the vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.progress import Progress, silent
from visterm.text.spaces.space import TextSpace, texts_of
from visterm.text.vocabulary import Vocabulary
from visterm.text.weighting import weigh_queries


class WordVectors(TextSpace):
    """Weights of a vocabulary's words, learnt from captions: what word-based spaces share."""

    min_captions: int
    language: str | None
    stop_words: Sequence[str] | None

    vocabulary_: Vocabulary
    idf_: NDArray[np.float64]

    def fit(self, captions: Sequence[str], *, progress: Progress | None = None) -> Self:
        report = progress or silent
        report("weighing words", 0, 1)
        self.vocabulary_, _ = self._learn_words(captions)
        self.idf_ = self.vocabulary_.idf
        report("weighing words", 1, 1)
        return self

    def _learn_words(self, captions: Sequence[str]) -> tuple[Vocabulary, csr_array]:
        """The vocabulary of the captions, and their counts."""
        texts = texts_of(captions)
        if not texts:
            raise BadInput("no captions: a text space needs some to learn from")
        vocabulary = Vocabulary.from_captions(
            texts,
            min_captions=self.min_captions,
            stop_words=self._stopped(),
            language=self.language,
        )
        if not len(vocabulary):
            raise BadInput(
                f"no word stands in {self.min_captions} captions; give more captions, or a "
                "smaller min_captions"
            )
        return vocabulary, vocabulary.counts(texts)

    def _stopped(self) -> Sequence[str]:
        """Words to leave out: those given, or else those that only hold English together."""
        if self.stop_words is not None:
            return self.stop_words
        if self.language not in (None, "english"):
            return ()
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS)

    @property
    def words_(self) -> tuple[str, ...]:
        return self.vocabulary_.words

    @property
    def keys_(self) -> tuple[str, ...]:
        return self.vocabulary_.keys

    def _arrays(self) -> dict[str, NDArray[Any]]:
        words: dict[str, NDArray[Any]] = {"idf_": self.vocabulary_.idf}
        words |= _texts("words", self.vocabulary_.words) | _texts("keys", self.vocabulary_.keys)
        return words | {name: getattr(self, name) for name in self.arrays if name not in words}

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.vocabulary_ = Vocabulary(
            _read_texts(arrays, "words"), arrays["idf_"], self.language, _read_texts(arrays, "keys")
        )
        for name in self.arrays:
            setattr(self, name, arrays[name])


@dataclass(repr=False, eq=False)
class Words(WordVectors):
    """One dimension a word, ``q_t ∝ b_t·idf_t``: the space that word search uses.

    Parameters
    ----------
    min_captions : int
        Words of fewer captions are left out.
    binary : bool
        Presence instead of term frequency.
    language : str or None
        Language whose singular and plural are one word; None takes words as written.
    stop_words : sequence of str, optional
        Words to leave out; None leaves out those that only hold English together.

    Examples
    --------
    >>> space = Words().fit(["sun and sea", "sun and snow", "sea and sun"])
    >>> space.words_
    ('and', 'sea', 'snow', 'sun')
    >>> space.queries(["snowy sea"]).toarray().round(2).tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    """

    name = "words"
    arrays = ("idf_",)
    dense: ClassVar[bool] = False

    min_captions: int = 1
    binary: bool = True
    language: str | None = "english"
    stop_words: Sequence[str] | None = ()

    @property
    def dimensions(self) -> int:
        return len(self.vocabulary_)

    def _rows(self, texts: Sequence[str]) -> csr_array:
        return weigh_queries(
            self.vocabulary_.counts(texts), self.vocabulary_.idf, binary=self.binary
        )


def _texts(name: str, texts: Sequence[str]) -> dict[str, NDArray[np.uint8]]:
    """Texts as an array of bytes, a line each: what an array file can hold."""
    return {f"{name}.utf8": np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)}


def _read_texts(arrays: dict[str, NDArray[Any]], name: str) -> tuple[str, ...]:
    return tuple(arrays[f"{name}.utf8"].tobytes().decode().split("\n"))

"""The words a model knows: their number, their weight, and the form people write them in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.quick_dataclass import dataclass
from visterm.text.tokens import one_form, stem, tokens
from visterm.text.weighting import inverse_frequency, weigh_queries

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_BEGINNING = 3
"""Letters by which a name of several words is looked for, whatever form its first word has."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words, their inverse document frequency, and how to find them in a text.

    A word may be a name of several, as "new york"; the longest that a text holds is found.

    Attributes
    ----------
    words : tuple of str
        Each word in the form that captions write most; its place is its number in the text space.
    idf : array of shape (T,)
    language : str or None
        Language whose singular and plural have one stem; None takes words as written.
    keys : tuple of str
        The stems by which words are found; made from the words unless given.

    Examples
    --------
    >>> vocabulary = Vocabulary.from_captions(["a tree", "two trees and snow", "trees, snow"])
    >>> vocabulary.words
    ('a', 'and', 'snow', 'trees', 'two')
    >>> vocabulary.counts(["tree tree"]).toarray().tolist()
    [[0, 0, 0, 2, 0]]
    """

    words: tuple[str, ...]
    idf: NDArray[np.float64]
    language: str | None = "english"
    keys: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        # Stemming thousands of words takes longer than a search: a stored vocabulary brings them.
        keys = self.keys or tuple(self._key(word) for word in self.words)
        object.__setattr__(self, "keys", keys)
        if len(keys) != len(self.words):
            raise BadInput(f"{len(self.words)} words but {len(keys)} stems")
        if len(self.idf) != len(self.words):
            raise BadInput(f"{len(self.words)} words but {len(self.idf)} weights")
        repeated = [word for word, count in Counter(keys).items() if count > 1]
        if repeated:
            raise BadInput(f"a vocabulary holds each word once; repeated: {', '.join(repeated)}")
        object.__setattr__(self, "_number", {key: t for t, key in enumerate(keys)})
        object.__setattr__(self, "_written", {word: t for t, word in enumerate(self.words)})
        lengths: dict[str, set[int]] = {}
        for word in self.words:
            if " " in word:
                lengths.setdefault(word[:_BEGINNING], set()).add(word.count(" ") + 1)
        object.__setattr__(self, "_lengths", lengths)

    @classmethod
    def from_captions(
        cls,
        captions: Iterable[str],
        *,
        min_captions: int = 1,
        stop_words: Iterable[str] = (),
        names: Iterable[str] = (),
        language: str | None = "english",
    ) -> Vocabulary:
        """Learn the words that at least ``min_captions`` captions hold, within names or without.

        ``names`` of several words are words as well; what stands in them only is no other word.

        >>> said = ["aunt rosa", "a rosa", "aunt rosa"]
        >>> Vocabulary.from_captions(said, min_captions=2, names=["aunt rosa"]).words
        ('aunt rosa', 'rosa')
        """
        forms: dict[str, Counter[str]] = {}
        holding: Counter[str] = Counter()
        if isinstance(captions, str):
            raise BadInput(f"give a list of captions, as in [{captions!r}], not one text")
        read = [tokens(caption) for caption in captions]
        # A name in the singular and in the plural is one.
        once = {_stem(one_form(name), language): name for name in names}
        known = cls.of_words(list(once.values()), language=language)
        stemmed = [[(_stem(token, language), token) for token in known.joined(c)] for c in read]
        for caption, plain in zip(stemmed, read, strict=True):
            holding.update({key for key, _ in caption} | {_stem(one, language) for one in plain})
            for key, token in caption:
                forms.setdefault(key, Counter())[token] += 1
        stopped = {_stem(one_form(word), language) for word in stop_words}
        kept = [k for k in forms if holding[k] >= min_captions and k not in stopped]
        # Most frequent form first; between equals the shorter, then the earlier in the alphabet.
        shown = {k: min(forms[k], key=lambda w: (-forms[k][w], len(w), w)) for k in kept}
        return cls.of_words(sorted(shown.values()), language=language).weighted_by(
            " ".join(caption) for caption in read
        )

    @classmethod
    def of_words(cls, words: Sequence[str], *, language: str | None = "english") -> Vocabulary:
        """A vocabulary of given words, all of weight 1."""
        return cls(tuple(words), np.ones(len(words)), language)

    def weighted_by(self, captions: Iterable[str]) -> Vocabulary:
        """The same words, with idf from these captions."""
        return Vocabulary(self.words, inverse_frequency(self.counts(captions)), self.language)

    def first(self, count: int) -> Vocabulary:
        """The first so many of the words."""
        return self.take(range(count))

    def take(self, numbers: Iterable[int]) -> Vocabulary:
        """Some of the words, in the order given, as rare as they were.

        >>> Vocabulary.of_words(["sea", "sky", "sun"]).take([2, 0]).words
        ('sun', 'sea')
        """
        chosen = [int(number) for number in numbers]
        return Vocabulary(
            tuple(self.words[t] for t in chosen),
            self.idf[chosen],
            self.language,
            tuple(self.keys[t] for t in chosen),
        )

    def with_more(self, words: Sequence[str]) -> Vocabulary:
        """The same with further words after the others, each as rare as the rarest.

        >>> Vocabulary(("sea", "sun"), np.array([3.0, 4.0])).with_more(["anna"]).idf.tolist()
        [3.0, 4.0, 4.0]
        """
        idf = np.full(len(words), self.idf.max(initial=1.0))
        keys = tuple(self._key(word) for word in words)
        return Vocabulary(
            self.words + tuple(words), np.append(self.idf, idf), self.language, self.keys + keys
        )

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        """The first of the words, to be read in a notebook.

        >>> Vocabulary.of_words(["sea", "sky", "sun", "tree"])
        Vocabulary(4 words: sea, sky, sun, …)
        """
        some = ", ".join(self.words[:3]) + (", …" if len(self) > 3 else "")
        return f"Vocabulary({len(self)} words: {some})"

    def __contains__(self, word: str) -> bool:
        return self.number(word) is not None

    def number(self, word: str) -> int | None:
        """Place of a word in the text space, in whatever form it is written; None if unknown.

        >>> Vocabulary.of_words(["city"]).number("Cities")
        0
        """
        form = one_form(word)
        # Words typed as they are shown are found without waiting for the stemmer to load.
        found: int | None = self._written.get(form)  # type: ignore[attr-defined]
        if found is not None:
            return found
        return self._number.get(_stem(form, self.language))  # type: ignore[attr-defined]

    def joined(self, words: Sequence[str]) -> list[str]:
        """Words in order, with those joined that make up a name, the longest first.

        >>> Vocabulary.of_words(["new york", "york"]).joined(["old", "new", "york"])
        ['old', 'new york']
        """
        found, at = [], 0
        while at < len(words):
            size = self._name_at(words, at)
            found.append(" ".join(words[at : at + size]))
            at += size
        return found

    def names_with(self, word: str) -> list[int]:
        """Numbers of the names of several words that hold a word.

        >>> Vocabulary.of_words(["aunt rosa", "york"]).names_with("Rosa")
        [0]
        """
        if not self._lengths:  # type: ignore[attr-defined]
            return []
        key = f" {self._key(word)} "
        return [t for t, one in enumerate(self.keys) if " " in one and key in f" {one} "]

    def numbers_in(self, text: str) -> list[int]:
        """The words of a text in order, the names of several among them and their words as well."""
        words = tokens(text)
        names = (name for name in self.joined(words) if " " in name) if self._lengths else ()  # type: ignore[attr-defined]
        found = map(self.number, (*words, *names))
        return [number for number in found if number is not None]

    def _name_at(self, words: Sequence[str], at: int) -> int:
        """How many words a name has that begins here; 1 where none does."""
        lengths = self._lengths.get(words[at][:_BEGINNING], ())  # type: ignore[attr-defined]
        for size in sorted(lengths, reverse=True):
            if at + size <= len(words) and self.number(" ".join(words[at : at + size])) is not None:
                return size
        return 1

    def counts(self, texts: Iterable[str]) -> csr_array:
        """Texts × words: how often each text holds each word. Unknown words are passed over."""
        from scipy.sparse import csr_array

        if isinstance(texts, str):  # or each of its letters would be taken for a text
            raise BadInput(f"give a list of texts, as in [{texts!r}], not one text")
        starts, indices, data = [0], [], []
        for text in texts:
            found = Counter(self.numbers_in(text))
            for t in sorted(found):
                indices.append(t)
                data.append(found[t])
            starts.append(len(indices))
        shape = (len(starts) - 1, len(self))
        return csr_array(
            (np.array(data, dtype=np.int32), np.array(indices, dtype=np.int32), starts), shape
        )

    def query_vectors(self, texts: Sequence[str], *, binary: bool = True) -> csr_array:
        """Texts as query vectors of unit length.

        >>> words = Vocabulary(("sea", "sun"), np.array([3.0, 4.0]))
        >>> words.query_vectors(["sun over the sea"]).toarray().round(2)
        array([[0.6, 0.8]], dtype=float32)
        """
        return weigh_queries(self.counts(texts), self.idf, binary=binary)

    def to_json(self) -> dict[str, Any]:
        return {
            "words": list(self.words),
            "idf": self.idf.tolist(),
            "language": self.language,
            "keys": list(self.keys),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Vocabulary:
        return cls(
            tuple(stored["words"]),
            np.asarray(stored["idf"], float),
            stored["language"],
            tuple(stored.get("keys", ())),
        )

    def _key(self, word: str) -> str:
        return _stem(one_form(word), self.language)


def _stem(token: str, language: str | None) -> str:
    if language is None:
        return token
    return " ".join(stem(word, language) for word in token.split(" "))

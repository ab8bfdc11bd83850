"""Texts as counts of their n-grams, for measures that compare texts by what they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Tokenise = Callable[[str], list[str]]
Numbers = NDArray[np.int64]

# What NIST's mteval sets apart wherever it stands; stops, commas and hyphens have their own rules.
_APART = str.maketrans({mark: f" {mark} " for mark in '!"#$%&()*+/:;<=>?@[\\]^_`{|}~'})
_STOP_AFTER_TEXT = re.compile(r"([^0-9])([.,])")
_STOP_BEFORE_TEXT = re.compile(r"([.,])([^0-9])")
_HYPHEN_AFTER_DIGIT = re.compile(r"([0-9])-")
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_ROUGE = re.compile(r"[a-z0-9]+")


def mteval_tokens(text: str) -> list[str]:
    """Lower-case tokens as NIST's mteval-v13a cuts them, on which BLEU is counted.

    >>> mteval_tokens("a man (2.5 m tall), in a T-shirt;")
    ['a', 'man', '(', '2.5', 'm', 'tall', ')', ',', 'in', 'a', 't-shirt', ';']
    """
    line = text.lower().rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, mark in _ENTITIES:
        line = line.replace(entity, mark)
    # One rule after the other, over the whole line, is how the program does it: a stop that one
    # rule has used up as "text" is not seen by it again.
    line = f" {line} ".translate(_APART)
    line = _STOP_AFTER_TEXT.sub(r"\1 \2 ", line)
    line = _STOP_BEFORE_TEXT.sub(r" \1 \2", line)
    return _HYPHEN_AFTER_DIGIT.sub(r"\1 - ", line).split()


def rouge_tokens(text: str) -> list[str]:
    """Lower-case runs of letters and digits, as ROUGE-1.5.5 cuts them, unstemmed.

    >>> rouge_tokens("a T-shirt, blue.")
    ['a', 't', 'shirt', 'blue']
    """
    return _ROUGE.findall(text.lower())


class Ngrams:
    """Counts of the n-grams of many texts, ``counts[n - 1]`` being texts × distinct n-grams.

    Examples
    --------
    >>> both = Ngrams(["a blue sky", "a blue blue sea"], rouge_tokens, longest=2)
    >>> both.lengths.tolist(), both.shared([0], [1], 1).tolist(), both.shared([0], [1], 2).tolist()
    ([3, 4], [2], [1])
    """

    def __init__(self, texts: Sequence[str], tokenise: Tokenise, longest: int) -> None:
        if longest < 1:
            raise BadInput(f"n-grams have 1 or more tokens, not {longest}")
        cut = [tokenise(text) for text in texts]
        self.lengths = np.fromiter(map(len, cut), np.int64, len(cut))
        numbers: dict[str, int] = {}
        tokens = np.fromiter(
            (numbers.setdefault(token, len(numbers)) for token in chain.from_iterable(cut)),
            np.int64,
            int(self.lengths.sum()),
        )
        owners = np.repeat(np.arange(len(cut)), self.lengths)
        self.counts = [
            _counted(tokens, owners, len(cut), length) for length in range(1, longest + 1)
        ]

    def shared(
        self, left: Sequence[int] | Numbers, right: Sequence[int] | Numbers, n: int
    ) -> Numbers:
        """How many n-grams each pair of texts shares, each counted as often as in both."""
        counts = self.counts[n - 1]
        both = counts[np.asarray(left)].minimum(counts[np.asarray(right)])
        return np.asarray(both.sum(axis=1), dtype=np.int64)

    def totals(self, n: int) -> Numbers:
        """The number of n-grams of each text."""
        return np.maximum(self.lengths - (n - 1), 0)


def _counted(tokens: Numbers, owners: Numbers, texts: int, length: int) -> csr_array:
    """N-grams of all texts at once: windows over the joined texts that stay inside one text."""
    from scipy.sparse import csr_array

    windows = max(len(tokens) - length + 1, 0)
    inside = owners[:windows] == owners[len(owners) - windows :]
    grams = tokens[:windows][inside]
    for offset in range(1, length):
        following = tokens[offset : offset + windows][inside]
        # Renumbered at every step, the pairs stay far below the largest 64-bit number.
        grams = np.unique(grams * (1 + tokens.max(initial=0)) + following, return_inverse=True)[1]
    width = int(grams.max(initial=-1)) + 1
    ones = np.ones(len(grams), dtype=np.int64)
    return csr_array((ones, (owners[:windows][inside], grams)), shape=(texts, width))

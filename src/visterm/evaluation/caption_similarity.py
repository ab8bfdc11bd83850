"""How alike two captions are: BLEU by sacrebleu and ROUGE-1 by rouge-score, for many pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput, needs_extra

if TYPE_CHECKING:
    from rouge_score.tokenizers import Tokenizer

Values = NDArray[np.float64]
LONGEST = 3


class Rouge(NamedTuple):
    """What ROUGE says of each pair; ``f1`` is the figure called ROUGE-1 here."""

    precision: Values
    recall: Values
    f1: Values


class CaptionSimilarity:
    """BLEU-1..3 and ROUGE-1 between found captions and true ones, any pair of them.

    Captions are cut once. BLEU cuts as NIST's mteval-v13a does, in lower case, ROUGE as ROUGE-1.5.5
    without stemming.

    Parameters
    ----------
    found : captions that a search can find
    true : captions to compare them with

    References
    ----------
    Papineni, Roukos, Ward and Zhu, BLEU: a method for automatic evaluation of machine translation,
    ACL 2002. Lin, ROUGE: a package for automatic evaluation of summaries, ACL workshop 2004.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("sacrebleu"), pytest.importorskip("rouge_score")
    >>> similarity = CaptionSimilarity(["a blue sky", "a red car"], ["a blue sea and a sky"])
    >>> similarity.bleu([0, 1], [0, 0]).round(3).tolist()
    [0.368, 0.123]
    >>> similarity.rouge([0], [0]).recall.tolist()
    [0.5]
    """

    def __init__(self, found: Sequence[str], true: Sequence[str]) -> None:
        with needs_extra("research", "BLEU and ROUGE need sacrebleu and rouge-score"):
            from rouge_score.rouge_scorer import RougeScorer
            from rouge_score.tokenizers import DefaultTokenizer
            from sacrebleu.metrics.bleu import BLEU
            from sacrebleu.metrics.helpers import extract_all_word_ngrams
            from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
        cut = Tokenizer13a()  # type: ignore[no-untyped-call]
        self._found, self._true = list(found), list(true)
        self._ngrams: list[tuple[Counter[tuple[str, ...]], int]] = [
            extract_all_word_ngrams(cut(text.lower().rstrip()), 1, LONGEST)
            for text in (*found, *true)
        ]
        self._compute = BLEU.compute_bleu
        words = _RememberedTokens(DefaultTokenizer(use_stemmer=False))
        self._rouge = RougeScorer(["rouge1"], tokenizer=words)

    def bleu(
        self,
        found: ArrayLike,
        true: ArrayLike,
        order: int = 1,
        *,
        smooth: bool = True,
        true_is_candidate: bool = False,
    ) -> Values:
        """BLEU of each pair, found captions as candidates against true ones as references.

        ``BP · exp(1/order · Σ_n log p_n)``: ``p_n`` is the fraction of the candidate's n-grams that
        the reference holds too, ``BP = exp(1 − r/c)`` for a candidate of c tokens that is shorter
        than its reference of r.

        Parameters
        ----------
        found, true
            Numbers of captions, pair by pair.
        order
            The longest n-grams counted, 1 to 3.
        smooth
            Whether the first length of which none is shared counts as half a shared one, the next
            as a quarter, and so on, as mteval does; else such a pair has 0. A pair without a shared
            token has 0 always, and so has a candidate shorter than ``order``.
        true_is_candidate
            Swap the roles: what text → pictures compares with the query.
        """
        counts = self._counts(found, true, order, true_is_candidate)
        method = "exp" if smooth else "none"
        return np.array([self._score(one, order, method) for one in counts])

    def corpus_bleu(
        self,
        found: ArrayLike,
        true: ArrayLike,
        order: int = 1,
        *,
        true_is_candidate: bool = False,
    ) -> float:
        """BLEU of all pairs together, as NIST's program gives it for a corpus.

        n-grams and lengths are added up over the pairs before they are divided, so that a short
        candidate is not punished where others are long; well above the mean over pairs.

        >>> import pytest
        >>> _ = pytest.importorskip("sacrebleu"), pytest.importorskip("rouge_score")
        >>> found, true = ["a sea", "a sky and a sea"], ["a sea with waves", "a sky"]
        >>> similarity = CaptionSimilarity(found, true)
        >>> round(similarity.corpus_bleu([0, 1], [0, 1]), 3)
        0.571
        """
        counts = self._counts(found, true, order, true_is_candidate)
        return self._score([sum(column) for column in zip(*counts, strict=True)], order, "none")

    def rouge(self, found: ArrayLike, true: ArrayLike) -> Rouge:
        """ROUGE-1 of each pair: shared words by words of the found and of the true caption."""
        pairs = zip(*self._pairs(found, true), strict=True)
        scores = [
            self._rouge.score(self._true[right], self._found[left])["rouge1"]
            for left, right in pairs
        ]
        return Rouge(*np.array(scores).reshape(-1, 3).T)

    def of_best(
        self, best: ArrayLike, direction: Literal["to text", "to pictures"] = "to text"
    ) -> dict[str, float]:
        """Means over every true caption and the captions found for it.

        Parameters
        ----------
        best : array of shape (true captions, k)
            For each true caption the numbers of its k best found captions (the paper's k is 5).
        direction
            ``to text`` scores the found captions against the true one; ``to pictures`` the query,
            which is the true one, against the captions of the pictures found.

        Examples
        --------
        >>> import pytest
        >>> _ = pytest.importorskip("sacrebleu"), pytest.importorskip("rouge_score")
        >>> CaptionSimilarity(["a sea", "a car"], ["a sea"]).of_best([[0, 1]])["ROUGE-1"]
        0.75
        """
        if direction not in ("to text", "to pictures"):
            raise BadInput(f"direction is 'to text' or 'to pictures', not {direction!r}")
        table = np.asarray(best)
        n = len(self._true)
        if table.ndim != 2 or len(table) != n:
            raise BadInput(f"the best captions must be {n} true captions × k; got {table.shape}")
        found, true = table.ravel(), np.repeat(np.arange(n), table.shape[1])
        swapped = direction == "to pictures"
        counts = self._counts(found, true, LONGEST, swapped)
        means = {
            f"BLEU-{order}": np.mean([self._score(one, order, "exp") for one in counts])
            for order in range(1, LONGEST + 1)
        }
        rouge = self.rouge(found, true)
        recall = rouge.precision if swapped else rouge.recall
        means |= {"ROUGE-1": rouge.f1.mean(), "ROUGE-1 recall": recall.mean()}
        return {name: float(mean) for name, mean in means.items()}

    def _counts(
        self, found: ArrayLike, true: ArrayLike, order: int, true_is_candidate: bool
    ) -> list[list[int]]:
        """Of each pair: lengths of candidate and reference, n-grams shared, n-grams there."""
        if not 1 <= order <= LONGEST:
            raise BadInput(f"BLEU-{order} is not counted here; choose an order from 1 to {LONGEST}")
        left, right = self._pairs(found, true)
        right = right + len(self._found)
        if true_is_candidate:
            left, right = right, left
        return [self._pair_counts(*pair) for pair in zip(left, right, strict=True)]

    def _pair_counts(self, candidate: int, reference: int) -> list[int]:
        (ours, length), (theirs, wanted) = self._ngrams[candidate], self._ngrams[reference]
        shared = [0] * LONGEST
        for ngram in ours.keys() & theirs.keys():
            shared[len(ngram) - 1] += min(ours[ngram], theirs[ngram])
        return [length, wanted, *shared, *(max(length - n, 0) for n in range(LONGEST))]

    def _score(self, counts: Sequence[int], order: int, method: str) -> float:
        length, wanted, *ngrams = counts
        shared, there = ngrams[:order], ngrams[LONGEST : LONGEST + order]
        found = self._compute(
            shared, there, length, wanted, smooth_method=method, max_ngram_order=order
        )
        return float(found.score) / 100

    def _pairs(
        self, found: ArrayLike, true: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        left, right = np.atleast_1d(np.asarray(found)), np.atleast_1d(np.asarray(true))
        if left.shape != right.shape or left.ndim != 1:
            raise BadInput(f"pairs need two lists of one length; got {left.shape}, {right.shape}")
        sides = (left, len(self._found), "found"), (right, len(self._true), "true")
        for numbers, count, which in sides:
            if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
                raise BadInput(f"there are {count} {which} captions, numbered from 0")
        return left.astype(np.int64), right.astype(np.int64)


class _RememberedTokens:
    """rouge-score's tokens of each text, cut once however many pairs it is in."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenize = lru_cache(maxsize=None)(tokenizer.tokenize)

"""How alike two captions are: BLEU and ROUGE-1, for many pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.evaluation.ngrams import Ngrams, mteval_tokens, rouge_tokens

Values = NDArray[np.float64]
LONGEST = 3


class Rouge(NamedTuple):
    """What ROUGE says of each pair; ``f1`` is the figure called ROUGE-1 here."""

    precision: Values
    recall: Values
    f1: Values


class CaptionSimilarity:
    """BLEU-1..3 and ROUGE-1 between found captions and true ones, any pair of them.

    Captions are cut and counted once; a pair then costs a handful of comparisons. BLEU cuts as
    NIST's mteval-v13a does, in lower case, ROUGE as ROUGE-1.5.5 without stemming.

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
    >>> similarity = CaptionSimilarity(["a blue sky", "a red car"], ["a blue sea and a sky"])
    >>> similarity.bleu([0, 1], [0, 0]).round(3).tolist()
    [0.368, 0.123]
    >>> similarity.rouge([0], [0]).recall.tolist()
    [0.5]
    """

    def __init__(self, found: Sequence[str], true: Sequence[str]) -> None:
        self._found, self._true = len(found), len(true)
        texts = [*found, *true]
        self._bleu = Ngrams(texts, mteval_tokens, LONGEST)
        self._rouge = Ngrams(texts, rouge_tokens, 1)

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
        if not 1 <= order <= LONGEST:
            raise BadInput(f"BLEU-{order} is not counted here; choose an order from 1 to {LONGEST}")
        candidate, reference = self._pairs(found, true)
        if true_is_candidate:
            candidate, reference = reference, candidate
        shared = np.stack([self._bleu.shared(candidate, reference, n + 1) for n in range(order)])
        totals = np.stack([self._bleu.totals(n + 1)[candidate] for n in range(order)])
        lengths, wanted = self._bleu.lengths[candidate], self._bleu.lengths[reference]
        unshared = 0.5 ** (shared == 0).cumsum(axis=0) if smooth else 0.0
        countable = (shared[0] > 0) & (totals[-1] > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            precisions = np.where(shared == 0, unshared, shared) / totals
            brevity = np.exp(np.minimum(0.0, 1.0 - wanted / lengths))
            scores = brevity * np.exp(np.log(precisions).mean(axis=0))
        return np.where(countable, scores, 0.0)

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

        >>> found, true = ["a sea", "a sky and a sea"], ["a sea with waves", "a sky"]
        >>> similarity = CaptionSimilarity(found, true)
        >>> round(similarity.corpus_bleu([0, 1], [0, 1]), 3)
        0.571
        """
        if not 1 <= order <= LONGEST:
            raise BadInput(f"BLEU-{order} is not counted here; choose an order from 1 to {LONGEST}")
        candidate, reference = self._pairs(found, true)
        if true_is_candidate:
            candidate, reference = reference, candidate
        lengths = self._bleu.lengths[candidate].sum(), self._bleu.lengths[reference].sum()
        shared = [self._bleu.shared(candidate, reference, n + 1).sum() for n in range(order)]
        totals = [self._bleu.totals(n + 1)[candidate].sum() for n in range(order)]
        if min(shared) == 0:
            return 0.0
        precision = np.exp(np.mean(np.log(np.array(shared) / np.array(totals))))
        return float(precision * np.exp(min(0.0, 1.0 - lengths[1] / lengths[0])))

    def rouge(self, found: ArrayLike, true: ArrayLike) -> Rouge:
        """ROUGE-1 of each pair: shared words by words of the found and of the true caption."""
        left, right = self._pairs(found, true)
        shared = self._rouge.shared(left, right, 1).astype(np.float64)
        precision = shared / np.maximum(self._rouge.lengths[left], 1)
        recall = shared / np.maximum(self._rouge.lengths[right], 1)
        both = precision + recall
        f1 = 2 * precision * recall / np.where(both > 0, both, 1.0)
        return Rouge(precision, recall, f1)

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
        >>> CaptionSimilarity(["a sea", "a car"], ["a sea"]).of_best([[0, 1]])["BLEU-1"]
        0.75
        """
        if direction not in ("to text", "to pictures"):
            raise BadInput(f"direction is 'to text' or 'to pictures', not {direction!r}")
        table = np.asarray(best)
        if table.ndim != 2 or len(table) != self._true:
            raise BadInput(
                f"the best captions must be {self._true} true captions × k; got shape {table.shape}"
            )
        found, true = table.ravel(), np.repeat(np.arange(self._true), table.shape[1])
        swapped = direction == "to pictures"
        means = {
            f"BLEU-{order}": self.bleu(found, true, order, true_is_candidate=swapped).mean()
            for order in range(1, LONGEST + 1)
        }
        rouge = self.rouge(found, true)
        recall = rouge.precision if swapped else rouge.recall
        means |= {"ROUGE-1": rouge.f1.mean(), "ROUGE-1 recall": recall.mean()}
        return {name: float(mean) for name, mean in means.items()}

    def _pairs(
        self, found: ArrayLike, true: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        left, right = np.atleast_1d(np.asarray(found)), np.atleast_1d(np.asarray(true))
        if left.shape != right.shape or left.ndim != 1:
            raise BadInput(f"pairs need two lists of one length; got {left.shape}, {right.shape}")
        for numbers, count, which in ((left, self._found, "found"), (right, self._true, "true")):
            if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
                raise BadInput(f"there are {count} {which} captions, numbered from 0")
        return left.astype(np.int64), right.astype(np.int64) + self._found

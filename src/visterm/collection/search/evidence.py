"""Captions as evidence: what is written about a picture and what is seen in it, in one score.

A score is a log-probability, ``Σ_t q_t · log P_t(p)`` over the words of a query. Sight gives the
probability P_t(p) that picture p answers word t (the word's column holds its logarithm), and what
is written changes it:

- a caption that holds t is right with probability κ: ``1 − (1 − κ)(1 − P_t)``;
- captions leave out much: one without t makes it less likely by 1 − r, r being how complete
  captions of its length are;
- a picture without caption is left as it is seen;
- the name of its file or of a folder, or text in the picture, that holds t is right with another
  probability κ', whatever captions say of it: ``1 − (1 − κ')(1 − P_t)``.

Words without a column have, instead of a sight, the fraction of captions that hold them. An
unwanted word counts ``log(1 − P_t)``. `visterm.index.scan` adds it all up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.search.request import ScoreParts
from visterm.collection.store.caption_words import CAPTION, written_stems
from visterm.collection.store.caption_words import CERTAINTY as NAME_CERTAINTY
from visterm.index.codes import log_evidence
from visterm.index.columns import WordWeights
from visterm.index.scan import Holders, Term
from visterm.quick_dataclass import dataclass
from visterm.text.tokens import STOP_WORDS

if TYPE_CHECKING:
    from visterm.collection.store.snapshot import Snapshot

CERTAINTY = 0.99
"""κ: how likely a picture answers a word that its caption holds."""

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class QueryTerm:
    """A word of a query.

    Attributes
    ----------
    word : str
    weight : float
        How much it counts; negative where it is unwanted.
    weights : WordWeights or None
        What makes its column; None for a word that only captions tell.
    captioned : array of int
        The pictures whose captions hold it, ascending.
    frequency : float
        The fraction of captions that hold it.
    is_mentioned : bool
        Whether captions would mention it; not so for a word that a click began after they were
        written.
    named : dict of str to (array of int, float)
        By source (file, folder or text), the pictures of which it holds the word, and how likely
        these answer.
    """

    word: str
    weight: float
    weights: WordWeights | None
    captioned: Ids
    frequency: float
    is_mentioned: bool = True
    named: dict[str, tuple[Ids, float]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Evidence:
    """A query's word over the rows of a shard: which of them something written is about."""

    term: QueryTerm
    captioned: Ids
    """Positions of rows whose captions hold the word, ascending."""
    named: dict[str, tuple[Ids, float]]
    omitted: tuple[float, ...]
    """By the length of captions, how likely they would mention the word."""

    @classmethod
    def of(
        cls, term: QueryTerm, completeness: Sequence[float], positions: Callable[[Ids], Ids]
    ) -> Evidence:
        """``positions`` gives the rows of some pictures, ascending."""
        named = {source: (positions(ids), sure) for source, (ids, sure) in term.named.items()}
        omitted = tuple(completeness) if term.is_mentioned else (0.0,)
        return cls(term, positions(term.captioned), named, omitted)

    def scan_term(self, column: NDArray[np.uint16] | None) -> Term:
        """The word as it is added up."""
        term = self.term
        magnitude = 0.0 if column is not None else -float(np.log(term.frequency))
        return Term(term.weight, column, magnitude, self.omitted, self._holders())

    def _holders(self) -> list[Holders]:
        """Rows by what is written of them, each in one list."""
        if not self.named:
            return [Holders(self.captioned, CERTAINTY)] if self.captioned.size else []
        rows = np.unique(np.concatenate([rows for rows, _ in self.named.values()]))
        doubt = np.ones(rows.size)
        for positions, certainty in self.named.values():
            doubt[_is_among(rows, positions)] *= 1 - certainty
        is_held = _is_among(rows, self.captioned)
        found = [Holders(np.setdiff1d(self.captioned, rows), CERTAINTY)]
        for value in np.unique(doubt).tolist():
            for held in (False, True):
                here = rows[(doubt == value) & (is_held == held)]
                found.append(Holders(here, CERTAINTY if held else 0.0, value))
        return [one for one in found if one.positions.size]

    def written(self) -> Ids:
        """All rows of which something written holds the word."""
        lists = [self.captioned, *(rows for rows, _ in self.named.values())]
        return np.unique(np.concatenate(lists))


@dataclass(frozen=True, eq=False)
class WrittenWords:
    """What is written of some pictures, for every word of a model; pictures × words."""

    held: NDArray[np.bool_]
    """Whether the caption holds the word."""
    omitted: NDArray[np.float64]
    doubt: NDArray[np.float64]

    @classmethod
    def of(cls, now: Snapshot, pictures: Sequence[int | None]) -> WrittenWords:
        """Of pictures by number; None is a picture that is not in the collection."""
        model, written = now.words, now.written
        keys = model.vocabulary.keys
        number = {key: word for word, key in enumerate(keys) if key not in STOP_WORDS}
        names = [(f" {key} ", word) for key, word in number.items() if " " in key]
        shape = (len(pictures), len(keys))
        sources = [CAPTION, *written.sources]
        says = {source: np.zeros(shape, bool) for source in sources}
        rows: dict[int, list[int]] = {}
        for row, picture in enumerate(pictures):
            if picture is not None:
                rows.setdefault(picture, []).append(row)
        for picture, source, text in written_stems(now.catalogue, list(rows), sources):
            held = [number[stem] for stem in text.split() if stem in number]
            held += [word for name, word in names if name in text]
            says[source][np.ix_(rows[picture], held)] = True
        lengths = np.append(written.lengths, np.uint8(0))
        known = [-1 if one is None else min(one, written.lengths.size) for one in pictures]
        is_mentioned = np.arange(len(keys)) < model.words
        doubt = np.ones(shape)
        for source in written.sources:
            doubt[says[source]] *= 1 - NAME_CERTAINTY[source]
        omitted = np.outer(now.completeness[lengths[known]], is_mentioned)
        return cls(says[CAPTION], omitted, doubt)

    def logs(self, seen: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log-probabilities of words from those by sight: the scores of searches for each word."""
        held = log_evidence(-seen, is_wanted=True, certainty=CERTAINTY, doubt=self.doubt)
        others = log_evidence(-seen, is_wanted=True, omitted=self.omitted, doubt=self.doubt)
        return np.where(self.held, held, others)


def score_parts(
    evidence: Sequence[Evidence],
    scans: Sequence[Term],
    positions: Ids,
    lengths: NDArray[np.uint8] | None,
) -> list[ScoreParts]:
    """The scores of rows taken apart, as every front end shows them."""
    if not evidence:
        return [ScoreParts(0.0, 0.0)] * positions.size
    weight = np.array([one.term.weight for one in evidence])[:, None]
    magnitude = np.array([scan.magnitudes(positions) for scan in scans])
    is_seen = np.array([scan.column is not None for scan in scans])[:, None]
    of_length = np.zeros(positions.size, np.uint8) if lengths is None else lengths[positions]
    omitted = np.array(
        [np.asarray(one.omitted)[of_length * (len(one.omitted) > 1)] for one in evidence]
    )
    is_held = np.array([_is_among(positions, one.captioned) for one in evidence])
    doubt, by_source = np.ones(magnitude.shape), {}
    for source in NAME_CERTAINTY:
        says = by_source[source] = np.zeros(magnitude.shape, bool)
        for n, one in enumerate(evidence):
            if source in one.named:
                rows, certainty = one.named[source]
                says[n] = _is_among(positions, rows)
                doubt[n, says[n]] *= 1 - certainty

    def logs(**written: Any) -> NDArray[np.float64]:
        found = log_evidence(magnitude, is_wanted=True, **written)
        if (weight < 0).any():
            unwanted = log_evidence(magnitude, is_wanted=False, **written)
            found = np.where(weight > 0, found, unwanted)
        return np.abs(weight) * found

    said = np.where(
        is_held, logs(certainty=CERTAINTY, doubt=doubt), logs(omitted=omitted, doubt=doubt)
    )
    seen = np.where(is_seen, logs(), 0.0)
    is_named = np.any([*by_source.values()], axis=0) & ~is_held
    caption = np.where(is_named, 0.0, said - seen).sum(axis=0).tolist()
    name = np.where(is_named, said - seen, 0.0).sum(axis=0).tolist()
    held = _words_by_row(evidence, is_held)
    in_names = [_words_by_row(evidence, says) for says in by_source.values()]
    sight = seen.sum(axis=0).tolist()
    return [ScoreParts(*parts) for parts in zip(sight, caption, held, name, *in_names, strict=True)]


def _is_among(positions: Ids, ascending: Ids) -> NDArray[np.bool_]:
    """Which of some rows a list holds."""
    if not ascending.size:
        return np.zeros(positions.size, bool)
    at = np.minimum(np.searchsorted(ascending, positions), ascending.size - 1)
    return np.asarray(ascending[at] == positions)


def _words_by_row(evidence: Sequence[Evidence], says: NDArray[np.bool_]) -> list[tuple[str, ...]]:
    """By row, the words that something says of it."""
    if not says.any():
        return [()] * says.shape[1]
    return [
        tuple(one.term.word for one, said in zip(evidence, row, strict=True) if said)
        for row in says.T.tolist()
    ]

"""Feedback offsets: for each word a direction that is added to what the model knows of it.

The model stays as it was trained: a model's value f_t(p) becomes f_t(p) + d_t · (p − m), m the mean
of all pictures. A word's column is made from both, so a click makes one column anew, taking it back
finds the one of before, and any model can learn from clicks, linear or not.

The directions are a replay of the log of clicks, from nothing: each entry fits the directions of
its words anew, to all clicks on them until then, those of other words being what they are. They
are committed together with the log; where the log has changed otherwise, a mark says so until they
are what it says.

A yes whose words nobody knows begins them: they stand after the model's words in the vocabulary,
and their direction is all there is of them. Where pictures are described by a dual encoder, any
click begins such words, and they start where the encoder's text side puts them. Which words are
begun is part of the replay.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.calibration import Link
from visterm.collection.feedback.guard import HeldOutGuard, guard_of
from visterm.collection.feedback.regression import ClickRegression, GatheredClicks, needed_fits
from visterm.collection.media.captions import effective_captions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.events import Judgement, entries, set_step
from visterm.collection.store.feature_rows import DescribedPictures, FrameRows
from visterm.collection.store.snapshot import snapshot
from visterm.collection.store.versions import Version, set_new_words
from visterm.collection.store.word_model import WordModel, read_directions
from visterm.text.meaning import looked_up
from visterm.text.names import LONGEST
from visterm.text.query import QueryVector, parse_query, query_vector
from visterm.text.tokens import STOP_WORDS

if TYPE_CHECKING:
    from visterm.collection.feedback.encoder_words import EncoderWords
    from visterm.text import Vocabulary

UNLEARNT = "clicks"
"""The setting that says that the log has changed, and the directions are not what it says."""
DOUBTED = 0.25
"""How much a no counts to a picture whose caption holds the words."""


def is_up_to_date(catalogue: Catalogue) -> bool:
    """Whether the directions are what the log of clicks says."""
    return catalogue.get(UNLEARNT) is None


@dataclass
class FeedbackOffsets:
    """Directions by word, and what is needed to change them."""

    catalogue: Catalogue
    model: WordModel
    pictures: DescribedPictures | None
    frames: FrameRows
    vocabulary: Vocabulary
    version: Version
    directions: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    _queries: dict[str, QueryVector] = field(default_factory=dict)

    @classmethod
    def of(cls, catalogue: Catalogue, model: WordModel) -> FeedbackOffsets:
        """The offsets that the catalogue holds, to be changed."""
        now, version = snapshot(catalogue), model.version
        rows = catalogue.db.execute("SELECT word, direction FROM directions")
        known = read_directions(rows)
        pictures = now.pictures(version.extractor)
        return cls(catalogue, model, pictures, now.frames, model.vocabulary, version, known)

    @cached_property
    def regression(self) -> ClickRegression:
        return ClickRegression(self.model, self.pictures, self.frames)

    @cached_property
    def encoder_words(self) -> EncoderWords | None:
        """What begun words look like before any click; None without an encoder."""
        if self.pictures is None or not self.model.is_encoded:
            return None
        from visterm.collection.feedback.encoder_words import EncoderWords

        return EncoderWords(self.version.extractor, self.pictures)

    def replay(self, log: Sequence[Judgement], *, judge_again: bool = False) -> dict[int, float]:
        """Learn a whole log from nothing; returns how much each entry counts.

        That is what the log remembers, unless it is to be judged again, as on another model it must
        be. Otherwise entries are passed over whose fits no later one depends on.
        """
        self.directions = {}
        self._know(self.vocabulary.first(self.version.words))
        needed = range(len(log)) if judge_again else self._needed(log)
        learnt: list[Judgement] = []
        for place, entry in enumerate(log):
            step = self.learn(entry, learnt, judge=judge_again) if place in needed else entry.weight
            learnt.append(replace(entry, weight=step))
        return {entry.id: entry.weight for entry in learnt}

    def _needed(self, log: Sequence[Judgement]) -> Container[int]:
        """The entries to learn for the directions of now; all, where some of them begin words."""
        words = [self.vector(entry.query) for entry in log]
        for entry, query in zip(log, words, strict=True):
            can_begin = entry.relevant or self.encoder_words is not None
            if can_begin and not (query.weights > 0).any():
                return range(len(log))
        is_here = self.regression.finds(entry.picture for entry in log)
        pairs = zip(words, is_here, strict=True)
        return needed_fits([frozenset(one.numbers.tolist() if here else ()) for one, here in pairs])

    def learn(self, entry: Judgement, earlier: Sequence[Judgement], *, judge: bool) -> float:
        """Learn one entry, together with all ``earlier`` ones; returns how much it counts.

        That is what the entry says, unless captions and held-out pictures are to ``judge``.
        """
        if entry.relevant or self.encoder_words is not None:
            self.begin(entry.query)
        query = self.vector(entry.query)
        if not query.numbers.size or not self.regression.finds([entry.picture])[0]:
            self._drop_empty()
            return entry.weight
        clicks = [(self.vector(one.query), one) for one in earlier]
        link, words = self.link, query.numbers.tolist()
        initial = (
            {}
            if self.encoder_words is None
            else self.encoder_words.directions(
                {n: self.vocabulary.words[n] for n in words if n >= self.version.words}, link
            )
        )

        @cache
        def gathered(is_counted: bool) -> GatheredClicks | None:
            every = [*clicks, (query, replace(entry, weight=float(is_counted)))]
            return self.regression.gathered(words, every, self.directions, link, initial)

        @cache
        def fitted(step: float) -> dict[int, NDArray[np.float64]]:
            clicks_then = gathered(step > 0)
            return {} if clicks_then is None else clicks_then.directions(entry.id, step)

        step = entry.weight
        guard = self.guard() if judge else None
        if judge:
            step = 1.0 if entry.relevant or not self._is_captioned_so(entry, query) else DOUBTED
        if guard is not None:
            most = step
            step *= guard.allowed(
                query.by_idf(self.vocabulary.idf), lambda part: fitted(most * part)
            )
        directions = fitted(step)
        for word in words:
            self.directions.pop(word, None)
        self.directions |= directions
        return step

    def is_about_begun_words(self, text: str) -> bool:
        """Whether a query has words that a click began."""
        return bool((self.vector(text).numbers >= self.version.words).any())

    @property
    def new_words(self) -> tuple[str, ...]:
        """Words that the model does not know."""
        return self.vocabulary.words[self.version.words :]

    def vector(self, text: str) -> QueryVector:
        """A query in the text space of all words, those that were begun among them."""
        if text not in self._queries:
            query, meant = parse_query(text), None
            if self.encoder_words is None:
                meant = looked_up  # whoever says yes to a name means no word like it
            self._queries[text] = query_vector(query, self.vocabulary, meant)
        return self._queries[text]

    def _know(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._queries.clear()

    def begin(self, text: str) -> bool:
        """Begin the wanted words of a query, if nobody knows any of them; whether it did.

        Words of one weight are begun together, as one name.
        """
        if (self.vector(text).weights > 0).any():
            return False
        wanted = [(word, q) for word, q in parse_query(text).words if q > 0]
        words = [word for word, _ in wanted if word not in STOP_WORDS]
        if 1 < len(words) <= LONGEST and len({weight for _, weight in wanted}) == 1:
            words = [" ".join(words)]
        self._know(self.vocabulary.with_more(list(dict.fromkeys(words))))
        return bool(words)

    def _drop_empty(self) -> None:
        """Words that could not be begun after all, as their picture has gone."""
        count = len(self.vocabulary)
        while count > self.version.words and count - 1 not in self.directions:
            count -= 1
        if count < len(self.vocabulary):
            self._know(self.vocabulary.first(count))

    def changed_since(self, before: Mapping[int, NDArray[np.float64]]) -> set[int]:
        """Words whose directions are others than these."""
        words = before.keys() | self.directions.keys()
        return {one for one in words if not _same(before.get(one), self.directions.get(one))}

    def write(self, words: Iterable[int]) -> None:
        """Keep the directions of these words, and which were begun, inside a transaction."""
        if self.new_words != self.version.new_words:
            set_new_words(self.catalogue, self.new_words)
            self.version = replace(self.version, new_words=self.new_words)
        for word in sorted(words):
            direction = self.directions.get(word)
            self.catalogue.db.execute("DELETE FROM directions WHERE word = ?", (word,))
            if direction is not None:
                self.catalogue.db.execute(
                    "INSERT INTO directions VALUES (?, ?)", (word, direction.tobytes())
                )

    @property
    def link(self) -> Link:
        """Of all words, those that were begun in this replay among them."""
        begun = len(self.new_words)
        unit = float(np.median(self.model.calibration.deviations[: self.version.words]))
        return self._trained_link.with_more_words(begun, unit)

    @cached_property
    def _trained_link(self) -> Link:
        link, count = self.model.link, self.version.words
        return Link(link.intercepts[:count], link.slopes[:count])

    def _is_captioned_so(self, entry: Judgement, query: QueryVector) -> bool:
        """Whether the caption of a judged picture holds all wanted words of the query."""
        wanted = set(query.numbers[query.weights > 0].tolist())
        texts = effective_captions(self.catalogue, [entry.picture]).values()
        return any(wanted <= set(self.vocabulary.numbers_in(text)) for text in texts)

    def guard(self) -> HeldOutGuard | None:
        """Held-out pictures that watch over what is learnt."""
        return guard_of(self.catalogue, self.version)


def keep_steps(catalogue: Catalogue, log: Sequence[Judgement], steps: dict[int, float]) -> None:
    """Write how much of each entry's step was taken, inside a transaction."""
    for entry in log:
        set_step(catalogue, entry, steps.get(entry.id, entry.weight))


def relearn(catalogue: Catalogue) -> None:
    """Bring the directions to what the log says, from its beginning; the caller holds the lock."""
    if is_up_to_date(catalogue):
        return
    if snapshot(catalogue).version is None:
        with catalogue.transaction() as db:
            db.execute("DELETE FROM directions")
            catalogue.set(UNLEARNT, None)  # whoever trains first learns the log too
        return
    offsets = FeedbackOffsets.of(catalogue, snapshot(catalogue).words)
    before = dict(offsets.directions)
    log = entries(catalogue)
    steps = offsets.replay(log)
    with catalogue.transaction():
        offsets.write(offsets.changed_since(before))
        keep_steps(catalogue, log, steps)
        catalogue.set(UNLEARNT, None)


def _same(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)

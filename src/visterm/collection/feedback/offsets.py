"""Feedback offsets: for each word a direction that is added to what the model knows of it.

The model and its columns in the index stay as they were trained. What clicks add lies in columns of
its own, after those of all words: a model's value f_t(p) becomes f_t(p) + d_t · (p − m), m the mean
of all pictures, and the column holds what that adds to the word's log-probability (`Link`). So
taking clicks back restores the ranking bit for bit, scores are worth what they were, and any model
can learn from clicks, linear or not.

The directions are a replay of the log of clicks, from nothing: each entry fits the directions of
its words anew, to all clicks on them until then, those of other words being what they are. They
are committed together with the log; the index is updated after that, and a mark in the catalogue
says until when it has not been.

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

from visterm.calibration.link import Link
from visterm.collection.feedback.encoder_words import EncoderWords, encoder_words
from visterm.collection.feedback.feature_matrix import feature_matrix
from visterm.collection.feedback.guard import HeldOutGuard, guard_of
from visterm.collection.feedback.log import Entry, columns, entries, set_step, with_clicks
from visterm.collection.feedback.offset_columns import OffsetColumns
from visterm.collection.feedback.regression import ClickRegression, GatheredClicks, needed_fits
from visterm.collection.media.captions import effective_captions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.linear_values import linear_weights
from visterm.collection.store.versions import Version, set_new_words
from visterm.index import Index
from visterm.text.meaning import certain_meanings
from visterm.text.names import LONGEST
from visterm.text.query import QueryVector, parse_query, query_vector
from visterm.text.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from visterm.features.extractor import Rows as Vectors
    from visterm.text import Vocabulary

UNSHOWN = "unshown"
"""State of the clicks where all are learnt, and the index may not show it yet."""
DOUBTED = 0.25
"""How much a no counts to a picture whose caption holds the words."""
_ROOM = 16
"""Columns that the index gets at a time for words that clicks are about."""


def is_up_to_date(catalogue: Catalogue) -> bool:
    """Whether the index shows what the log of clicks says."""
    return catalogue.get("clicks") is None


def mark_up_to_date(catalogue: Catalogue) -> None:
    """The index shows what the log says; should this be lost, it is updated once more."""
    with catalogue.transaction(lasting=False):
        catalogue.set("clicks", None)


@dataclass
class FeedbackOffsets:
    """Directions by word, and what is needed to change them."""

    catalogue: Catalogue
    version: Version
    vocabulary: Vocabulary
    index: Index
    places: dict[int, int] = field(default_factory=dict)
    directions: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    _queries: dict[str, QueryVector] = field(default_factory=dict)

    @cached_property
    def regression(self) -> ClickRegression:
        linked = self._trained_link is not None
        return ClickRegression(self.catalogue, self.version, self.index, linked)

    @cached_property
    def encoder_words(self) -> EncoderWords | None:
        """What begun words look like before any click; None without an encoder."""
        return encoder_words(self.catalogue, self.version.extractor)

    @classmethod
    def read(
        cls, catalogue: Catalogue, version: Version, vocabulary: Vocabulary, index: Index
    ) -> FeedbackOffsets:
        """The offsets that the catalogue holds."""
        offsets = cls(catalogue, version, vocabulary, index)
        for word, place, direction in catalogue.db.execute("SELECT * FROM taught"):
            offsets.places[word] = place
            if direction:
                offsets.directions[word] = np.frombuffer(direction, np.float64)
        return offsets

    def replay(self, log: Sequence[Entry], *, judge_again: bool = False) -> dict[int, float]:
        """Learn a whole log from nothing; returns how much each entry counts.

        That is what the log remembers, unless it is to be judged again, as on another model it must
        be. Otherwise entries are passed over whose fits no later one depends on.
        """
        self.directions = {}
        self._know(self.vocabulary.first(self.version.words))
        needed = range(len(log)) if judge_again else self._needed(log)
        learnt: list[Entry] = []
        for place, entry in enumerate(log):
            step = self.learn(entry, learnt, judge=judge_again) if place in needed else entry.step
            learnt.append(replace(entry, step=step))
        return {entry.id: entry.step for entry in learnt}

    def _needed(self, log: Sequence[Entry]) -> Container[int]:
        """The entries to learn for the directions of now; all, where some of them begin words."""
        words = [self.vector(entry.query) for entry in log]
        for entry, query in zip(log, words, strict=True):
            can_begin = entry.relevant or self.encoder_words is not None
            if can_begin and not (query.weights > 0).any():
                return range(len(log))
        found = self.regression.finds(entry.picture for entry in log)
        pairs = zip(words, found, strict=True)
        return needed_fits([frozenset(one.numbers.tolist() if here else ()) for one, here in pairs])

    def learn(self, entry: Entry, earlier: Sequence[Entry], *, judge: bool) -> float:
        """Learn one entry, together with all ``earlier`` ones; returns how much it counts.

        That is what the entry says, unless captions and held-out pictures are to ``judge``.
        """
        if entry.relevant or self.encoder_words is not None:
            self.begin(entry.query)
        query = self.vector(entry.query)
        if not query.numbers.size or not self.regression.finds([entry.picture])[0]:
            self._drop_empty()
            return entry.step
        clicks = [(self.vector(one.query), one) for one in earlier]
        link, words = self._log_odds_link(), query.numbers.tolist()
        initial = (
            {}
            if self.encoder_words is None
            else self.encoder_words.directions(
                {n: self.vocabulary.words[n] for n in words if n >= self.version.words}, link
            )
        )

        @cache
        def gathered(is_counted: bool) -> GatheredClicks | None:
            every = [*clicks, (query, replace(entry, step=float(is_counted)))]
            return self.regression.gathered(words, every, self.directions, link, initial)

        @cache
        def fitted(step: float) -> dict[int, NDArray[np.float64]]:
            found = gathered(step > 0)
            return {} if found is None else found.directions(entry.id, step)

        step = entry.step
        guard = self.guard() if judge else None
        if judge:
            step = 1.0 if entry.relevant or not self._is_captioned_so(entry, query) else DOUBTED
        if guard is not None:
            most = step
            step *= guard.allowed(
                query.by_idf(self.vocabulary.idf), lambda part: fitted(most * part)
            )
        found = fitted(step)
        for word in words:
            self.directions.pop(word, None)
        self.directions |= found
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
                meant = certain_meanings  # whoever says yes to a name means no word like it
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

    def update_index(self, words: Iterable[int]) -> None:
        """Let the index show the directions of these words."""
        chosen = sorted(words)
        for word in chosen:
            self.places.setdefault(word, len(self.places))
        if not chosen:
            return
        offset = self.version.words
        need = offset + max(self.places[word] for word in chosen) + 1
        if need > self.index.words:
            self.index.add_words(-(-(need - self.index.words) // _ROOM) * _ROOM)
        columns = np.zeros((len(chosen), self.index.places + 1), np.float32)
        moved = [number for number, word in enumerate(chosen) if word in self.directions]
        if moved:
            everything = feature_matrix(self.catalogue, self.version.extractor)
            words_moved = self._columns([chosen[number] for number in moved])
            words_moved.fill(everything, self.index, columns, moved)
        numbers = [offset + self.places[word] for word in chosen]
        self.index.update_columns(numbers, columns[:, :-1])

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
            place = self.places.setdefault(word, len(self.places))
            direction = self.directions.get(word)
            self.catalogue.db.execute(
                "INSERT OR REPLACE INTO taught VALUES (?, ?, ?)",
                (word, place, b"" if direction is None else direction.tobytes()),
            )

    def rows(
        self, vectors: Vectors, width: int, of_model: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """What clicks add for some pictures, in ``width`` columns after those of all words.

        ``of_model`` are the same pictures in the columns before, those of the model's words.
        """
        from visterm.collection.feedback.feature_matrix import products
        from visterm.collection.store.vector_files import as_stored

        found = np.zeros((vectors.shape[0], width), np.float32)
        words = [word for word in self.directions if self.places[word] < width]
        if words:
            moved_columns = self._columns(words)
            directions = moved_columns.multiplied()
            values = np.empty((len(directions), vectors.shape[0]), np.float32)
            products(as_stored(vectors), np.arange(vectors.shape[0]), directions, values)
            added = moved_columns.added(values, of_model[:, moved_columns.known_words].T)
            found[:, [self.places[word] for word in words]] = added.T
        return found

    @cached_property
    def _weights(self) -> NDArray[np.float32] | None:
        """The model's own, where the index keeps none of the values that follow from them."""
        return linear_weights(self.version)

    def _columns(self, words: Sequence[int]) -> OffsetColumns:
        directions = np.stack([self.directions[word] for word in words])
        numbers = np.asarray(words, np.int64)
        return OffsetColumns(numbers, directions, self.version, self.link, self._weights)

    @property
    def link(self) -> Link | None:
        """Of all words, those that were begun in this replay among them."""
        link, begun = self._trained_link, len(self.new_words)
        return link.with_more_words(begun, self.version.unit()) if link and begun else link

    @cached_property
    def _trained_link(self) -> Link | None:
        return replace(self.version, new_words=()).link()

    def _log_odds_link(self) -> Link:
        """Of all words; where a version of before has none, all are as unsure as begun ones."""
        nothing = Link(np.empty(0), np.empty(0))
        return self.link or nothing.with_more_words(len(self.vocabulary), self.version.unit())

    def _is_captioned_so(self, entry: Entry, query: QueryVector) -> bool:
        """Whether the caption of a judged picture holds all wanted words of the query."""
        wanted = set(query.numbers[query.weights > 0].tolist())
        texts = effective_captions(self.catalogue, [entry.picture]).values()
        return any(wanted <= set(self.vocabulary.numbers_in(text)) for text in texts)

    def guard(self) -> HeldOutGuard | None:
        """Held-out pictures that watch over what is learnt."""
        return guard_of(self.catalogue, self.version)

    def asked(self, query: QueryVector) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """What to ask the index for a query's scores as things stand in the catalogue."""
        return with_clicks(query, columns(self.catalogue), self.version.words, self.index.words)


def keep_steps(catalogue: Catalogue, log: Sequence[Entry], steps: dict[int, float]) -> None:
    """Write how much of each entry's step was taken, inside a transaction."""
    for entry in log:
        set_step(catalogue, entry, steps.get(entry.id, entry.step))


def relearn(offsets: FeedbackOffsets) -> None:
    """Learn the log from the beginning, unless that is done, commit, and update the index; the
    caller holds the lock."""
    catalogue = offsets.catalogue
    if catalogue.get("clicks") == UNSHOWN:
        offsets.update_index(offsets.places)
        mark_up_to_date(catalogue)
        return
    was_up_to_date = is_up_to_date(catalogue)
    before = dict(offsets.directions)
    log = entries(catalogue)
    steps = offsets.replay(log)
    changed = offsets.changed_since(before)
    with catalogue.transaction():
        offsets.write(changed)
        keep_steps(catalogue, log, steps)
        catalogue.set("clicks", UNSHOWN)
    offsets.update_index(changed if was_up_to_date else {*offsets.places, *changed})
    mark_up_to_date(catalogue)


def _same(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)

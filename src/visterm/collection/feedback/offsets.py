"""Feedback offsets: for each word a direction that is added to what the model knows of it.

The model and its columns in the index stay as they were trained. What clicks add lies in columns of
its own, after those of all words: a model's value f_t(p) becomes f_t(p) + d_t · (p − m), m the mean
of all pictures, and the column holds what that adds to the word's log-probability (`Link`). So
taking clicks back restores the ranking bit for bit, scores are worth what they were, and any model
can learn from clicks, linear or not.

The directions are a fold over the log of clicks, from nothing: entry by entry, each from where the
one before ended. They are committed together with the log; the index is updated after that, and a
mark in the catalogue says until when it has not been.

A yes whose words nobody knows begins them: they stand after the model's words in the vocabulary,
and their direction is all there is of them. Which words are begun is part of the fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.link import Link, log_logistic
from visterm.collection.feedback.feature_matrix import feature_matrix
from visterm.collection.feedback.guard import HeldOutGuard, guard_of
from visterm.collection.feedback.log import Entry, columns, entries, set_step, with_clicks
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.versions import Version, set_new_words
from visterm.index import Index
from visterm.text.meaning import meanings
from visterm.text.names import LONGEST
from visterm.text.query import QueryVector, parse_query, query_vector
from visterm.text.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from visterm.features.extractor import Rows as Vectors
    from visterm.text import Vocabulary

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
        """Learn a whole log from nothing; returns how much of each entry's step was taken.

        The parts of steps are those the log remembers, unless they are to be judged again, as on
        another model they must be.
        """
        self.directions = {}
        self.vocabulary = self.vocabulary.first(self.version.words)
        guard = self.guard() if judge_again else None
        earlier: dict[str, list[Entry]] = {}
        steps = {}
        for entry in log:
            before = earlier.setdefault(entry.query, [])
            steps[entry.id] = self.learn(entry, before, guard)
            before.append(entry)
        return steps

    def learn(self, entry: Entry, earlier: Sequence[Entry], guard: HeldOutGuard | None) -> float:
        """Learn one entry; returns how much of its step was taken, as ``guard`` allows.

        Without a guard that is what the entry says. ``earlier`` are those about the same query.
        """
        if entry.relevant:
            self.begin(entry.query)
        query = self.vector(entry.query).by_idf(self.vocabulary.idf)
        moves = self._moves(query, entry, earlier) if query.numbers.size else None
        if moves is None:
            self._drop_empty()
            return entry.step
        words = query.numbers.tolist()
        part = entry.step
        if guard is not None:
            part = guard.allowed(query, [self.directions.get(word) for word in words], moves)
        for word, move in zip(words, moves, strict=True):
            self.directions[word] = self.directions.get(word, 0.0) + part * move
        return part

    @property
    def new_words(self) -> tuple[str, ...]:
        """Words that the model does not know."""
        return self.vocabulary.words[self.version.words :]

    def vector(self, text: str) -> QueryVector:
        """A query in the text space of all words, those that were begun among them."""
        return query_vector(parse_query(text), self.vocabulary, meanings)

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
        self.vocabulary = self.vocabulary.with_more(list(dict.fromkeys(words)))
        return bool(words)

    def _drop_empty(self) -> None:
        """Words that could not be begun after all, as their picture has gone."""
        count = len(self.vocabulary)
        while count > self.version.words and count - 1 not in self.directions:
            count -= 1
        if count < len(self.vocabulary):
            self.vocabulary = self.vocabulary.first(count)

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
        pictures = self.index.ids()
        values = np.zeros((len(pictures), len(chosen)), np.float32)
        moved = [number for number, word in enumerate(chosen) if word in self.directions]
        if moved and len(pictures):
            directions = np.stack([self.directions[chosen[number]] for number in moved])
            everything = feature_matrix(self.catalogue, self.version.extractor)
            moves = everything.products(directions, pictures) - self._shift(directions)
            words = [chosen[number] for number in moved]
            known = [word for word in words if word < offset]
            values[:, moved] = self._linked(words, self.index.values(known, pictures), moves)
        self.index.update_words([offset + self.places[word] for word in chosen], values)

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
        from visterm.collection.store.vector_files import Block, parts_of

        found = np.zeros((vectors.shape[0], width), np.float32)
        words = [word for word in self.directions if self.places[word] < width]
        if words:
            directions = np.stack([self.directions[word] for word in words]).astype(np.float32)
            values = np.empty((vectors.shape[0], len(words)), np.float32)
            compact = Rows(self.catalogue, self.version.extractor).is_compact
            block = Block(vectors.shape[1], parts_of(vectors, compact=compact))
            products(block, np.arange(vectors.shape[0]), directions, values)
            shift = self._shift(np.stack([self.directions[word] for word in words]))
            known = [word for word in words if word < self.version.words]
            linked = self._linked(words, of_model[:, known], values - shift)
            found[:, [self.places[word] for word in words]] = linked
        return found

    def _linked(
        self, words: Sequence[int], logs: NDArray[np.float32], moves: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """What moves of values (pictures × words) add to the columns of those words.

        ``logs`` holds the columns of those that the model knows; one that a yes began has no other
        column, so what is added is all there is of it.
        """
        link = self.link
        if link is None:
            return moves
        numbers = np.asarray(words)
        known = numbers < self.version.words
        new = numbers[~known]
        found = np.empty_like(moves)
        found[:, known] = link.offsets(numbers[known], logs, moves[:, known])
        found[:, ~known] = log_logistic(link.intercepts[new] + link.slopes[new] * moves[:, ~known])
        return found

    @property
    def link(self) -> Link | None:
        """Of all words, those that were begun in this fold among them."""
        return replace(self.version, new_words=self.new_words).link()

    def _shift(self, directions: NDArray[np.float64]) -> NDArray[np.float32]:
        """What directions add to a picture like any other: it is taken off, so that clicks change
        who is above whom but not what a score is worth."""
        return (directions @ self.version.mean(directions.shape[1])).astype(np.float32)

    def _moves(
        self, query: QueryVector, entry: Entry, earlier: Sequence[Entry]
    ) -> NDArray[np.float64] | None:
        """What a judgement adds to the directions of its query's words; None if nothing.

        Whoever answers several words answers each of them, so a yes is learnt for every word, too.
        """
        from visterm.models.feedback import Compared, pairs_of

        yes = [one.picture for one in earlier if one.relevant and one.picture != entry.picture]
        no = [one.picture for one in earlier if not one.relevant and one.picture != entry.picture]
        known, matrix = self._known([entry.picture, *yes, *no, *entry.against])
        place = {picture: number for number, picture in enumerate(known)}
        if entry.picture not in place:
            return None
        drawn = [one for one in entry.against if one not in {*yes, *no}]
        better, worse, others = (
            [place[one] for one in some if one in place] for some in (yes, no, drawn)
        )
        weights = query.weights.astype(np.float64)
        values = self._values(query, known, matrix)
        compared, unit = Compared(matrix, self.version.metric()), self.version.unit()
        pairs = pairs_of(place[entry.picture], entry.relevant, better, worse, others)
        moves = np.outer(weights, compared.learn(values @ weights, pairs, unit=unit))
        if entry.relevant and len(weights) > 1:
            now = values + matrix @ moves.T
            for number in np.flatnonzero(weights > 0).tolist():
                moves[number] += compared.learn(now[:, number], pairs, unit=unit)
        return moves if moves.any() else None

    def _known(self, pictures: Sequence[int]) -> tuple[list[int], NDArray[np.float64]]:
        """Those of the pictures that can be found, each once, and their vectors."""
        once = list(dict.fromkeys(pictures))
        vectors = Rows(self.catalogue, self.version.extractor).of(once)
        here = self.index.holds(once)
        known = [one for one, found in zip(once, here, strict=True) if found and one in vectors]
        return known, np.array([vectors[one] for one in known], np.float64)

    def _values(
        self, query: QueryVector, pictures: Sequence[int], vectors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Values of a query's words, as things stand in the fold."""
        values = np.zeros((len(pictures), len(query.numbers)))
        known = query.numbers < self.version.words
        values[:, known] = self.index.values(query.numbers[known], pictures)
        if (link := self.link) is not None:
            values[:, known] = link.values(query.numbers[known], values[:, known])
        for place, word in enumerate(query.numbers.tolist()):
            if word in self.directions:
                values[:, place] += vectors @ self.directions[word]
        return values

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


def relearn(offsets: FeedbackOffsets, *, judge_again: bool = False) -> None:
    """Learn the log from the beginning, commit, and update the index; the caller holds the lock."""
    catalogue = offsets.catalogue
    was_up_to_date = is_up_to_date(catalogue)
    before = dict(offsets.directions)
    log = entries(catalogue)
    steps = offsets.replay(log, judge_again=judge_again)
    words = set(before) | set(offsets.directions)
    changed = {word for word in words if not _same(before.get(word), offsets.directions.get(word))}
    with catalogue.transaction():
        offsets.write(changed)
        keep_steps(catalogue, log, steps)
        catalogue.set("clicks", "untold")
    offsets.update_index(changed if was_up_to_date else {*offsets.places, *changed})
    mark_up_to_date(catalogue)


def _same(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)

"""The verbs of relevance feedback: judge, undo, forget, and learn again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from visterm.collection.feedback import log
from visterm.collection.feedback.feature_matrix import feature_matrix
from visterm.collection.feedback.log import Judgement
from visterm.collection.feedback.offsets import (
    UNSHOWN,
    FeedbackOffsets,
    is_up_to_date,
    mark_up_to_date,
    relearn,
)
from visterm.collection.store import queue
from visterm.collection.store.active_model import active_model
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.linear_values import open_index
from visterm.errors import BadInput
from visterm.text.query import QueryVector, UnknownWords, closest_words


def judge(catalogue: Catalogue, query: str, picture: int, relevant: bool) -> Judgement:
    """Write a yes or no down, and learn it; the caller holds the lock.

    Saying the same again changes nothing; saying the opposite takes the first back, in the same
    transaction: whatever happens on the way, one of the two is there. Then the query's words are
    fitted to all that is left, as after any click, and the rest of the log is not replayed.
    """
    return judge_many(catalogue, query, {picture: relevant})[picture]


def judge_many(
    catalogue: Catalogue,
    query: str,
    answers: Mapping[int, bool],
    also: Callable[[], None] = lambda: None,
) -> dict[int, Judgement]:
    """Several answers to one query, yes before no, learnt one after another in one commit.

    ``also`` writes what must be there as soon as they are, and only then.
    """
    words = log.words_of(query)
    offsets = current_offsets(catalogue)
    if not is_up_to_date(catalogue):
        relearn(offsets)  # what a killed writer left
    before = {
        entry.picture: entry
        for entry in log.entries(catalogue, "query = ?", words)
        if entry.picture in answers
    }
    found = {one: it.judgement for one, it in before.items() if it.relevant == answers[one]}
    new = sorted((one for one in answers if one not in found), key=lambda one: not answers[one])
    if not new:
        return found
    directions = dict(offsets.directions)
    earlier = [
        one for one in log.entries(catalogue) if one.query != words or one.picture not in new
    ]
    if len(found) < len(before) and offsets.is_about_begun_words(words):
        offsets.replay(earlier)  # a word that began by what is taken back did not begin
    if any(answers[one] for one in new) or offsets.encoder_words is not None:
        offsets.begin(words)
    vector = offsets.vector(words)
    if not vector.numbers.size and not before:
        raise _nothing_to_correct(offsets, vector)
    with catalogue.transaction():
        for picture in new:
            entry = log.write(catalogue, words, picture, answers[picture])
            step = offsets.learn(entry, earlier, judge=True)
            log.set_step(catalogue, entry, step)
            earlier.append(replace(entry, step=step))
            found[picture] = entry.judgement
        touched = {*offsets.changed_since(directions), *offsets.vector(words).numbers.tolist()}
        offsets.write(touched)
        catalogue.set("clicks", UNSHOWN)
        also()
    offsets.update_index(touched)
    mark_up_to_date(catalogue)
    return found


def _nothing_to_correct(offsets: FeedbackOffsets, vector: QueryVector) -> UnknownWords:
    close = {word: closest_words(word, offsets.vocabulary.words) for word in vector.unknown}
    return UnknownWords(
        f"nobody knows {', '.join(map(repr, close))} yet, so there is nothing to correct; a yes to "
        "a picture begins the word",
        close,
    )


def prepare(catalogue: Catalogue) -> None:
    """Load the kernels, and what a click needs to know, before somebody waits for it."""
    now = active_model(catalogue)
    now.index.prepare()
    offsets = current_offsets(catalogue)
    offsets.guard()
    now.version.metric()
    everything = feature_matrix(catalogue, now.version.extractor)
    everything.places_in(now.index)
    if everything.blocks:
        nothing = np.zeros((1, everything.blocks[0][1].width), np.float32)
        everything.products(nothing, everything.ids[:1])


def undo(catalogue: Catalogue, number: int | None = None) -> Judgement:
    """Take back one judgement, the last where none is named; the caller holds the lock."""
    wanted, values = ("id = ?", (number,)) if number is not None else ("1", ())
    found = log.entries(catalogue, wanted, *values)
    if not found:
        named = f"no yes or no has the number {number}" if number is not None else "nothing to undo"
        raise BadInput(f"{named}; visterm feedback lists what was said")
    with catalogue.transaction() as db:
        db.execute("DELETE FROM feedback WHERE id = ?", (found[-1].id,))
        queue.finish(catalogue)
    learn_again(catalogue)
    return found[-1].judgement


def forget(catalogue: Catalogue) -> int:
    """Take everything back; returns how much it was. The caller holds the lock."""
    with catalogue.transaction() as db:
        count = db.execute("DELETE FROM feedback").rowcount
    learn_again(catalogue)
    return int(count)


def learn_again(catalogue: Catalogue) -> None:
    """Bring the offsets, and the index, to what the log says; the caller holds the lock."""
    if is_up_to_date(catalogue):
        return
    if catalogue.one("SELECT 1 FROM versions") is None:
        with catalogue.transaction() as db:
            db.execute("DELETE FROM taught")
            catalogue.set("clicks", None)  # whoever trains first learns the log too
        return
    relearn(current_offsets(catalogue))


def current_offsets(catalogue: Catalogue) -> FeedbackOffsets:
    """The feedback offsets of the version that answers, with an index of one's own to change."""
    now = active_model(catalogue)
    return FeedbackOffsets.read(
        catalogue, now.version, now.vocabulary, open_index(catalogue, now.version)
    )

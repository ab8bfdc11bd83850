"""Relevance feedback: judgements are written down and learnt, in one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from visterm.collection.feedback import log
from visterm.collection.feedback.changes import click_row
from visterm.collection.feedback.log import Judgement
from visterm.collection.feedback.offsets import UNLEARNT, FeedbackOffsets, relearn
from visterm.collection.store import events
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.snapshot import snapshot
from visterm.text.query import QueryVector, UnknownWords
from visterm.text.spelling import closest_words


def judge_many(
    catalogue: Catalogue, query: str, answers: Mapping[int, bool]
) -> dict[int, Judgement]:
    """Write answers to one query down, yes before no, and learn them; the caller holds the lock.

    Saying the same again changes nothing; saying the opposite takes the first back, in the same
    transaction: whatever happens on the way, one of the two is there. Then the query's words are
    fitted to all that is left, and the rest of the log is not replayed. All answers are one commit,
    and one step, which an undo takes back.
    """
    words = log.words_of(query)
    relearn(catalogue)  # what a killed writer left
    offsets = current_offsets(catalogue)
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
    offsets.guard()  # is read before anything is written
    with catalogue.transaction():
        rows = [click_row(catalogue, words, picture) for picture in new]
        for picture in new:
            entry = log.write(catalogue, words, picture, answers[picture])
            step = offsets.learn(entry, earlier, judge=True)
            log.set_step(catalogue, entry, step)
            earlier.append(replace(entry, step=step))
            found[picture] = entry.judgement
        touched = {*offsets.changed_since(directions), *offsets.vector(words).numbers.tolist()}
        offsets.write(touched)
        catalogue.set(UNLEARNT, None)
        events.finish(catalogue, {"clicks": rows})
    return found


def _nothing_to_correct(offsets: FeedbackOffsets, vector: QueryVector) -> UnknownWords:
    close = {word: closest_words(word, offsets.vocabulary.words) for word in vector.unknown}
    return UnknownWords(
        f"nobody knows {', '.join(map(repr, close))} yet, so there is nothing to correct; a yes to "
        "a picture begins the word",
        close,
    )


def prepare(catalogue: Catalogue) -> None:
    """Read what a click needs to know, before somebody waits for it."""
    offsets = current_offsets(catalogue)
    offsets.guard()
    offsets.version.metric()


def current_offsets(catalogue: Catalogue) -> FeedbackOffsets:
    """The feedback offsets of the version that answers, to be changed."""
    return FeedbackOffsets.of(catalogue, snapshot(catalogue).words)

"""Captions and clicks as they are written, and how the last step is taken back.

Every step keeps how things were before it: rows of captions and of clicks as they stood, what a
removal hid, or which features answered. Taking it back puts the same rows in again, with the
numbers, times and weights that they had, so that every score is what it was, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from visterm.collection.feedback.offsets import UNLEARNT, FeedbackOffsets, relearn
from visterm.collection.ingest import scopes
from visterm.collection.media import captions, fields
from visterm.collection.store import events, previous
from visterm.collection.store.caption_words import COMPLETENESS, PERSON
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.events import (
    Judgement,
    entries,
    put_click,
    set_step,
    words_of,
    write_click,
)
from visterm.collection.store.snapshot import snapshot
from visterm.collection.store.versions import caption_changes
from visterm.errors import BadInput, NotAllowed
from visterm.text.query import QueryVector, UnknownWords
from visterm.text.spelling import closest_words

GivenCaption = tuple[int, str, str]
"""A picture, the source and the text."""
GivenClick = tuple[str, int, bool, float, float]
"""A query, a picture, whether it answers, when that was said, and how much it counts."""
GivenFields = tuple[int, fields.Fields]
"""A picture, and all its fields."""


@dataclass(frozen=True)
class UndoneStep:
    """A step that was taken back: what it was, and of how many pictures."""

    what: str
    pictures: int


def caption_many(catalogue: Catalogue, pictures: Sequence[int], text: str, *, more: bool) -> None:
    """Give many pictures one caption, or ``more`` words; the caller holds the lock."""
    given = []
    for one in dict.fromkeys(pictures):
        known = captions.of_picture(catalogue, one)
        base = known.get(PERSON) or "\n".join(known.values())
        given.append((one, PERSON, f"{base}\n{text}".strip() if more else text))
    bring_in(catalogue, given)


def bring_in(
    catalogue: Catalogue,
    given: Iterable[GivenCaption],
    clicks: Iterable[GivenClick] = (),
    described: Iterable[GivenFields] = (),
) -> None:
    """Write captions, clicks and fields, all or none, as one step; the caller holds the lock."""
    with catalogue.transaction():
        begun, estimate = caption_changes(catalogue), catalogue.get(COMPLETENESS)
        texts = [old for one in given if (old := _give(catalogue, *one))]
        rows = [_click(catalogue, *one) for one in clicks]
        kept = [old for one in described for old in fields.give(catalogue, *one)]
        counted = caption_changes(catalogue) - begun
        before = {"captions": texts, "clicks": rows, "changes": counted, COMPLETENESS: estimate}
        before |= {"fields": kept} if kept else {}
        # What is said again is no step.
        events.finish(catalogue, before if texts or rows or kept else None)
    relearn(catalogue)


def describe(catalogue: Catalogue, picture: int, given: fields.Fields) -> None:
    """Write the fields of a picture that is being added, which is no step to take back."""
    with catalogue.transaction():
        fields.give(catalogue, picture, given)
        events.finish(catalogue)


def forget_clicks(catalogue: Catalogue, number: int | None = None) -> int:
    """Take back every click, or the one of a number, which is no step; returns how many."""
    wanted, values = ("1", ()) if number is None else ("id = ?", (number,))
    with catalogue.transaction() as db:
        rows = db.execute(f"SELECT id, query, picture FROM clicks WHERE {wanted}", values)
        clicks = rows.fetchall()
        before = [click_row(catalogue, query, picture) for _, query, picture in clicks]
        db.executemany("DELETE FROM feedback WHERE id = ?", (row[:1] for row in clicks))
        events.finish(catalogue, {"clicks": before} if number is None and before else None)
    relearn(catalogue)
    return len(clicks)


def click_row(catalogue: Catalogue, query: str, picture: int) -> list[Any]:
    """What was said about a picture as the answer to a query, for taking a step back."""
    row = catalogue.db.execute(
        "SELECT id, answer, time, step FROM feedback WHERE query = ? AND picture = ?",
        (query, picture),
    ).fetchone()
    return [query, picture, row]


def remove(catalogue: Catalogue, paths: Sequence[str]) -> int:
    """Remove what lies at paths; returns how many pictures. The caller holds the lock."""
    with catalogue.transaction():
        count, removed = scopes.remove(catalogue, paths, catalogue.applying or 0)
        catalogue.set(UNLEARNT, "unlearnt")
        events.finish(catalogue, {"removed": removed})
    relearn(catalogue)
    return count


def undo_last(catalogue: Catalogue, *, only_said: bool = False) -> UndoneStep:
    """Take the last step back; the caller holds the lock.

    If ``only_said``, steps other than captions and answers are refused with `NotAllowed`.
    """
    while (step := events.last_step(catalogue)) is not None:
        number, before = step
        if only_said and before.keys() & {"fields", "features", "removed"}:
            raise NotAllowed(
                f"the last step was no caption and no answer ({_named(before)}); to undo it, use a "
                "token that allows to write"
            )
        with catalogue.transaction():
            count = _revert(catalogue, number, before)
            events.mark_undone(catalogue, number)
            if count:  # otherwise it was taken back by its number, or said again since
                events.finish(catalogue)
        if count:
            relearn(catalogue)
            return UndoneStep(_named(before), count)
    raise BadInput("there is nothing to undo")


def _revert(catalogue: Catalogue, number: int, before: dict[str, Any]) -> int:
    """Put things as they were; returns of how many pictures that were others."""
    changes = caption_changes(catalogue) - before.get("changes", 0)
    changed = {one[0] for one in before.get("captions", ()) if _give(catalogue, *one)}
    if changed and changes >= (catalogue.one("SELECT max(caption_changes) FROM versions") or 0):
        # As if it had never been said: what is estimated from captions is what it was, too.
        catalogue.set("caption_changes", str(changes))
        catalogue.set(COMPLETENESS, before[COMPLETENESS])
    for query, picture, row in before.get("clicks", ()):
        if click_row(catalogue, query, picture)[2] != (row and tuple(row)):
            put_click(catalogue, query, picture, row)
            changed.add(picture)
    for picture, old in before.get("fields", ()):
        if fields.give(catalogue, picture, old):
            changed.add(picture)
    if "features" in before and previous.bring_back(catalogue, number):
        catalogue.set(UNLEARNT, "unlearnt")
        return int(catalogue.one("SELECT count(*) FROM pictures WHERE present > 0"))
    if "removed" not in before:
        return len(changed)
    catalogue.set(UNLEARNT, "unlearnt")
    return scopes.restore(catalogue, number, before["removed"])


def _give(catalogue: Catalogue, picture: int, source: str, text: str) -> list[Any] | None:
    """Write a caption; returns it as it was, None where it is the same."""
    old = captions.of_picture(catalogue, picture).get(source, "")
    captions.give(catalogue, picture, source, text)
    return None if old == text.strip() else [picture, source, old]


def _click(
    catalogue: Catalogue, query: str, picture: int, relevant: bool, when: float, step: float
) -> list[Any]:
    """Write a click that was learnt elsewhere; returns what was said before."""
    old = click_row(catalogue, query, picture)
    put_click(catalogue, query, picture, (None, int(relevant), when, step))
    return old


def _named(before: dict[str, Any]) -> str:
    if "removed" in before:
        return "removal"
    if "features" in before:
        return "upgrade"
    if "fields" in before and not before["captions"]:
        return "fields"
    queries = {query for query, *_ in before.get("clicks", ())}
    if before.get("captions") or not queries:
        return "caption"
    return f"answer to {min(queries)!r}" if len(queries) == 1 else "answers"


def judge_many(
    catalogue: Catalogue, query: str, answers: Mapping[int, bool]
) -> dict[int, Judgement]:
    """Write answers to one query down, yes before no, and learn them; the caller holds the lock.

    Saying the same again changes nothing; saying the opposite takes the first back, in the same
    transaction: whatever happens on the way, one of the two is there. Then the query's words are
    fitted to all that is left, and the rest of the log is not replayed. All answers are one commit,
    and one step, which an undo takes back.
    """
    words = words_of(query)
    relearn(catalogue)  # what a killed writer left
    offsets = current_offsets(catalogue)
    before = {
        entry.picture: entry
        for entry in entries(catalogue, "query = ?", words)
        if entry.picture in answers
    }
    judgements = {one: it for one, it in before.items() if it.relevant == answers[one]}
    new = sorted(
        (one for one in answers if one not in judgements), key=lambda one: not answers[one]
    )
    if not new:
        return judgements
    directions = dict(offsets.directions)
    earlier = [one for one in entries(catalogue) if one.query != words or one.picture not in new]
    if len(judgements) < len(before) and offsets.is_about_begun_words(words):
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
            entry = write_click(catalogue, words, picture, answers[picture])
            step = offsets.learn(entry, earlier, judge=True)
            set_step(catalogue, entry, step)
            judgements[picture] = replace(entry, weight=step)
            earlier.append(judgements[picture])
        touched = {*offsets.changed_since(directions), *offsets.vector(words).numbers.tolist()}
        offsets.write(touched)
        catalogue.set(UNLEARNT, None)
        events.finish(catalogue, {"clicks": rows})
    return judgements


def _nothing_to_correct(offsets: FeedbackOffsets, vector: QueryVector) -> UnknownWords:
    close = {word: closest_words(word, offsets.vocabulary.words) for word in vector.unknown}
    return UnknownWords(
        f"not known yet: {', '.join(map(repr, close))}, so there is nothing to correct; say yes to "
        "a picture to create the word",
        close,
    )


def current_offsets(catalogue: Catalogue) -> FeedbackOffsets:
    """The feedback offsets of the version that answers, to be changed."""
    return FeedbackOffsets.of(catalogue, snapshot(catalogue).words)

"""Steps that concern many pictures at once, each taken back as one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from visterm.collection.feedback import log
from visterm.collection.feedback.service import judge_many, learn_again
from visterm.collection.media import captions
from visterm.collection.store import queue
from visterm.collection.store.caption_words import PERSON
from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput

_MOST = 50
"""Steps that can be taken back."""


def caption_many(catalogue: Catalogue, pictures: Sequence[int], text: str, *, more: bool) -> int:
    """Give many pictures one caption, or ``more`` words; the caller holds the lock."""
    before = {one: captions.of_picture(catalogue, one).get(PERSON, "") for one in pictures}
    with catalogue.transaction():
        for one, old in before.items():
            said = captions.of_picture(catalogue, one)
            base = old or "\n".join(said.values())
            captions.give(catalogue, one, PERSON, f"{base}\n{text}".strip() if more else text)
        _remember(catalogue, captions=before)
    return len(before)


def answer_many(catalogue: Catalogue, query: str, answers: Mapping[int, bool]) -> int:
    """Say yes or no to many pictures; the caller holds the lock."""
    words = log.words_of(query)
    known = log.judged_pictures(catalogue, words)
    before = {one: known.get(one) for one, yes in answers.items() if known.get(one) != yes}
    judge_many(catalogue, query, answers, lambda: _remember(catalogue, query=words, answers=before))
    return len(before)


def undo_step(catalogue: Catalogue) -> int:
    """Take the last step back; returns of how many pictures. The caller holds the lock."""
    row = catalogue.db.execute("SELECT id, before FROM steps ORDER BY id DESC LIMIT 1").fetchone()
    if row is None:
        raise BadInput("there is no step of many pictures to take back")
    before = json.loads(row[1])
    with catalogue.transaction() as db:
        for one, text in before.get("captions", {}).items():
            captions.give(catalogue, int(one), PERSON, text)
        for one, old in before.get("answers", {}).items():
            db.execute(
                "DELETE FROM feedback WHERE query = ? AND picture = ?", (before["query"], int(one))
            )
            if old is not None:
                log.write(catalogue, before["query"], int(one), old)
        db.execute("DELETE FROM steps WHERE id = ?", (row[0],))
        queue.finish(catalogue)
    learn_again(catalogue)
    return len(before.get("captions", ())) + len(before.get("answers", ()))


def _remember(catalogue: Catalogue, **before: object) -> None:
    """Keep how things were, inside the transaction of the step."""
    queue.finish(catalogue)
    catalogue.db.execute("INSERT INTO steps (before) VALUES (?)", (json.dumps(before),))
    catalogue.db.execute("DELETE FROM steps WHERE id <= (SELECT max(id) FROM steps) - ?", (_MOST,))

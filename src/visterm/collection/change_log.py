"""The changes that people make: written to the log first, then done by whoever may write.

A change that waits for another writer survives a kill, and is done in the order in which it was
given, by whoever writes or searches next.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from visterm.collection.ingest.scopes import scope_of
from visterm.collection.media.fields import Fields, changed
from visterm.collection.media.fields import check as check_fields
from visterm.collection.media.records import number_of
from visterm.collection.store import events
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.events import Judgement, entries, judged_pictures, words_of
from visterm.collection.store.location import may_write
from visterm.collection.store.lock import Locked
from visterm.collection.store.snapshot import NotTrained
from visterm.collection.store.versions import UNFINISHED
from visterm.errors import BadInput, VistermError

if TYPE_CHECKING:
    from visterm.collection.feedback import changes
    from visterm.collection.library.teaching import RoundReport

Given = ParamSpec("Given")
Result = TypeVar("Result")
Verb = Callable[Concatenate[Catalogue, Path, Given], Result]
Named = int | str | os.PathLike[str]
"""A picture by its number or by one of its files; the log knows it by its number."""
Answers = Mapping[int, bool] | Sequence[tuple[int, bool]]

VERBS: dict[str, Callable[..., Any]] = {}
"""What can be written to the log, by name."""
_DOING: dict[str, str] = {}
"""What whoever waits for a verb is told."""
_VALUE_ERRORS = (
    *(sqlite3.DataError, sqlite3.IntegrityError),
    *(sqlite3.InterfaceError, sqlite3.ProgrammingError),
)
"""Errors of SQLite that are about what it was given, not about the file or the disk."""


class Queued:
    """A change that waits for whoever is writing; it is on the disk, and will not be lost."""


class ChangeLog:
    """Writes changes of one collection to its log, and does them."""

    def __init__(self, catalogue: Catalogue, root: Path) -> None:
        self.catalogue, self.root = catalogue, root

    def do(self, verb: Verb[Given, Result], *_: Given.args, **values: Given.kwargs) -> Result:
        """Write a change down and do it, as soon as nobody else writes."""
        with self.catalogue.writing(_DOING[verb.__name__]):
            result: Result = self._apply(until=self._put(verb.__name__, values))
            return result

    def submit(self, verb: str, **values: Any) -> Any:
        """Write a change down, and do it unless somebody else writes: then it is `Queued`."""
        with contextlib.ExitStack() as until_done:
            try:
                # Held before it is written down, so that both wait for the disk once.
                until_done.enter_context(self.catalogue.writing(_DOING.get(verb, verb), wait=0))
            except Locked:
                self.put(verb, **values)
                return Queued()
            return self._apply(until=self.put(verb, **values))

    def put(self, verb: str, **values: Any) -> int:
        """Write a change down, to be done later; returns its number."""
        if verb not in VERBS:
            raise BadInput(f"{verb} cannot wait; there are {', '.join(VERBS)}")
        return self._put(verb, values)

    def _put(self, verb: str, values: dict[str, Any]) -> int:
        if "picture" in values:
            values["picture"] = self._number(values["picture"])
        if "query" in values:
            words_of(values["query"])
        if "pictures" in values:
            values["pictures"] = [
                one if isinstance(one, int) else self._number(one) for one in values["pictures"]
            ]
        if "paths" in values:
            values["paths"] = [scope_of(self.root, path) for path in values["paths"]]
        if "fields" in values:
            check_fields(values["fields"], values.get("own_id"))
        if isinstance(values.get("answers"), Mapping):
            values["answers"] = list(values["answers"].items())
        return events.put(self.catalogue, verb, values)

    def _number(self, picture: Named) -> int:
        return number_of(self.catalogue, self.root, picture)

    @property
    def waiting(self) -> int:
        """How many changes wait for whoever is writing."""
        return events.count_waiting(self.catalogue)

    def apply_waiting(self) -> None:
        """Do what waits, unless somebody else is writing: they will."""
        if self.waiting and may_write(self.catalogue.store):
            with contextlib.suppress(Locked):
                self._apply()

    def _apply(self, until: int | None = None) -> Any:
        """Do what waits, in order; returns what the change ``until`` returns, or raises its error.

        A change that fails by itself is refused; only the caller of ``until`` gets the exception.
        Where the disk or the collection is at fault, it waits, and so do all after it.
        """
        result: Any = Queued()  # unless somebody else has just done it, or it goes on waiting
        with self.catalogue.writing("doing what waited", wait=0):
            # No further: where more comes than is done, whoever waits would wait for ever.
            last = events.last_number(self.catalogue) if until is None else until
            while (event := events.first_waiting(self.catalogue)) and event.number <= last:
                try:
                    self.catalogue.applying = event.number
                    if event.verb not in VERBS:  # a store that came from others may say anything
                        raise BadInput(f"{event.verb} cannot wait")
                    value = VERBS[event.verb](self.catalogue, self.root, **event.values)
                    result = value if event.number == until else result
                except Exception as error:
                    if isinstance(error, NotTrained) and self.catalogue.get(UNFINISHED):
                        return result  # it was trained, and will be again
                    if not _is_its_own(error):
                        raise
                    is_heard = event.number == until or (
                        event.verb.startswith("undo") and isinstance(error, BadInput)
                    )
                    reason = None if is_heard else str(error) or repr(error)
                    events.refuse(self.catalogue, event.number, reason)
                    if event.number == until:
                        raise
                finally:
                    self.catalogue.applying = None
                events.settle(self.catalogue, event.number)
        return result


def _is_its_own(error: Exception) -> bool:
    """Whether a change fails whatever becomes of the disk, the memory and the collection's files.

    >>> _is_its_own(BadInput("there is no picture 9")), _is_its_own(TypeError("no such value"))
    (True, True)
    >>> _is_its_own(VistermError("the disk is full")), _is_its_own(MemoryError())
    (False, False)
    """
    if isinstance(error, (BadInput, NotTrained)):
        return True
    if isinstance(error, _VALUE_ERRORS) or isinstance(error.__cause__, _VALUE_ERRORS):
        return True
    others = (VistermError, OSError, MemoryError, ImportError, sqlite3.Error)
    return not isinstance(error, others)


def verb(doing: str) -> Callable[[Verb[Given, Result]], Verb[Given, Result]]:
    """Let a function be written to the log by its name and values."""

    def known(change: Verb[Given, Result]) -> Verb[Given, Result]:
        VERBS[change.__name__], _DOING[change.__name__] = change, doing
        return change

    return known


def _learn_completeness(catalogue: Catalogue) -> None:
    from visterm.collection.training.completeness import learn_completeness

    learn_completeness(catalogue)


# What the verbs need is imported in them: no search needs it.


@verb("captioning")
def caption(catalogue: Catalogue, root: Path, picture: Named, text: str) -> None:
    caption_many(catalogue, root, [picture], text)


@verb("captioning")
def caption_many(
    catalogue: Catalogue, root: Path, pictures: Sequence[Named], text: str, more: bool = False
) -> int:
    from visterm.collection.feedback import changes

    numbers = [number_of(catalogue, root, picture) for picture in pictures]
    changes.caption_many(catalogue, numbers, text, more=more)
    _learn_completeness(catalogue)
    return len(set(numbers))


@verb("bringing captions and clicks in")
def bring_in(
    catalogue: Catalogue,
    root: Path,
    captions: Sequence[changes.GivenCaption],
    clicks: Sequence[changes.GivenClick] = (),
    described: Sequence[changes.GivenFields] = (),
) -> None:
    from visterm.collection.feedback import changes

    changes.bring_in(catalogue, captions, clicks, described)
    _learn_completeness(catalogue)


@verb("writing fields")
def set_fields(
    catalogue: Catalogue,
    root: Path,
    picture: Named,
    fields: Fields | None = None,
    own_id: str | None = None,
) -> None:
    from visterm.collection.feedback import changes

    number = number_of(catalogue, root, picture)
    given = [(number, changed(catalogue, number, fields, own_id))]
    changes.bring_in(catalogue, (), described=given)


@verb("learning from a click")
def judge(
    catalogue: Catalogue, root: Path, query: str, picture: Named, relevant: bool
) -> Judgement:
    from visterm.collection.feedback import changes

    number = number_of(catalogue, root, picture)
    return changes.judge_many(catalogue, query, {number: bool(relevant)})[number]


@verb("learning from clicks")
def judge_many(catalogue: Catalogue, root: Path, query: str, answers: Answers) -> int:
    from visterm.collection.feedback import changes

    given, known = _by_number(catalogue, root, answers), judged_pictures(catalogue, words_of(query))
    changes.judge_many(catalogue, query, given)
    return sum(known.get(picture) != relevant for picture, relevant in given.items())


@verb("learning from a round of answers")
def teach(catalogue: Catalogue, root: Path, query: str, answers: Answers) -> RoundReport:
    from visterm.collection.library.teaching import answer

    return answer(catalogue, root, query, _by_number(catalogue, root, answers))


@verb("reviewing captions")
def review(catalogue: Catalogue, root: Path, query: str, answers: Answers) -> int:
    from visterm.collection.library.review import review

    changed = review(catalogue, query, _by_number(catalogue, root, answers))
    _learn_completeness(catalogue)
    return changed


def _by_number(catalogue: Catalogue, root: Path, answers: Answers) -> dict[int, bool]:
    return {number_of(catalogue, root, one): bool(yes) for one, yes in dict(answers).items()}


@verb("removing pictures")
def remove(catalogue: Catalogue, root: Path, paths: Sequence[str | os.PathLike[str]]) -> int:
    from visterm.collection.feedback import changes

    count = changes.remove(catalogue, [os.fspath(path) for path in paths])
    _learn_completeness(catalogue)
    return count


@verb("taking a step back")
def undo_last(catalogue: Catalogue, root: Path, only_said: bool = False) -> changes.UndoneStep:
    from visterm.collection.feedback import changes

    undone = changes.undo_last(catalogue, only_said=only_said)
    _learn_completeness(catalogue)
    return undone


@verb("taking a click back")
def undo(catalogue: Catalogue, root: Path, number: int | None = None) -> Judgement:
    from visterm.collection.feedback import changes

    wanted = ("1",) if number is None else ("id = ?", number)
    clicks = entries(catalogue, *wanted)
    if not clicks:
        missing = "nothing to undo" if number is None else f"no yes or no has the number {number}"
        raise BadInput(f"{missing}; visterm feedback lists what was said")
    changes.forget_clicks(catalogue, clicks[-1].id)
    return clicks[-1]


@verb("taking all clicks back")
def forget_judgements(catalogue: Catalogue, root: Path) -> int:
    from visterm.collection.feedback import changes

    return changes.forget_clicks(catalogue)

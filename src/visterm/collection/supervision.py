"""What people say about pictures: captions and relevance feedback, now or as soon as can be."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from visterm.collection.feedback.log import Judgement, entries, judged_pictures, words_of
from visterm.collection.media.captions import TABLE, read_table
from visterm.collection.picture_views import PictureViews
from visterm.collection.store import events
from visterm.collection.store.lock import Locked
from visterm.collection.store.snapshot import NotTrained
from visterm.collection.store.versions import UNFINISHED
from visterm.errors import BadInput, VistermError

if TYPE_CHECKING:
    from visterm.collection.feedback import changes
    from visterm.collection.feedback.changes import UndoneStep
    from visterm.collection.library.backup import Restored
    from visterm.collection.library.teaching import RoundReport, WordRecord
    from visterm.collection.media.captions import Imported

_ABOUT_VALUES = (
    *(sqlite3.DataError, sqlite3.IntegrityError),
    *(sqlite3.InterfaceError, sqlite3.ProgrammingError),
)
"""Errors of SQLite that are about what it was given, not about the file or the disk."""


_COMPILED_FROM = 1 << 16
"""Pictures from which on searches use compiled code."""


CHANGES: dict[str, Callable[..., Any]] = {}
"""The verbs that are written to the log, and what each of them does."""
Given = ParamSpec("Given")
Result = TypeVar("Result")


class Queued:
    """A change that waits for whoever is writing; it is on the disk, and will not be lost."""


def _is_its_own(error: Exception) -> bool:
    """Whether a change fails whatever becomes of the disk, the memory and the collection's files.

    >>> _is_its_own(BadInput("there is no picture 9")), _is_its_own(TypeError("no such value"))
    (True, True)
    >>> _is_its_own(VistermError("the disk is full")), _is_its_own(MemoryError())
    (False, False)
    """
    if isinstance(error, (BadInput, NotTrained)):
        return True
    if isinstance(error, _ABOUT_VALUES) or isinstance(error.__cause__, _ABOUT_VALUES):
        return True
    others = (VistermError, OSError, MemoryError, ImportError, sqlite3.Error)
    return not isinstance(error, others)


def _change(
    doing: str,
) -> Callable[
    [Callable[Concatenate[Supervision, Given], Result]],
    Callable[Concatenate[Supervision, Given], Result],
]:
    """Verbs that are written to the log before they are done; ``doing`` is for whoever waits."""

    def logged(
        method: Callable[Concatenate[Supervision, Given], Result],
    ) -> Callable[Concatenate[Supervision, Given], Result]:
        verb, signature = method.__name__, inspect.signature(method)
        CHANGES[verb] = method

        @functools.wraps(method)
        def change(self: Supervision, /, *given: Given.args, **named: Given.kwargs) -> Result:
            if self.catalogue.applying is not None:
                return method(self, *given, **named)  # as a part of another change
            values = signature.bind(self, *given, **named).arguments
            with self.catalogue.writing(doing):
                number = self._put(verb, {name: values[name] for name in list(values)[1:]})
                found: Result = self._apply(until=number)
                return found

        return change

    return logged


class Supervision(PictureViews):
    """Captions and clicks, given and taken back."""

    def submit(self, verb: str, **values: Any) -> Any:
        """Call a change by name; while somebody else writes it waits, and `Queued` says so.

        What waits survives a kill and is done in the order in which it was said, by whoever writes
        or searches next.

        >>> import tempfile
        >>> from visterm.collection import Collection
        >>> from visterm.datasets.scenes import draw_scenes
        >>> folder = tempfile.mkdtemp()
        >>> _ = draw_scenes(folder, 2, size=(48, 32))
        >>> with Collection.open(folder) as one, Collection.open(folder) as other:
        ...     _ = one.add(features="blocks")
        ...     with one.catalogue.writing("something long"):
        ...         said = other.submit("caption", picture=1, text="a boat")
        ...     waiting = other.waiting
        ...     other.apply_waiting()
        ...     type(said).__name__, waiting, other.captions(1)
        ('Queued', 1, {'person': 'a boat'})
        """
        return self.apply(self.put(verb, **values))

    def put(self, verb: str, **values: Any) -> int:
        """Write a change to the log, from where it will be done; returns its number."""
        if verb not in CHANGES:
            raise BadInput(f"{verb} cannot wait; there are {', '.join(CHANGES)}")
        return self._put(verb, values)

    def apply(self, number: int) -> Any:
        """Do what waits, and return what the change of a number does; `Queued` if it waits on."""
        try:
            return self._apply(until=number)
        except Locked:
            return Queued()

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
            values["paths"] = [self._inside(path) for path in values["paths"]]
        if isinstance(values.get("answers"), Mapping):
            values["answers"] = list(values["answers"].items())
        return events.put(self.catalogue, verb, values)

    @property
    def waiting(self) -> int:
        """How many changes wait for whoever is writing."""
        return events.count_waiting(self.catalogue)

    def apply_waiting(self) -> None:
        """Do what waits, unless somebody else is writing: they will."""
        if self.is_writable and self.waiting:
            with contextlib.suppress(Locked):
                self._apply()

    def _apply(self, until: int | None = None) -> Any:
        """Do what waits, in order; returns what the change ``until`` returns, or raises its error.

        An error of another change is its own: whoever said it has gone, so it is refused. Where
        the disk or the collection is at fault, it waits for better days, and all after it.
        """
        result: Any = Queued()  # unless somebody else has just done it, or it goes on waiting
        with self.catalogue.writing("doing what waited", wait=0):
            while (event := events.first_waiting(self.catalogue)) is not None:
                try:
                    self.catalogue.applying = event.number
                    if event.verb not in CHANGES:  # a store that came from others may say anything
                        raise BadInput(f"{event.verb} cannot wait")
                    found = CHANGES[event.verb](self, **event.values)
                    result = found if event.number == until else result
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

    @_change("captioning")
    def caption(self, picture: int | str | os.PathLike[str], text: str) -> None:
        """Say what is to be seen in a picture; it wins over words from anywhere else.

        An empty text takes back what was said before.
        """
        self.caption_many([self._number(picture)], text)

    @_change("captioning")
    def caption_many(self, pictures: Sequence[int], text: str, *, more: bool = False) -> int:
        """Give many pictures one caption, or ``more`` words; `undo_last` takes it back as one."""
        from visterm.collection.feedback import changes  # which no search needs

        numbers = [self._number(one) for one in pictures]
        changes.caption_many(self.catalogue, numbers, text, more=more)
        self._learn_completeness()
        return len(set(numbers))

    @_change("bringing captions and clicks in")
    def bring_in(
        self,
        captions: Sequence[changes.GivenCaption],
        clicks: Sequence[changes.GivenClick] = (),
    ) -> None:
        """Give pictures captions and clicks of many sources and queries, all or none."""
        from visterm.collection.feedback import changes  # which no search needs

        changes.bring_in(self.catalogue, captions, clicks)
        self._learn_completeness()

    def caption_from(self, table: str | os.PathLike[str]) -> Imported:
        """Take captions from a CSV, TSV or JSON-lines table of paths and texts, all or none."""
        imported, texts = read_table(self.catalogue, self.root, Path(table))
        self.bring_in([(picture, TABLE, text) for picture, text in texts.items()])
        return imported

    def backup(self) -> Iterator[str]:
        """All captions that people gave, and every yes and no, as JSON lines for `restore`."""
        from visterm.collection.library.backup import backup_lines

        return backup_lines(self.catalogue)

    def restore(self, file: str | os.PathLike[str]) -> Restored:
        """Bring back what `backup` wrote; pictures are found by content, or else by path.

        What was said here since about the same picture gives way.
        """
        from visterm.collection.library.backup import read_backup

        report, captions, clicks = read_backup(self.catalogue, self.root, Path(file))
        self.bring_in(captions, clicks)
        return report

    @_change("learning from a click")
    def judge(self, query: str, picture: int | str | os.PathLike[str], relevant: bool) -> Judgement:
        """Say whether a picture answers a query; the ranking learns from it at once.

        A yes makes the picture beat others for the query's words, a no makes it lose. Conditions
        such as ``in:alps`` do not matter. Saying the opposite later takes the first back.

        >>> import tempfile
        >>> from visterm.collection import Collection
        >>> from visterm.datasets.scenes import draw_scenes
        >>> folder = tempfile.mkdtemp()
        >>> _ = draw_scenes(folder, 30, size=(48, 32))
        >>> with Collection.open(folder) as collection:
        ...     _ = collection.add(features="blocks")
        ...     _ = collection.caption_from(f"{folder}/captions.tsv")
        ...     _ = collection.train()
        ...     before = collection.search("sky", k=5)
        ...     said = collection.judge("sky", before.results[-1].picture, True)
        ...     after = collection.search("sky", k=5)
        ...     undone = collection.undo()
        ...     same = collection.search("sky", k=5) == before
        >>> said == undone, after.results[0].score > before.results[-1].score, same
        (True, True, True)
        """
        from visterm.collection.feedback.changes import judge_many

        number = self._number(picture)
        return judge_many(self.catalogue, query, {number: bool(relevant)})[number]

    @_change("learning from clicks")
    def judge_many(
        self, query: str, answers: Mapping[int, bool] | Sequence[tuple[int, bool]]
    ) -> int:
        """Say of many pictures whether they answer a query; `undo_last` takes it back as one.

        Returns for how many that was news.
        """
        from visterm.collection.feedback.changes import judge_many

        given, known = self._answers(answers), judged_pictures(self.catalogue, words_of(query))
        judge_many(self.catalogue, query, given)
        return sum(known.get(picture) != relevant for picture, relevant in given.items())

    @_change("learning from a round of answers")
    def teach(
        self, query: str, answers: Mapping[int, bool] | Sequence[tuple[int, bool]]
    ) -> RoundReport:
        """Answer a round of `questions`; returns what it brought, and whether that is enough."""
        from visterm.collection.library.teaching import answer

        return answer(self.catalogue, self.root, query, self._answers(answers))

    def _answers(self, answers: Mapping[int, bool] | Sequence[tuple[int, bool]]) -> dict[int, bool]:
        return {self._number(picture): bool(yes) for picture, yes in dict(answers).items()}

    @_change("removing pictures")
    def remove(self, paths: Iterable[str | os.PathLike[str]]) -> int:
        """Take pictures or folders out of the collection; their files stay.

        Returns how many pictures that were. They stay out until ``add`` names them, or `undo_last`
        takes this back; their captions and clicks come back with them.
        """
        from visterm.collection.feedback import changes  # which no search needs

        count = changes.remove(self.catalogue, [os.fspath(path) for path in paths])
        self._learn_completeness()
        return count

    @_change("taking a step back")
    def undo_last(self) -> UndoneStep:
        """Take back what was done last: a caption, a yes or no, many of either, or a removal."""
        from visterm.collection.feedback import changes  # which no search needs

        undone = changes.undo_last(self.catalogue)
        self._learn_completeness()
        return undone

    @_change("taking a click back")
    def undo(self, number: int | None = None) -> Judgement:
        """Take back one yes or no, by its id, or the last: as if it had never been said."""
        from visterm.collection.feedback import changes  # which no search needs

        wanted = ("1",) if number is None else ("id = ?", number)
        found = entries(self.catalogue, *wanted)
        if not found:
            missing = (
                "nothing to undo" if number is None else f"no yes or no has the number {number}"
            )
            raise BadInput(f"{missing}; visterm feedback lists what was said")
        changes.forget_clicks(self.catalogue, found[-1].id)
        return found[-1].judgement

    @_change("taking all clicks back")
    def forget_judgements(self) -> int:
        """Take back every yes and no; returns how many there were."""
        from visterm.collection.feedback import changes  # which no search needs

        return changes.forget_clicks(self.catalogue)

    def judgements(self, query: str | None = None) -> list[Judgement]:
        """Every yes and no that counts, or those about one query, oldest first."""
        wanted = ("1",) if query is None else ("query = ?", words_of(query))
        return [entry.judgement for entry in entries(self.catalogue, *wanted)]

    def questions(self, query: str, count: int = 10) -> list[int]:
        """The pictures from whose answers most would be learnt about a word, or a query of words.

        Likely ones and uncertain ones, different from each other, that nobody has answered yet.
        """
        from visterm.collection.library.teaching import questions

        self._mend()
        return questions(self.catalogue, self.root, query, count)

    def word(self, word: str) -> WordRecord:
        """What is known of a word: examples, how well it is ranked, and the words nearest to it."""
        from visterm.collection.library.teaching import word_record

        self._mend()
        return word_record(self.catalogue, self.root, word)

    def prepare(self) -> None:
        """Load now what searches and clicks need, so that no person has to wait for it."""
        from visterm.collection.feedback.changes import prepare

        if self.has_model:
            prepare(self.catalogue)

    def prepare_searches(self) -> None:
        """Load now what searches need, so that no person has to wait for it."""
        from visterm.collection.store.snapshot import reading
        from visterm.text.meaning import load_vectors

        load_vectors()
        with reading(self.catalogue) as now:
            if now.version is not None:
                pictures = now.pictures(now.words.version.extractor)
                if pictures is not None and len(pictures) >= _COMPILED_FROM:
                    from visterm.index import loops

                    loops.prepare()

"""What people say about pictures: captions and relevance feedback, now or as soon as can be."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.collection.feedback.log import Judgement, entries, words_of
from visterm.collection.media import captions
from visterm.collection.picture_views import PictureViews
from visterm.collection.store import queue
from visterm.collection.store.active_model import NotTrained
from visterm.collection.store.caption_words import PERSON
from visterm.collection.store.lock import Locked
from visterm.collection.store.versions import UNFINISHED
from visterm.errors import BadInput, VistermError

if TYPE_CHECKING:
    from visterm.collection.exchange.backup import Restored
    from visterm.collection.media.captions import Imported
    from visterm.collection.teaching.service import RoundReport
    from visterm.collection.teaching.word_record import WordRecord

VERBS = (
    *("caption", "judge", "teach", "undo", "forget_judgements"),
    *("caption_many", "judge_many", "undo_step"),
)
"""What can wait while somebody else writes."""
_ABOUT_VALUES = (
    *(sqlite3.DataError, sqlite3.IntegrityError),
    *(sqlite3.InterfaceError, sqlite3.ProgrammingError),
)
"""Errors of SQLite that are about what it was given, not about the file or the disk."""


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


class Supervision(PictureViews):
    """Captions and clicks, given and taken back."""

    def submit(self, verb: str, **values: Any) -> Any:
        """Call one of `VERBS` by name; while somebody else writes it waits, and `Queued` says so.

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
        if verb not in VERBS:
            raise BadInput(f"{verb} cannot wait; there are {', '.join(VERBS)}")
        if "picture" in values:
            values["picture"] = self._number(values["picture"])
        if "query" in values:
            words_of(values["query"])
        number = queue.put(self.catalogue, verb, values)
        try:
            return self._apply(until=number)
        except Locked:
            return Queued()

    @property
    def waiting(self) -> int:
        """How many changes wait for whoever is writing."""
        return queue.waiting(self.catalogue)

    def apply_waiting(self) -> None:
        """Do what waits, unless somebody else is writing: they will."""
        if self.is_writable and self.waiting:
            with contextlib.suppress(Locked):
                self._apply()

    def _apply(self, until: int | None = None) -> Any:
        """Do what waits, in order; returns what the change ``until`` returns, or raises its error.

        An error of another change is its own: whoever said it has gone, so it is set aside. Where
        the disk or the collection is at fault, it waits for better days, and all after it.
        """
        found: Any = Queued()  # unless somebody else has just done it, or it goes on waiting
        with self.catalogue.writing("doing what waited", wait=0):
            while (change := queue.first(self.catalogue)) is not None:
                try:
                    self.catalogue.applying = change.number
                    if change.verb not in VERBS:  # a store that came from others may say anything
                        raise BadInput(f"{change.verb} cannot wait")
                    result = getattr(Supervision, change.verb)(self, **change.values)
                except Exception as error:
                    if isinstance(error, NotTrained) and self.catalogue.get(UNFINISHED):
                        return found  # it was trained, and will be again
                    if not _is_its_own(error):
                        raise
                    if change.number == until:
                        queue.drop(self.catalogue, change.number)
                        raise
                    if not (change.verb.startswith("undo") and isinstance(error, BadInput)):
                        queue.set_aside(self.catalogue, change, str(error) or repr(error))
                        continue
                else:
                    found = result if change.number == until else found
                finally:
                    self.catalogue.applying = None
                queue.drop(self.catalogue, change.number)
        return found

    @contextlib.contextmanager
    def _saying(self, doing: str) -> Iterator[None]:
        """Write, after all that was said before."""
        is_outermost = not self.catalogue.is_writing
        with self.catalogue.writing(doing):
            if is_outermost:
                self._apply()
            yield

    def caption(self, picture: int | str | os.PathLike[str], text: str) -> None:
        """Say what is to be seen in a picture; it wins over words from anywhere else.

        An empty text takes back what was said before.
        """
        with self._saying("captioning"):
            number = self._number(picture)
            with self.catalogue.transaction():
                captions.give(self.catalogue, number, PERSON, text)
            self._learn_completeness()
        self._shared.word_counts.forget()

    def caption_from(self, table: str | os.PathLike[str]) -> Imported:
        """Take captions from a CSV, TSV or JSON-lines table of paths and texts, all or none."""
        with self._saying("captioning"):
            with self.catalogue.transaction():
                imported = captions.import_table(self.catalogue, self.root, Path(table))
            self._learn_completeness()
        return imported

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
        ...     _ = collection.train(max_iter=2000)
        ...     before = collection.search("sky", k=5)
        ...     said = collection.judge("sky", before.results[-1].picture, True)
        ...     after = collection.search("sky", k=5)
        ...     undone = collection.undo()
        ...     same = collection.search("sky", k=5) == before
        >>> said == undone, after.results[0].score > before.results[-1].score, same
        (True, True, True)
        """
        from visterm.collection.feedback.service import judge

        with self._saying("learning from a click"):
            number = self._number(picture)
            return judge(self.catalogue, query, number, bool(relevant))

    def judge_many(
        self, query: str, answers: Mapping[int, bool] | Sequence[tuple[int, bool]]
    ) -> int:
        """Say of many pictures whether they answer a query; `undo_step` takes it back as one.

        Returns for how many that was news.
        """
        from visterm.collection.exchange.steps import answer_many

        with self._saying("learning from clicks"):
            given = {self._number(picture): bool(yes) for picture, yes in dict(answers).items()}
            return answer_many(self.catalogue, query, given)

    def caption_many(self, pictures: Sequence[int], text: str, *, more: bool = False) -> int:
        """Give many pictures one caption, or ``more`` words; `undo_step` takes it back as one."""
        from visterm.collection.exchange.steps import caption_many

        with self._saying("captioning"):
            numbers = [self._number(one) for one in pictures]
            count = caption_many(self.catalogue, numbers, text, more=more)
            self._learn_completeness()
        self._shared.word_counts.forget()
        return count

    def undo_step(self) -> int:
        """Take back the last `judge_many` or `caption_many`; returns how many pictures it was."""
        from visterm.collection.exchange.steps import undo_step

        with self._saying("taking a step back"):
            count = undo_step(self.catalogue)
            self._learn_completeness()
        self._shared.word_counts.forget()
        return count

    def backup(self) -> Iterator[str]:
        """All captions that people gave, and every yes and no, as JSON lines for `restore`."""
        from visterm.collection.exchange.backup import backup_lines

        return backup_lines(self.catalogue)

    def restore(self, file: str | os.PathLike[str]) -> Restored:
        """Bring back what `backup` wrote; pictures are found by content, or else by path."""
        from visterm.collection.exchange.backup import restore

        with self._saying("bringing a backup back"):
            report = restore(self.catalogue, self.root, Path(file))
            self._learn_completeness()
        self._shared.word_counts.forget()
        return report

    def questions(self, query: str, count: int = 10) -> list[int]:
        """The pictures from whose answers most would be learnt about a word, or a query of words.

        Likely ones and uncertain ones, different from each other, that nobody has answered yet.
        """
        from visterm.collection.teaching.service import questions

        self._mend()
        return questions(self.catalogue, self.root, query, count)

    def word(self, word: str) -> WordRecord:
        """What is known of a word: examples, how well it is ranked, and the words nearest to it."""
        from visterm.collection.teaching.word_record import word_record

        self._mend()
        return word_record(self.catalogue, self.root, word)

    def teach(
        self, query: str, answers: Mapping[int, bool] | Sequence[tuple[int, bool]]
    ) -> RoundReport:
        """Answer a round of `questions`; returns what it brought, and whether that is enough."""
        from visterm.collection.teaching.service import answer

        with self._saying("learning from a round of answers"):
            given = {self._number(picture): bool(yes) for picture, yes in dict(answers).items()}
            return answer(self.catalogue, self.root, query, given)

    def prepare(self) -> None:
        """Load now what searches and clicks need, so that no person has to wait for it."""
        from visterm.collection.feedback.service import prepare

        if self.has_model:
            prepare(self.catalogue)

    def judgements(self, query: str | None = None) -> list[Judgement]:
        """Every yes and no that counts, or those about one query, oldest first."""
        wanted = ("1",) if query is None else ("query = ?", words_of(query))
        return [entry.judgement for entry in entries(self.catalogue, *wanted)]

    def undo(self, number: int | None = None) -> Judgement:
        """Take back one yes or no, by its id, or the last: as if it had never been said."""
        from visterm.collection.feedback.service import undo

        with self._saying("taking a click back"):
            return undo(self.catalogue, number)

    def forget_judgements(self) -> int:
        """Take back every yes and no; returns how many there were."""
        from visterm.collection.feedback.service import forget

        with self._saying("taking all clicks back"):
            return forget(self.catalogue)

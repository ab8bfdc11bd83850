"""The catalogue: one SQLite file that names everything a collection knows and every file it keeps.

Readers never wait: SQLite's write-ahead log gives each the last committed state. What a writer
does becomes true in one transaction, after the files it names lie whole on the disk.
"""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from visterm.collection.store import caption_words
from visterm.collection.store.location import CATALOGUE, may_write
from visterm.collection.store.lock import writer
from visterm.collection.store.schema import check_version, make_tables, version_of
from visterm.errors import VistermError, unencodable

if TYPE_CHECKING:
    from visterm.collection.store.snapshot import SharedState, Snapshot
    from visterm.features import Extractor

_VALUES = 500
"""SQLite takes so many values in one question; not every build takes more."""


class Catalogue:
    """An open catalogue.

    Parameters
    ----------
    store
        The folder it lies in, which must exist; the file is made if it does not.

    Examples
    --------
    >>> import tempfile
    >>> catalogue = Catalogue(Path(tempfile.mkdtemp()))
    >>> with catalogue.writing("trying"), catalogue.transaction() as db:
    ...     catalogue.set("features", "blocks")
    >>> catalogue.get("features")
    'blocks'
    """

    def __init__(self, store: Path) -> None:
        self.store = store
        self.path = store / CATALOGUE
        self._writing = 0
        self.applying: int | None = None  # the number of the queued change that is being done
        self.shared: SharedState | None = None
        self.extractor: tuple[object, Extractor] | None = None  # that was read, with its stamp
        self.latest: tuple[tuple[int, int], Snapshot] | None = None  # with the stamp of its state
        with _explained(self.path):
            self.db = _connect(self.path)
            check_version(self.db, str(self.path))
        if version_of(self.db) == 0:
            with self.writing("preparing the catalogue"):
                if version_of(self.db) == 0:  # whoever was first has made them
                    make_tables(self.db)

    def close(self) -> None:
        self.latest = None
        self.db.close()

    def stamp(self) -> tuple[int, int]:
        """What is the same for as long as neither this connection nor another changes anything."""
        with _explained(self.path):
            return self.db.execute("PRAGMA data_version").fetchone()[0], self.db.total_changes

    @property
    def is_writing(self) -> bool:
        """Whether this object holds the writer's lock."""
        return self._writing > 0

    @contextlib.contextmanager
    def writing(self, doing: str, wait: float | None = None) -> Iterator[None]:
        """Be the only writer; inside another ``with`` of the same catalogue it costs nothing."""
        if self._writing:
            self._writing += 1
            try:
                yield
            finally:
                self._writing -= 1
            return
        with writer(self.store / "lock", doing, wait):
            self._writing = 1
            try:
                with _explained(self.path):
                    yield
            finally:
                self._writing = 0

    @contextlib.contextmanager
    def transaction(self, *, lasting: bool = True) -> Iterator[sqlite3.Connection]:
        """All of it or nothing, and on the disk when the ``with`` ends.

        What is not ``lasting`` does not wait for the disk: a power cut may undo it, a kill cannot.
        """
        if not self._writing:
            raise VistermError("only the holder of the writer's lock may change a collection")
        with _explained(self.path), self.unsynced(not lasting):
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
                if self.one("SELECT 1 FROM changed_captions LIMIT 1"):
                    caption_words.catch_up(self.db)
                self.db.execute("COMMIT")
            except BaseException:
                # A full disk may already have rolled back.
                with contextlib.suppress(sqlite3.Error):
                    self.db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def unsynced(self, really: bool = True) -> Iterator[None]:
        """Commit without waiting for the disk, until the ``with`` ends."""
        if not really:
            yield
            return
        self.db.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self.db.execute("PRAGMA synchronous = FULL")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several questions about one state, whatever others commit meanwhile."""
        with _explained(self.path):
            if self.db.in_transaction:
                yield self.db
                return
            self.db.execute("BEGIN")
            try:
                yield self.db
            finally:
                with contextlib.suppress(sqlite3.Error):
                    self.db.execute("ROLLBACK")

    def explained(self) -> contextlib.AbstractContextManager[None]:
        """Errors of SQLite and of the system, for people."""
        return _explained(self.path)

    def one(self, question: str, *values: Any) -> Any:
        """The first value of the first row; None where there is no row."""
        with _explained(self.path):
            row = self.db.execute(question, values).fetchone()
        return None if row is None else row[0]

    def among(self, question: str, numbers: Sequence[int], *values: Any) -> Iterator[Any]:
        """The rows of a question about some pictures, whose numbers stand for ``{numbers}``.

        ``values`` are those of the question marks before it.

        >>> import tempfile
        >>> catalogue = Catalogue(Path(tempfile.mkdtemp()))
        >>> list(catalogue.among("SELECT id FROM pictures WHERE id IN {numbers}", range(9_999)))
        []
        """
        for first in range(0, len(numbers), _VALUES):
            some = numbers[first : first + _VALUES]
            marks = f"({','.join('?' * len(some))})"
            yield from self.db.execute(question.format(numbers=marks), (*values, *some))

    def last_number(self, table: str) -> int:
        """The highest number that a row of a table ever had, also one that is gone."""
        return int(self.one("SELECT seq FROM sqlite_sequence WHERE name = ?", table) or 0)

    def get(self, name: str) -> str | None:
        """A setting."""
        value = self.one("SELECT value FROM settings WHERE name = ?", name)
        return None if value is None else str(value)

    def set(self, name: str, value: str | None) -> None:
        """Change a setting, inside a transaction."""
        if value is None:
            self.db.execute("DELETE FROM settings WHERE name = ?", (name,))
        else:
            self.db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def problems(self) -> list[str]:
        """What SQLite finds wrong with the file, one line each."""
        try:
            rows = self.db.execute("PRAGMA integrity_check").fetchall()
            rows += self.db.execute("PRAGMA foreign_key_check").fetchall()
        except sqlite3.Error as error:
            return [f"{self.path}: {error}"]
        return [f"{self.path}: {row[0]}" for row in rows if row[0] != "ok"]


def below_pattern(folder: str) -> str:
    r"""What the paths below a folder are like, for SQL's ``LIKE ... ESCAPE '\'``.

    >>> below_pattern("50%_off")
    '50\\%\\_off/%'
    """
    return folder.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "/%"


def _connect(path: Path) -> sqlite3.Connection:
    if may_write(path if path.exists() else path.parent) and may_write(path.parent):
        db = sqlite3.connect(path, timeout=20, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
    else:
        db = _connect_to_read(path)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Somebody else's collection, perhaps on a medium that nobody can write."""
    # As long as its log lies beside it, it can be read like any other; else nobody writes it.
    for how in ("mode=ro", "mode=ro&immutable=1"):
        db = sqlite3.connect(f"file:{quote(str(path))}?{how}", uri=True, isolation_level=None)
        try:
            db.execute("SELECT count(*) FROM sqlite_master")
            return db
        except sqlite3.OperationalError:
            db.close()
    raise VistermError(f"{path} cannot be read")


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Errors of SQLite and of the system, for people."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise unencodable(error) from None
    except sqlite3.Error as error:
        raise VistermError(f"{path}: {_reason(str(error))}") from error
    except BrokenPipeError:
        raise  # whoever read our output has gone: nothing is wrong with the collection
    except OSError as error:
        reason = _FULL if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise VistermError(f"{error.filename or path}: {reason}") from error


DAMAGED = (
    "captions and clicks cannot be made again from anything else: put a copy of it back, with its "
    "-wal where that has one; or move the store away, begin anew with visterm add, and bring a "
    "backup back with visterm import. sqlite3's .recover may show what is left in it"
)
"""What to do about a catalogue that is damaged itself."""
_FULL = "no space left on the device; free some and try again"


def _reason(text: str) -> str:
    if "full" in text:
        return _FULL
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return "permission denied or the device is read-only; name another folder with --store"
    if "malformed" in text or "not a database" in text:
        return f"{text}; {DAMAGED}"
    return text

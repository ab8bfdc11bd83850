"""What answers queries now: a version's vocabulary and index, opened once.

A command asks and ends; a server asks hundreds of times a second, from several threads, and must
see what a writer commits at its next question.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from visterm.collection.catalogue import Catalogue
from visterm.collection.versions import Version, current
from visterm.errors import VistermError
from visterm.index import Index
from visterm.index.manifest import NAME

if TYPE_CHECKING:
    from visterm.calibration import Calibration
    from visterm.text import Vocabulary

NOTHING_LEARNT = (
    "nothing has been learnt yet, so words mean nothing; caption some pictures (visterm caption "
    "--from TABLE, or visterm caption PICTURE WORDS) and run visterm train"
)
_YOUNG = 0.2
"""Seconds in which a file may be replaced again without its time of change telling."""


class Cutoffs:
    """Where good matches end, for queries that were asked before; never more than so many.

    >>> cutoffs = Cutoffs(most=1)
    >>> cutoffs.keep((1, b"sea", b""), 12)
    >>> cutoffs.get((1, b"sea", b"")), cutoffs.get((2, b"sea", b""))
    (12, None)
    """

    def __init__(self, most: int = 4096) -> None:
        self._known: dict[tuple[int, bytes, bytes], int] = {}
        self._most = most

    def get(self, key: tuple[int, bytes, bytes]) -> int | None:
        return self._known.get(key)

    def keep(self, key: tuple[int, bytes, bytes], cutoff: int) -> None:
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[key] = cutoff


class NothingLearnt(VistermError):
    """There is no model yet."""


@dataclass
class Answering:
    """A version with its words and its index; one object for all threads."""

    version: Version
    vocabulary: Vocabulary
    index: Index
    calibration: Calibration | None = None
    """How scores become chances; None where too few pictures were held out to know."""
    cutoffs: Cutoffs = field(default_factory=Cutoffs)
    _stamp: tuple[int, ...] = ()
    _refreshing: threading.Lock = field(default_factory=threading.Lock)

    def fresh(self) -> Answering:
        """The same, with all that was committed to the index until now."""
        stat = os.stat(self.version.index / NAME)
        stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        # As with git's index: the time of a file says nothing while it may still be the same tick.
        if stamp != self._stamp or abs(time.time() - stat.st_mtime) < _YOUNG:
            with self._refreshing:
                self.index.refresh()
                self._stamp = stamp
        return self


class Opened:
    """What an open catalogue, or several of them in one process, have opened to answer with."""

    def __init__(self) -> None:
        self._now: Answering | None = None
        self._opening = threading.Lock()

    def of(self, version: Version) -> Answering:
        """The version's words and index, opened now unless they are open."""
        with self._opening:
            # A collection made anew in the same place counts its versions anew, but not its time.
            if self._now is None or self._key(self._now.version) != self._key(version):
                self._now = Answering(
                    version,
                    version.vocabulary(),
                    Index.open(version.index),
                    version.calibration(),
                )
            now = self._now
        return now.fresh()

    def let_go(self) -> None:
        """Close the files."""
        with self._opening:
            self._now = None

    @staticmethod
    def _key(version: Version) -> tuple[int, float]:
        return version.id, version.time


_opened: WeakKeyDictionary[Catalogue, Opened] = WeakKeyDictionary()


def share(catalogue: Catalogue, opened: Opened) -> None:
    """Let a catalogue answer with what others of the same collection have opened."""
    _opened[catalogue] = opened


def let_go(catalogue: Catalogue) -> None:
    """Close what a catalogue answers with, unless it is shared; whoever shares it lets go."""
    _opened.pop(catalogue, None)


def answering(catalogue: Catalogue) -> Answering:
    """The version that answers now.

    Raises
    ------
    VistermError
        Where nothing was learnt, or what was learnt is damaged.
    """
    opened = _opened.setdefault(catalogue, Opened())
    while True:
        version = current(catalogue)
        if version is None:
            raise NothingLearnt(NOTHING_LEARNT)
        try:
            return opened.of(version)
        except (FileNotFoundError, VistermError) as error:
            opened.let_go()
            # A writer may have named a new version, and swept this one, since we looked.
            after = current(catalogue)
            if after is not None and after.id == version.id:
                raise VistermError(
                    f"the index or vocabulary of the model is damaged or gone ({error}); "
                    "visterm check --repair"
                ) from error

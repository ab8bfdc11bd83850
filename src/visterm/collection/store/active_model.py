"""What answers queries now: a version's text space, model and index, opened once.

A command asks and ends; a server asks hundreds of times a second, from several threads, and must
see what a writer commits at its next question.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.caption_words import CachedPostings
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.frame_rows import FrameRows, read_frame_rows
from visterm.collection.store.linear_values import LinearValues
from visterm.collection.store.versions import MODEL, SPACE, WORDS, Version, current
from visterm.errors import VistermError
from visterm.index import DenseIndex, Index
from visterm.index.manifest import NAME

if TYPE_CHECKING:
    from visterm.calibration import Calibration, LinearCalibration, Link
    from visterm.models import Cca
    from visterm.text import Vocabulary
    from visterm.text.spaces import TextSpace

NOT_TRAINED = (
    "nothing has been learnt yet, so words mean nothing; caption some pictures (visterm caption "
    "--from TABLE, or visterm caption PICTURE WORDS) and run visterm train"
)
SPACE_NOT_TRAINED = (
    "nothing answers sentences by {0} yet; visterm search --space {0} trains that on the captions, "
    "and so do Collection.train_space and a job of the server"
)
_YOUNG = 0.2
"""Seconds in which a file may be replaced again without its time of change telling."""


class Cutoffs:
    """Where good matches end, and the highest score, for queries that were asked before.

    Never more than so many are remembered.

    >>> cutoffs = Cutoffs(most=1)
    >>> cutoffs.keep((1, "sea"), 12, -0.5)
    >>> cutoffs.get((1, "sea")), cutoffs.get((2, "sea"))
    ((12, -0.5), None)
    """

    def __init__(self, most: int = 4096) -> None:
        self._known: dict[Hashable, tuple[int, float]] = {}
        self._most = most

    def get(self, key: Hashable) -> tuple[int, float] | None:
        return self._known.get(key)

    def keep(self, key: Hashable, cutoff: int, highest: float) -> None:
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[key] = (cutoff, highest)


class KeptMasks:
    """Which pictures filters let through, as asked before; forgotten when files or captions change.

    >>> masks = KeptMasks()
    >>> masks.keep("1", "in:alps", np.ones(3, bool))
    >>> masks.get("1", "in:alps"), masks.get("2", "in:alps")
    (array([ True,  True,  True]), None)
    """

    def __init__(self, most: int = 64) -> None:
        self._version: Hashable = None
        self._known: dict[Hashable, NDArray[np.bool_]] = {}
        self._most = most

    def get(self, version: Hashable, key: Hashable) -> NDArray[np.bool_] | None:
        return self._known.get(key) if version == self._version else None

    def keep(self, version: Hashable, key: Hashable, mask: NDArray[np.bool_]) -> None:
        if version != self._version or len(self._known) >= self._most:
            self._version, self._known = version, {}
        self._known[key] = mask


class UnseenColumns:
    """Columns of words that no model has met, the latest asked for, by index version and word.

    >>> columns = UnseenColumns(most=1)
    >>> columns.keep((1, "smoke"), np.zeros(2, np.float32))
    >>> columns.keep((1, "mist"), np.ones(2, np.float32))
    >>> columns.get((1, "smoke")), columns.get((1, "mist"))
    (None, array([1., 1.], dtype=float32))
    """

    def __init__(self, most: int = 32) -> None:
        self._known: dict[Hashable, NDArray[np.float32]] = {}
        self.most = most
        self._changing = threading.Lock()

    def get(self, key: Hashable) -> NDArray[np.float32] | None:
        return self._known.get(key)

    def keep(self, key: Hashable, column: NDArray[np.float32]) -> None:
        with self._changing:
            self._known.pop(key, None)
            while len(self._known) >= self.most:
                self._known.pop(next(iter(self._known)))
            self._known[key] = column


class NotTrained(VistermError):
    """There is no model yet."""


@dataclass
class Active:
    """A version that is open, one object for all threads."""

    version: Version
    index: Index | DenseIndex
    _stamp: tuple[int, ...] = field(default=(), kw_only=True)
    _refreshing: threading.Lock = field(default_factory=threading.Lock, kw_only=True)

    def refresh(self) -> None:
        """See all that was committed to the index until now."""
        stat = os.stat(self.version.index / NAME)
        stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        # As with git's index: the time of a file says nothing while it may still be the same tick.
        if stamp != self._stamp or abs(time.time() - stat.st_mtime) < _YOUNG:
            with self._refreshing:
                self.index.refresh()
                self._stamp = stamp


@dataclass
class ActiveModel(Active):
    """A version in the space of words, with its vocabulary."""

    index: Index
    vocabulary: Vocabulary
    calibration: Calibration | LinearCalibration | None = None
    """How scores become probabilities; None where a version of before never knew."""
    cutoffs: Cutoffs = field(default_factory=Cutoffs)
    postings: CachedPostings = field(default_factory=CachedPostings)
    unseen: UnseenColumns = field(default_factory=UnseenColumns)

    def read_through(self, catalogue: Catalogue) -> None:
        """Let this thread ask a catalogue where vectors lie from which values are computed."""
        if isinstance(self.index.exact, LinearValues):
            self.index.exact.read_through(catalogue)

    @property
    def link(self) -> Link | None:
        """How the model's values became the log-probabilities of the index; None for versions of
        before, whose index holds the values themselves."""
        return None if self.calibration is None else self.calibration.link


@dataclass
class ActiveSpace(Active):
    """A version in a text space of sentences."""

    index: DenseIndex
    space: TextSpace
    model: Cca


class OpenVersions:
    """What an open catalogue, or several of them in one process, have opened to answer with."""

    def __init__(self) -> None:
        self._open: dict[str, Active] = {}
        self._opening = threading.Lock()
        self.masks = KeptMasks()
        self._frames: tuple[int, FrameRows] | None = None

    def of(self, version: Version) -> Active:
        """A version's text space, model and index, opened now unless they are open."""
        with self._opening:
            active = self._open.get(version.space)
            # A collection made anew in the same place counts its versions anew, but not its time.
            if active is None or _key(active.version) != _key(version):
                active = self._open[version.space] = _opened(version)
        active.refresh()
        return active

    def frames(self, catalogue: Catalogue) -> FrameRows:
        """Which rows are frames; known until there are new pictures, as numbers never change."""
        last = catalogue.last_number("pictures")
        if self._frames is None or self._frames[0] != last:
            self._frames = last, read_frame_rows(catalogue)
        return self._frames[1]

    def close(self) -> None:
        """Close the files."""
        with self._opening:
            self._open.clear()


def _key(version: Version) -> tuple[int, float]:
    return version.id, version.time


def _opened(version: Version) -> Active:
    if version.space == WORDS:
        return ActiveModel(
            version,
            Index.open(version.index, exact=LinearValues(version)),
            version.vocabulary(),
            version.calibration(),
        )
    from visterm.models import Cca
    from visterm.text.spaces import load_space

    return ActiveSpace(
        version,
        DenseIndex.open(version.index),
        load_space(version.folder / SPACE),
        Cca.load(version.folder / MODEL),
    )


_of_catalogue: WeakKeyDictionary[Catalogue, OpenVersions] = WeakKeyDictionary()


def share(catalogue: Catalogue, versions: OpenVersions) -> None:
    """Let a catalogue answer with what others of the same collection have opened."""
    _of_catalogue[catalogue] = versions


def close(catalogue: Catalogue) -> None:
    """Close what a catalogue answers with, unless it is shared; whoever shares it closes it."""
    _of_catalogue.pop(catalogue, None)


def kept_masks(catalogue: Catalogue) -> KeptMasks:
    """What is remembered of filters, by whoever shares what is open."""
    return _of_catalogue.setdefault(catalogue, OpenVersions()).masks


def frame_rows(catalogue: Catalogue) -> FrameRows:
    """Which rows are further frames of videos."""
    return _of_catalogue.setdefault(catalogue, OpenVersions()).frames(catalogue)


def active_model(catalogue: Catalogue) -> ActiveModel:
    """The version that answers queries of words now.

    Raises
    ------
    VistermError
        Where nothing was trained, or what was trained is damaged.
    """
    found = _active(catalogue, WORDS)
    assert isinstance(found, ActiveModel)
    return found


def active_space(catalogue: Catalogue, space: str) -> ActiveSpace:
    """The version that answers sentences in a text space now; as `active_model`."""
    found = _active(catalogue, space)
    assert isinstance(found, ActiveSpace)
    return found


def _active(catalogue: Catalogue, space: str) -> Active:
    opened = _of_catalogue.setdefault(catalogue, OpenVersions())
    while True:
        version = current(catalogue, space)
        if version is None:
            raise NotTrained(NOT_TRAINED if space == WORDS else SPACE_NOT_TRAINED.format(space))
        try:
            active = opened.of(version)
            if isinstance(active, ActiveModel):
                active.read_through(catalogue)
            return active
        except (FileNotFoundError, VistermError) as error:
            opened.close()
            # A writer may have named a new version, and swept this one, since we looked.
            after = current(catalogue, space)
            if after is not None and after.id == version.id:
                raise VistermError(
                    f"the index or vocabulary of the model is damaged or gone ({error}); "
                    "visterm check --repair"
                ) from error

"""Snapshots: one committed state of a collection, and what is computed once for it.

A snapshot is taken for a search, or for whatever else reads; it is immutable, and readers never
wait for a writer. Its parts are made when they are first asked for. Parts that a later state has
not changed are handed on to its snapshot, whichever thread takes it: by the counters that triggers
of the catalogue keep, a part knows which state it is of.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.caption_words import WrittenWords, completeness
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import (
    DescribedPictures,
    FrameRows,
    described,
    read_frame_rows,
)
from visterm.collection.store.versions import Version, current
from visterm.collection.store.word_model import WordModel, open_word_model, read_directions
from visterm.errors import VistermError
from visterm.index.columns import ColumnCache
from visterm.quick_dataclass import dataclass

if TYPE_CHECKING:
    from visterm.collection.store.space_model import SpaceModel
    from visterm.compute import Replicas

Part = TypeVar("Part")

NOT_TRAINED = (
    "nothing has been learnt yet, so words mean nothing; caption some pictures (visterm caption "
    "--from TABLE, or visterm caption PICTURE WORDS) and run visterm train"
)
SPACE_NOT_TRAINED = (
    "nothing answers sentences by {0} yet; visterm search --space {0} trains that on the captions, "
    "and so do Collection.train_space and a job of the server"
)
_STATE = """SELECT
    (SELECT json_group_array(json_array(space, id, time)) FROM versions),
    (SELECT json_group_array(json_array(extractor, generation, count)) FROM feature_files),
    (SELECT count(*) FROM dead_rows),
    (SELECT json_group_object(name, value) FROM settings WHERE name IN ('place_changes',
        'caption_words', 'field_changes', 'click_changes', 'begun', 'completeness', 'names'))"""

_ANSWERS = "EXISTS (SELECT 1 FROM versions WHERE space = 'words')"
OLD_COMPLETENESS = f"""{_ANSWERS}
    AND NOT EXISTS (SELECT 1 FROM settings WHERE name = 'completeness'
        AND json_extract(value, '$.version') = (SELECT max(id) FROM versions WHERE space = 'words')
        AND abs((SELECT value FROM settings WHERE name = 'caption_changes')
            - json_extract(value, '$.changes')) <= 0.1 * json_extract(value, '$.captioned'))"""
"""Whether completeness was learnt with another model, or a tenth of all captions are others now."""
_BEHIND = f"""SELECT EXISTS (SELECT 1 FROM events WHERE state = 'waiting')
    OR ({_ANSWERS} AND EXISTS (SELECT 1 FROM settings WHERE name = 'clicks'))
    OR ({OLD_COMPLETENESS})"""


class NotTrained(VistermError):
    """There is no model yet."""


@dataclass(frozen=True)
class State:
    """What tells a committed state from others, part by part."""

    versions: str
    rows: tuple[str, int]
    settings: dict[str, str]

    @classmethod
    def of(cls, catalogue: Catalogue) -> State:
        with catalogue.explained():
            versions, files, dead, settings = catalogue.db.execute(_STATE).fetchone()
        return cls(versions, (files, dead), json.loads(settings))

    def pick(self, *names: str) -> tuple[str | None, ...]:
        """The counters of some settings."""
        return tuple(self.settings.get(name) for name in names)


@dataclass
class SharedState:
    """What several open objects of one collection share: a server has one a thread.

    The parts of their latest snapshots; ``replicas``, where shards of the pictures answer searches;
    and ``catch_up_later``, which a reader who finds work that a killed writer left calls instead of
    doing it while somebody waits.
    """

    replicas: Replicas | None = None
    address: str = "/api/v1"
    """Where a server shows the pictures."""
    catch_up_later: Callable[[], None] | None = None
    columns: ColumnCache = field(default_factory=ColumnCache)
    _parts: dict[Hashable, tuple[Hashable, Any]] = field(default_factory=dict)
    _making: dict[Hashable, threading.RLock] = field(default_factory=dict)
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def part(self, name: Hashable, state: Hashable, make: Callable[[], Part]) -> Part:
        """The part of this name and state, made now unless it is known."""
        with self._changing:
            lock = self._making.setdefault(name, threading.RLock())
        with lock:
            known = self._parts.get(name)
            if known is None or known[0] != state:
                known = self._parts[name] = (state, make())
            made: Part = known[1]
            return made

    def close(self) -> None:
        """Let go of all parts, and of the files that they have open."""
        with self._changing:
            self._parts.clear()
        self.columns = ColumnCache()


class Snapshot:
    """One state of a collection, as one thread reads it."""

    def __init__(self, catalogue: Catalogue, shared: SharedState) -> None:
        self.catalogue = catalogue
        self.state = State.of(catalogue)
        self._shared = shared

    def _part(self, name: Hashable, state: Hashable, make: Callable[[], Part]) -> Part:
        return self._shared.part(name, state, make)

    @property
    def columns(self) -> ColumnCache:
        """What words say of every row."""
        return self._shared.columns

    @cached_property
    def version(self) -> Version | None:
        """What answers queries of words; None before anything does."""
        state = (self.state.versions, *self.state.pick("begun"))
        return self._part("version", state, lambda: current(self.catalogue))

    @cached_property
    def words(self) -> WordModel:
        """The model of words, with what clicks have added.

        Raises
        ------
        VistermError
            `NotTrained` where nothing answers; or where what does is damaged.
        """
        version = self.version
        if version is None:
            raise NotTrained(NOT_TRAINED)
        state = (self.state.versions, *self.state.pick("begun"))
        trained = self._opened("words", state, lambda: open_word_model(version))

        def with_clicks() -> WordModel:
            rows = self.catalogue.db.execute("SELECT word, direction FROM directions")
            return trained.with_directions(read_directions(rows))

        return self._part("clicked", (state, *self.state.pick("click_changes")), with_clicks)

    def space(self, name: str) -> SpaceModel:
        """What answers sentences in a text space; as `words`."""
        from visterm.collection.store.space_model import open_space_model

        version = current(self.catalogue, name)
        if version is None:
            raise NotTrained(SPACE_NOT_TRAINED.format(name))
        return self._opened(("space", name), self.state.versions, lambda: open_space_model(version))

    def _opened(self, name: Hashable, state: Hashable, make: Callable[[], Part]) -> Part:
        try:
            return self._part(name, state, make)
        except (FileNotFoundError, VistermError) as error:
            if isinstance(error, VistermError) and "--repair" in str(error):
                raise
            raise VistermError(
                f"the files of the model are damaged or gone ({error}); visterm check --repair"
            ) from error

    def pictures(self, extractor: str) -> DescribedPictures | None:
        """The rows that an extractor gave, and which of them can be found."""
        state = (self.state.rows, *self.state.pick("place_changes"))
        return self._part(
            ("pictures", extractor), state, lambda: described(self.catalogue, extractor)
        )

    @cached_property
    def frames(self) -> FrameRows:
        """Which rows are further frames of videos."""
        return self._part("frames", self.state.rows, lambda: read_frame_rows(self.catalogue))

    @cached_property
    def written(self) -> WrittenWords:
        """Which captions and names hold a word."""
        state = self.state.pick("caption_words", "names")
        words = self._part("written", state, lambda: WrittenWords.of(self.catalogue.db))
        return words.reading(self.catalogue.db)

    def lengths(self, pictures: DescribedPictures) -> NDArray[np.uint8] | None:
        """How long the captions of rows are, 0 for none; None where no picture has any."""

        def make() -> NDArray[np.uint8] | None:
            by_picture = self.frames.spread(self.written.lengths)
            if not by_picture.size:
                return None
            ids = np.minimum(pictures.ids, by_picture.size)
            return np.append(by_picture, np.uint8(0))[ids]

        counters = self.state.pick("caption_words", "names", "place_changes")
        return self._part(("lengths", pictures.file.folder), (self.state.rows, *counters), make)

    @cached_property
    def completeness(self) -> NDArray[np.float64]:
        """How much of what pictures show their captions mention, by length."""
        return self._part(
            "completeness",
            self.state.pick("completeness"),
            lambda: completeness(self.catalogue.db),
        )

    @cached_property
    def queries(self) -> dict[Any, Any]:
        """Queries of words as they are read in this state, of those that were asked for."""
        return self._part("queries", self.state, dict)

    @cached_property
    def is_behind(self) -> bool:
        """Whether a change waits, clicks are not learnt yet, or how complete captions are."""
        return bool(self.catalogue.one(_BEHIND))

    @cached_property
    def masks(self) -> dict[Any, NDArray[np.bool_]]:
        """Which pictures filters let through, of those filters that were asked for."""
        names = ("caption_words", "field_changes", "place_changes", "names")
        state = (self.state.rows, *self.state.pick(*names))
        return self._part("masks", state, dict)

    def remembered(self, name: str, make: Callable[[], Part], *settings: str) -> Part:
        """What others compute once for as long as rows, versions and some counters are the same."""
        state = (self.state.versions, self.state.rows, *self.state.pick(*settings))
        return self._part(("remembered", name), state, make)


def shared_state(catalogue: Catalogue) -> SharedState:
    """What a catalogue's snapshots have in common, with those of others that were given it."""
    if catalogue.shared is None:
        catalogue.shared = SharedState()
    return catalogue.shared


def snapshot(catalogue: Catalogue) -> Snapshot:
    """The state of now, for a writer, which nobody changes meanwhile."""
    if catalogue.is_writing and catalogue.db.in_transaction:
        return Snapshot(catalogue, SharedState())  # of a state that may never be committed
    stamp = catalogue.stamp()
    if catalogue.latest is None or catalogue.latest[0] != stamp:
        catalogue.latest = stamp, Snapshot(catalogue, shared_state(catalogue))
    return catalogue.latest[1]


@contextmanager
def reading(catalogue: Catalogue) -> Iterator[Snapshot]:
    """The state of now, for as long as the ``with`` lasts, whatever others commit meanwhile."""
    with catalogue.snapshot():
        yield snapshot(catalogue)

"""What both indexes share: pictures come, go and are merged in segments, one commit a change."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from visterm.errors import BadInput, VistermError
from visterm.files import make_folder
from visterm.index.index_folder import IndexFolder
from visterm.index.index_memory import IndexMemory
from visterm.index.input_checks import after, checked_rows, new_ids, whole_numbers
from visterm.index.layout import Bytes
from visterm.index.manifest import NAME, Group, Manifest, Segment
from visterm.index.open_segments import GivenRows, MergedRows, OpenSegment, Source
from visterm.index.recomputed import Recomputed
from visterm.index.score import Floats, Integers
from visterm.index.segment_changes import due, new_segment, new_segments, without
from visterm.index.storage import Draft, Storage


class Segmented(ABC):
    """An index, in a folder or in memory: everything but how values are stored and searched."""

    kind: ClassVar[str]
    segment_size: int = 1 << 20
    """Pictures in a full segment."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._maps: dict[str, Bytes] = {}
        self._ids: tuple[object, Integers] = (None, np.empty(0, np.int64))
        self._take(*self._open())

    @classmethod
    def create(cls, folder: str | Path, *, words: int) -> Self:
        """Make an empty index over ``words`` words; the folder is made if it is missing."""
        folder = Path(folder)
        if words < 0:
            raise BadInput(f"an index needs 0 or more words, not {words}")
        make_folder(folder)
        storage = IndexFolder(folder)
        with storage.writing():
            if (folder / NAME).exists():
                raise BadInput(f"{folder} holds an index already; open it")
            storage.commit(Manifest(cls.kind, words))
        return cls(storage)

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open an index; nothing but its table of contents is read until it is asked for."""
        return cls(IndexFolder(Path(folder)))

    @classmethod
    def in_memory(cls, rows: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Self:
        """An index of these rows without a folder; else it is as any other, score for score.

        >>> from visterm.index import Index
        >>> index = Index.in_memory([[0, 1, 2], [3, 0, 0], [0, 1, 5]])
        >>> index.search(([1, 2], [1, 0.5]), k=2)
        (array([2, 0]), array([3.5, 2. ], dtype=float32))
        """
        given = np.asarray(rows)
        if given.ndim != 2:
            raise BadInput(f"rows must be pictures × words; these have shape {given.shape}")
        index = cls(IndexMemory(Manifest(cls.kind, given.shape[1])))
        index.build(given, ids)
        return index

    @abstractmethod
    def _write(self, draft: Draft, source: Source) -> tuple[Group, ...]:
        """Write all words of a source as groups."""

    def _alike(self, source: GivenRows) -> GivenRows:
        """New rows in the order in which they are stored."""
        return source

    def _merged_alike(self, source: MergedRows) -> MergedRows:
        """Rows written together, in the order in which they are stored."""
        return source

    @abstractmethod
    def _read(self, part: OpenSegment, positions: Integers, words: slice) -> Floats:
        """The exact values of consecutive words, one row a position."""

    @abstractmethod
    def _group_size(self, pictures: int, group: Group) -> int:
        """How many bytes a group must have."""

    def __len__(self) -> int:
        """How many pictures can be found."""
        return self._manifest.pictures

    @property
    def words(self) -> int:
        """How many words (dense: dimensions) a row has."""
        return self._manifest.words

    @property
    def version(self) -> int:
        """The number of changes committed so far."""
        return self._manifest.version

    @property
    def manifest(self) -> Manifest:
        """The committed state that is open here."""
        return self._manifest

    def spans(self) -> list[tuple[int, int]]:
        """The first and the last id of each segment, whether those pictures are alive or not."""
        return [part.span() for part in self._parts]

    def ids(self) -> Integers:
        """The ids of all pictures, ascending."""
        parts, (laid, known) = self._parts, self._ids
        now = tuple(part.segment.laid for part in parts)
        if laid == now:
            return known
        rising = sorted(parts, key=lambda part: part.segment.first_id)
        found = [part.ids(part.rising()) for part in rising]
        numbers = np.concatenate([np.empty(0, np.int64), *found])
        if not (numbers[1:] > numbers[:-1]).all():
            numbers = np.sort(numbers)
        numbers.flags.writeable = False
        self._ids = (now, numbers)
        return numbers

    def build(self, rows: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Integers:
        """Hold exactly these rows: as :meth:`append`, with all earlier pictures gone."""
        return self._add(rows, ids, lambda draft, numbers: ())

    def append(
        self, rows: npt.ArrayLike, ids: npt.ArrayLike | None = None, *, replace: bool = False
    ) -> Integers:
        """Add pictures, in one commit.

        Parameters
        ----------
        rows
            One row of finite float32 values a picture.
        ids
            Their ids, whole numbers from 0; else they count on from the largest ever used.
        replace
            Whether pictures with the same ids give way; otherwise they are refused.

        Returns
        -------
        The ids, in the order of the rows.
        """

        return self._add(rows, ids, self._without(replace))

    def remove(self, ids: npt.ArrayLike) -> int:
        """Take pictures out, in one commit; ids that are not there are passed over.

        Returns
        -------
        How many pictures were removed.
        """
        numbers = np.unique(whole_numbers(ids))
        with self._changing() as draft:
            kept, gone = without(draft, self._parts, numbers)
            if gone:
                self._commit(draft, kept)
        return gone

    def holds(self, ids: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether each of these pictures can be found."""
        numbers = whole_numbers(ids)
        here = np.zeros(numbers.size, bool)
        for part in self._parts:
            here |= part.find(numbers)[1]
        return here

    def rows(self, ids: npt.ArrayLike) -> Floats:
        """The exact rows of these pictures, as they were given."""
        numbers = whole_numbers(ids)
        rows = np.empty((numbers.size, self.words), np.float32)
        missing = np.ones(numbers.size, bool)
        for part in self._parts:
            positions, here = part.find(numbers)
            rows[here] = self._read(part, positions[here], slice(0, self.words))
            missing &= ~here
        if missing.any():
            raise BadInput(f"picture {numbers[missing][0]} is not in the index")
        return rows

    def merge(self) -> bool:
        """Write small segments together, in one commit; says whether there was anything to do.

        Whoever writes next calls it, until it says no: it also rewrites segments that hold much
        that was removed or replaced.
        """
        with self._changing() as draft:
            run = due(self._manifest.segments, self.segment_size)
            if not run:
                return False
            source = MergedRows([self._parts[number] for number in run], self._read, self.words)
            new = new_segment(draft, self._merged_alike(source), self._write)
            segments = enumerate(self._manifest.segments)
            self._commit(draft, [*(s for number, s in segments if number not in run), new])
        return True

    def verify(self) -> list[str]:
        """What is wrong with the files, one line each; an empty list where all is well."""
        files = self.storage.manifest().files
        found = (self.storage.problem(*named) for named in sorted(files.items()))
        return [line for line in found if line is not None]

    def refresh(self) -> bool:
        """See what other writers have committed since; says whether there was anything new."""
        if self.storage.manifest().version == self._manifest.version:
            return False
        self._take(*self._open())
        return True

    # How a state is read.

    def _open(self) -> tuple[Manifest, tuple[OpenSegment, ...]]:
        while True:
            manifest = self.storage.manifest()
            if manifest.kind != self.kind:
                raise BadInput(
                    f"{self.storage} holds an index of {manifest.kind}, not of {self.kind}"
                )
            try:
                return manifest, self._opened(manifest)
            except FileNotFoundError as error:
                # A writer may have swept the state between our two looks; then there is a newer.
                if self.storage.manifest().version == manifest.version:
                    raise VistermError(
                        f"{error.filename} is missing; build the index again"
                    ) from error

    def _opened(self, manifest: Manifest) -> tuple[OpenSegment, ...]:
        return tuple(self._part(manifest, segment) for segment in manifest.segments)

    def _part(self, manifest: Manifest, segment: Segment) -> OpenSegment:
        def mapped(name: str, size: int) -> Bytes:
            if name not in self._maps:
                if name not in manifest.files or manifest.files[name].size != size:
                    raise VistermError(
                        f"{NAME} in {self.storage} is damaged; build the index again"
                    )
                self._maps[name] = self.storage.map(name, manifest.files[name])
            return self._maps[name]

        pictures = segment.pictures
        return OpenSegment(
            segment,
            None if segment.ids is None else mapped(segment.ids, 8 * pictures).view(np.int64),
            None if segment.alive is None else mapped(segment.alive, pictures),
            tuple(
                mapped(group.file, self._group_size(pictures, group)) for group in segment.groups
            ),
            None if segment.order is None else mapped(segment.order, 4 * pictures).view(np.int32),
        )

    def _take(self, manifest: Manifest, parts: tuple[OpenSegment, ...]) -> None:
        self._manifest, self._parts = manifest, parts
        self._maps = {name: self._maps[name] for name in manifest.files}

    # How a state is changed.

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Draft]:
        with self.storage.writing():
            self.refresh()
            self.storage.sweep(self._manifest)
            try:
                yield Draft(self.storage, self._manifest.version + 1)
            except BaseException:
                # On a full disk the files of the change that failed are worth having back now.
                with contextlib.suppress(OSError, VistermError):
                    self.storage.sweep(self.storage.manifest())
                raise

    def _without(self, replace: bool) -> Callable[[Draft, Integers], Iterable[Segment]]:
        """What leaves the segments without new pictures, or refuses these."""

        def kept(draft: Draft, numbers: Integers) -> Iterable[Segment]:
            segments, gone = without(draft, self._parts, numbers)
            if gone and not replace:
                raise BadInput(
                    f"{gone} of the ids are in the index already; remove them first, or give"
                    " replace=True"
                )
            return segments

        return kept

    def _add(
        self,
        rows: npt.ArrayLike,
        ids: npt.ArrayLike | None,
        kept: Callable[[Draft, Integers], Iterable[Segment]],
        recomputed: Recomputed | None = None,
    ) -> Integers:
        given = checked_rows(rows, self.words)
        with self._changing() as draft:
            next_id = self._manifest.next_id
            numbers = new_ids(ids, len(given), next_id)
            old = kept(draft, numbers)
            new = new_segments(
                draft,
                given,
                numbers,
                self._write,
                self._alike,
                size=self.segment_size,
                recomputed=recomputed,
            )
            self._commit(draft, [*old, *new], next_id=after(numbers, next_id))
        return numbers

    def _commit(
        self,
        draft: Draft,
        segments: Iterable[Segment],
        *,
        words: int | None = None,
        next_id: int | None = None,
    ) -> None:
        segments = tuple(segments)
        records = self._manifest.files | draft.files
        manifest = Manifest(
            self.kind,
            self.words if words is None else words,
            draft.version,
            self._manifest.next_id if next_id is None else next_id,
            segments,
            {name: records[name] for segment in segments for name in segment.files()},
        )
        self.storage.commit(manifest)
        self._take(manifest, self._opened(manifest))

"""An open collection: where it is, what state it is in, and who may write it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from visterm.collection.ingest.scopes import edited, unchanged
from visterm.collection.media import captions, records
from visterm.collection.sources.folders import is_container
from visterm.collection.store import location, snapshot
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.lock import Locked
from visterm.collection.store.versions import caption_changes, current, sweep
from visterm.compute import Replicas
from visterm.errors import BadInput

LOOKED_AT = 5000
"""So many files are looked at one by one before a search: that takes some 30 ms."""
_DUE = 20
"""Changed captions, and a tenth of all, from which training again is worth it."""


class OpenCollection:
    """What every verb of a `Collection` stands on."""

    def __init__(self, root: Path, catalogue: Catalogue, shared: SharedState | None = None) -> None:
        self.root = root
        self.catalogue = catalogue
        self._shared, self._is_shared = shared or SharedState(), shared is not None
        snapshot.share(catalogue, self._shared.parts)

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str] = ".",
        *,
        store: str | os.PathLike[str] | None = None,
        create: bool = True,
        shared: SharedState | None = None,
    ) -> Self:
        """The collection that a folder is part of, made if there is none.

        Parameters
        ----------
        folder
            The folder itself, or one inside the collection.
        store
            Where to keep what is known, if not in ``.visterm`` beside the pictures.
        create
            Whether a new collection may be begun; else `BadInput` says that there is none.
        shared
            What several open objects of one collection in a process, one a thread, have in common.
        """
        where = location.locate(folder, store)
        if not where.exists:
            if not create:
                raise BadInput(
                    f"{where.root} is no collection yet; visterm add {folder} makes it one"
                )
            location.make(where)
        return cls(where.root, Catalogue(where.store), shared)

    @property
    def store(self) -> Path:
        """The folder that holds what is known."""
        return self.catalogue.store

    def close(self) -> None:
        if not self._is_shared:
            self._shared.close()
        self.catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @property
    def is_writable(self) -> bool:
        """Whether this process may change what is known."""
        return location.may_write(self.store)

    @property
    def has_news(self) -> bool:
        """Whether pictures came, went or were edited since the folders were last listed.

        Edits in place are looked for in collections of up to `LOOKED_AT` files; in larger ones
        ``visterm watch`` and ``visterm serve`` notice them.
        """
        return not unchanged(self.catalogue, self.root) or edited(
            self.catalogue, self.root, LOOKED_AT
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is no picture yet."""
        return self.catalogue.one("SELECT 1 FROM pictures WHERE present > 0 LIMIT 1") is None

    @property
    def has_captions(self) -> bool:
        """Whether a picture that is there has a caption."""
        return captions.any_there(self.catalogue)

    @property
    def awaits_training(self) -> bool:
        """Whether there are captions that nobody has tried to learn from yet."""
        if self.is_trained or not self.has_captions:
            return False
        tried = self.catalogue.get("untrained")
        return tried is None or tried != captions.fingerprint(self.catalogue)

    @property
    def has_model(self) -> bool:
        """Whether words mean something: by what was learnt, or by the starter alone."""
        return current(self.catalogue) is not None

    @property
    def is_trained(self) -> bool:
        """Whether the model that answers was trained on captions."""
        version = current(self.catalogue)
        return version is not None and version.is_trained

    @property
    def is_worth_training(self) -> bool:
        """Whether so many captions have changed since the last training that another is due."""
        if self.awaits_training:
            return True
        version = current(self.catalogue)
        if version is None or not version.is_trained:
            return False
        tried = int(self.catalogue.get("trained_changes") or 0)
        return caption_changes(self.catalogue) - tried >= max(_DUE, version.captioned // 10)

    @property
    def needs_training(self) -> bool:
        """Whether the model cannot rank new pictures, because it learnt from other features."""
        version = current(self.catalogue)
        return version is not None and version.extractor != self.catalogue.get("extractor")

    def __len__(self) -> int:
        """How many different pictures there are."""
        return int(self.catalogue.one("SELECT count(*) FROM pictures WHERE present > 0"))

    def _mend(self) -> None:
        """Have finished what a killed writer left, before something is read."""
        if not self._is_behind:
            return
        if self._shared.mend_later is None:
            self.mend()
        else:
            self._shared.mend_later()

    def mend(self) -> None:
        """Finish what a killed writer left, unless somebody is writing now."""
        self.apply_waiting()
        if not self._is_behind or not self.has_model or not self.is_writable:
            return
        from visterm.collection.feedback.offsets import relearn

        with (
            contextlib.suppress(Locked),
            self.catalogue.writing("finishing what was interrupted", wait=0),
        ):
            relearn(self.catalogue)
            self._learn_completeness()

    @property
    def _is_behind(self) -> bool:
        """Whether a change waits, or a killed writer left something to be learnt."""
        return snapshot.snapshot(self.catalogue).is_behind

    @property
    def waiting(self) -> int:
        """How many changes wait for whoever is writing."""
        return 0

    def apply_waiting(self) -> None:
        """Do what people said while somebody was writing."""

    def _learn_completeness(self) -> None:
        """Learn how complete captions are, where enough has changed; the caller holds the lock."""
        from visterm.collection.training.completeness import learn_completeness

        learn_completeness(self.catalogue)

    def _number(self, picture: int | str | os.PathLike[str]) -> int:
        """A picture by its number or by one of its files."""
        if not isinstance(picture, int):
            return captions.find_picture(self.catalogue, self.root, picture)
        known = records.record(self.catalogue, picture).picture
        video = self.catalogue.one("SELECT video FROM pictures WHERE id = ?", known)
        return known if video is None else int(video)

    @contextlib.contextmanager
    def _writing(self, doing: str, wait: float | None = None) -> Iterator[None]:
        is_outermost = not self.catalogue.is_writing  # within a repair, models may be missing
        with self.catalogue.writing(doing, wait):
            sweep(self.catalogue)  # what a killed writer left
            if is_outermost:
                self.apply_waiting()  # now: should this one be killed, too, nobody waits any longer
            yield
            if is_outermost:
                self.apply_waiting()
            sweep(self.catalogue)  # what this one replaced

    def _inside(self, path: str | os.PathLike[str]) -> str:
        inside = location.below(self.root, path)
        if inside is None and is_container(path):
            return f"file://{os.path.abspath(path)}"
        if inside is None:
            raise BadInput(f"{os.fspath(path)} is outside the collection {self.root}")
        return inside


@dataclass
class SharedState:
    """What several open objects of one collection share: a server has one a thread.

    With ``replicas``, shards of the pictures answer searches. With ``mend_later``, whoever reads
    and finds that a killed writer left something calls it, and does not do it while others wait.
    """

    parts: snapshot.SharedParts = field(default_factory=snapshot.SharedParts)
    replicas: Replicas | None = None
    mend_later: Callable[[], None] | None = None

    def close(self) -> None:
        """Close the files, once whoever shares them has ended."""
        self.parts.close()

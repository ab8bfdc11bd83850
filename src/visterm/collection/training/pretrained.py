"""The pretrained starter model, which answers before anybody has captioned a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from visterm.collection.ingest.extractors import current_key
from visterm.collection.store import versions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.versions import STARTER
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.starter import Starter


def starter_of(extractor: str | None) -> Starter | None:
    """The starter, where it knows this extractor's vectors."""
    if extractor is None or "+" in extractor or not extractor.startswith("cnn-"):
        return None  # others need not wait for it to load
    from visterm.starter import load_starter

    starter = load_starter()
    return starter if starter.extractor == extractor else None


def begin(catalogue: Catalogue, *, progress: Progress = silent) -> bool:
    """Let the starter answer where nothing else does; the caller holds the lock.

    Returns whether it does now. A version of a model that learnt is left alone.
    """
    from visterm.collection.training.index_sync import catch_up
    from visterm.collection.training.version_files import (
        at_large,
        write_reference,
        write_version,
        write_vocabulary,
    )

    if versions.current(catalogue) is not None:
        return False
    extractor = current_key(catalogue)
    starter = starter_of(extractor)
    if starter is None or extractor is None:
        return False
    if catalogue.one("SELECT 1 FROM rows WHERE extractor = ? LIMIT 1", extractor) is None:
        return False
    catch_up(catalogue)  # so that nothing waits for an index when this one is named
    vocabulary, calibration = starter.vocabulary, starter.calibration().to_json()

    def write_files(folder: Path) -> None:
        write_vocabulary(folder, vocabulary, calibration)
        write_reference(folder, at_large(catalogue, extractor), None)

    version = write_version(
        catalogue,
        starter.model(),
        write_files,
        name=STARTER,
        extractor=extractor,
        words=len(vocabulary),
        progress=progress,
    )
    with catalogue.transaction():
        versions.name(catalogue, version)
        if catalogue.one("SELECT 1 FROM feedback LIMIT 1"):
            catalogue.set("clicks", "untold")  # its index shows none of them yet
    return True

"""The pretrained starter model, which answers before anybody has captioned a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.collection.ingest.extractors import current_key
from visterm.collection.store import versions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.versions import STARTER, Version, is_encoded

if TYPE_CHECKING:
    from visterm.encoders import Encoder
    from visterm.starter import Starter


WORTH_TWO_ANSWERS = 256
"""Files that are left when somebody who waits is told the first ones: of fewer, all come soon."""
OWN = "starter.safetensors"
"""A starter that somebody shared, in the store of a collection that begins with it."""


def starter_of(catalogue: Catalogue, extractor: str | None) -> Starter | None:
    """What knows this extractor's vectors before any caption: the starter, or their encoder."""
    found = _starter_file(catalogue, extractor)
    encoder = None if found is not None else _encoder(extractor)
    if extractor is None or encoder is None:
        return found
    from visterm.collection.training.version_files import at_large
    from visterm.starter import encoder_starter

    return encoder_starter(encoder, extractor, at_large(catalogue, extractor))


def can_begin(catalogue: Catalogue, extractor: str | None) -> bool:
    """Whether there is a starter for these vectors, which may be damaged, and are not read."""
    return _starter_file(catalogue, extractor) is not None or _encoder(extractor) is not None


def _starter_file(catalogue: Catalogue, extractor: str | None) -> Starter | None:
    """The starter that somebody shared with this collection, or the one that visterm brings."""
    own = catalogue.store / OWN
    if own.exists():
        from visterm.starter.starter import read_starter

        found = read_starter(own)
        if found.extractor == extractor:
            return found
    if extractor is None:
        return None
    from visterm.starter import starter_for

    return starter_for(extractor)


def _encoder(extractor: str | None) -> Encoder | None:
    """The encoder whose vectors these are; an error where it is not installed."""
    if not is_encoded(extractor):
        return None
    from visterm.encoders import open_encoder
    from visterm.features.encoder_vectors import encoder_of

    named = encoder_of(extractor)
    assert named is not None
    return open_encoder(named[0], digest=named[1])


def begin(catalogue: Catalogue, *, again: bool = False) -> bool:
    """Let the starter answer where nothing else does; the caller holds the lock.

    ``again`` is for another starter than the one that answers.

    Returns whether it does now. A version of a model that learnt is left alone.
    """
    if versions.current(catalogue) is not None and not again:
        return False
    version = starter_version(catalogue, current_key(catalogue))
    if version is None:
        return False
    with catalogue.transaction():
        versions.name(catalogue, version)
        if catalogue.one("SELECT 1 FROM feedback LIMIT 1"):
            catalogue.set("clicks", "unlearnt")
    return True


def starter_version(catalogue: Catalogue, extractor: str | None) -> Version | None:
    """The starter of an extractor's vectors as a version, which nobody has named yet; None where
    there is none, or no picture."""
    from visterm.collection.training.version_files import (
        at_large,
        write_reference,
        write_version,
        write_vocabulary,
    )

    if catalogue.one("SELECT 1 FROM rows WHERE extractor = ? LIMIT 1", extractor) is None:
        return None
    starter = starter_of(catalogue, extractor)
    if starter is None or extractor is None:
        return None
    vocabulary, calibration = starter.vocabulary, starter.calibration().to_json()

    def write_files(folder: Path) -> None:
        write_vocabulary(folder, vocabulary, calibration)
        write_reference(folder, at_large(catalogue, extractor), None)

    return write_version(
        catalogue,
        starter.model(),
        write_files,
        name=STARTER,
        extractor=extractor,
        words=len(vocabulary),
    )


def answer_early(
    catalogue: Catalogue, on_first: Callable[[int, int], None] | None, done: int, total: int
) -> None:
    """Let the starter answer from the first batch of an ``add``, of so many files out of all."""
    if done < total and begin(catalogue) and on_first and total - done >= WORTH_TWO_ANSWERS:
        on_first(done, total)

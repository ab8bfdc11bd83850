"""Which extractor a collection uses, and what it learnt: fitted on first use, then kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.collection.catalogue import Catalogue
from visterm.errors import BadInput, VistermError
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.features import Extractor

PREFERRED = ("cnn", "blocks")
"""The first of these that can be used here describes the pictures of a new collection."""
SAMPLE = 2000
"""An extractor that learns, such as a codebook, learns from so many pictures."""
_FILE = "extractor.safetensors"


def key_of(extractor: Extractor) -> str:
    """Name and version: vectors of different keys cannot be compared."""
    return f"{extractor.name}-{extractor.version}"


def kinds() -> dict[str, type[Extractor]]:
    """Every extractor by its name."""
    from visterm.features import EXTRACTORS
    from visterm.features.cnn import CNN

    return {CNN.name: CNN, **EXTRACTORS}


def choose(catalogue: Catalogue, name: str | None = None) -> str:
    """The name of the extractor to use: as asked, as before, or the best there is."""
    chosen = name or catalogue.get("features")
    if chosen is None:
        return next(name for name in PREFERRED if _usable(name))
    if chosen not in kinds():
        known = ", ".join(sorted(kinds()))
        raise BadInput(f"no features called {chosen!r}; there are {known}")
    return chosen


def current_key(catalogue: Catalogue) -> str | None:
    """The key under which the collection's vectors are kept; None before the first picture."""
    return catalogue.get("extractor")


def kept(catalogue: Catalogue, name: str, workers: int = 1) -> Extractor | None:
    """The extractor as it was fitted for this collection; None if it has not been yet."""
    kind = kinds()[name]
    key = f"{kind.name}-{kind.version}"
    found = catalogue.one("SELECT file FROM extractors WHERE key = ?", key)
    if found is None:
        return None
    extractor = kind.load(catalogue.store / found)
    extractor.workers = workers
    return extractor


def prepare(
    catalogue: Catalogue,
    name: str,
    sample: Sequence[Path],
    *,
    workers: int = 1,
    progress: Progress = silent,
) -> Extractor:
    """The extractor ready for work: as it was kept, or fitted to a sample and kept from now on."""
    extractor = kept(catalogue, name, workers)
    if extractor is None:
        extractor = _fit(name, sample, workers, progress)
        key = key_of(extractor)
        file = Path("features", key, _FILE)
        (catalogue.store / file).parent.mkdir(parents=True, exist_ok=True)
        extractor.save(catalogue.store / file)
        digest = hashlib.sha256((catalogue.store / file).read_bytes()).hexdigest()
        with catalogue.transaction() as db:
            db.execute("INSERT INTO extractors VALUES (?, ?, ?)", (key, file.as_posix(), digest))
    if (catalogue.get("features"), catalogue.get("extractor")) != (name, key_of(extractor)):
        with catalogue.transaction():
            catalogue.set("features", name)
            catalogue.set("extractor", key_of(extractor))
    return extractor


def _fit(name: str, sample: Sequence[Path], workers: int, progress: Progress) -> Extractor:
    import warnings

    extractor = kinds()[name]()
    extractor.workers = workers
    progress("learning what to look at", 0, 1)
    with warnings.catch_warnings():
        # Unreadable pictures of the sample are told one by one when their turn comes.
        warnings.simplefilter("ignore", UserWarning)
        extractor.fit([str(path) for path in sample])
    progress("learning what to look at", 1, 1)
    return extractor


def _usable(name: str) -> bool:
    """Whether an extractor can work here; a network says so when it is opened."""
    if name not in kinds():
        return False
    extractor = kinds()[name]()
    if extractor.arrays:  # it learns, so it needs nothing that might be missing
        return True
    try:
        extractor.fit([])
    except (VistermError, ImportError):
        return False
    return True

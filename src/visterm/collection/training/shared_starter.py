"""Starters that people share: what one archive has learnt of words, for another to begin with."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from visterm.collection.ingest.extractors import current_key
from visterm.collection.store import versions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.versions import MODEL
from visterm.collection.training.pretrained import OWN, begin
from visterm.errors import BadInput, VistermError
from visterm.files import reason, sync_folder, write_whole

if TYPE_CHECKING:
    from visterm.starter import Starter


def export_starter(catalogue: Catalogue, path: Path) -> dict[str, Any]:
    """Write words, rows, calibration and provenance of what answers; no picture, no caption.

    Returns what the file says of itself.
    """
    from visterm.calibration.calibration import Calibration
    from visterm.models import load_model
    from visterm.starter import load_starter
    from visterm.starter.starter import write_starter

    version = versions.current(catalogue)
    if version is None:
        raise BadInput("nothing answers here yet, so there is nothing to share; visterm add first")
    weights = load_model(version.folder / MODEL).linear_weights()
    calibration = version.calibration()
    if weights is None or not isinstance(calibration, Calibration):
        raise BadInput(
            f"{version.model} is no linear model with probabilities, and only such can be shared; "
            "visterm train makes one"
        )
    vocabulary = version.vocabulary().first(version.words)
    known = load_starter()
    measured = set(vocabulary.words) - (set(known.vocabulary.words) - set(known.facts["avgp"]))
    provenance = {
        "model": version.model,
        "captioned": version.captioned,
        "avgp": version.avgp,
        "words": len(vocabulary),
        "extractor": version.extractor,
        "made": time.strftime("%Y-%m-%d", time.gmtime(version.time)),
    }
    stored = calibration.to_json()
    count = len(vocabulary)
    stored |= {name: stored[name][:count] for name in ("means", "spreads", "rarity")}
    stored["link"] = {name: values[:count] for name, values in stored["link"].items()}
    facts = {
        "calibration": stored,
        "avgp": dict.fromkeys(sorted(measured), 0.0),
        "provenance": provenance,
    }
    write_starter(path, vocabulary, np.asarray(weights), version.extractor, facts)
    return provenance


def use_starter(catalogue: Catalogue, path: Path | None) -> dict[str, Any]:
    """Begin with a starter that somebody shared, or with visterm's own again; the caller holds the
    lock. What was trained here goes on answering, and starts from it when it is trained again."""
    own = catalogue.store / OWN
    about: dict[str, Any] = {}
    if path is None:
        take_away(own)
    else:
        found = _read(path)
        about = found.facts.get("provenance", {})
        key = current_key(catalogue)
        if key is not None and found.extractor != key:
            raise BadInput(
                f"{path} knows vectors of {found.extractor}, and the pictures here have those of "
                f"{key}; describe them so first: visterm add --features …"
            )
        write_whole(own, path.read_bytes())
    version = versions.current(catalogue)
    if version is None or not version.is_trained:
        begin(catalogue, again=True)
    return about


def take_away(own: Path) -> None:
    """Delete a starter that somebody shared, as lastingly as it was written."""
    try:
        own.unlink(missing_ok=True)
        sync_folder(own.parent)
    except OSError as error:
        raise VistermError(f"cannot delete {own}: {reason(error)}") from error


def _read(path: Path) -> Starter:
    from visterm.starter.starter import read_starter

    try:
        if not path.is_file():
            raise BadInput(f"there is no file {path}")
        found = read_starter(path)
        found.calibration()
    except (VistermError, KeyError, ValueError, TypeError, IndexError) as error:
        reason = str(error).replace("; install visterm again", "")
        raise BadInput(f"{path} is no starter that can be used: {reason}") from None
    return found

"""The link for versions made before it: their index anew, holding log-probabilities.

It becomes a version of its own, with the same model, words and clicks, written whole before the
catalogue names it; a kill leaves the one of before.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from visterm.calibration import Calibration, LinearCalibration, uncalibrated
from visterm.collection.feedback.offsets import FeedbackOffsets
from visterm.collection.store import versions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.linear_values import open_index
from visterm.collection.store.versions import CALIBRATION, MODEL, Version
from visterm.collection.training.version_files import write_version
from visterm.files import copy_whole, write_whole
from visterm.progress import Progress, silent


def link_index(catalogue: Catalogue, *, progress: Progress = silent) -> Version | None:
    """Let what answers queries hold log-probabilities; the caller holds the lock.

    Returns the version that answers then; None where none does.
    """
    before = versions.current(catalogue)
    if before is None or not (before.folder / MODEL).exists() or before.link() is not None:
        return before
    from visterm.models import load_model

    def write_files(folder: Path) -> None:
        for name in before.files.keys() - {MODEL, CALIBRATION}:
            copy_whole(before.folder / name, folder / name)
        write_whole(folder / CALIBRATION, json.dumps(_linked(before).to_json()).encode())

    version = write_version(
        catalogue,
        load_model(before.folder / MODEL),
        write_files,
        name=before.model,
        extractor=before.extractor,
        words=before.words,
        captioned=before.captioned,
        avgp=before.avgp,
        caption_changes=before.caption_changes,
        new_words=before.new_words,
        progress=progress,
    )
    index = open_index(catalogue, version)
    offsets = FeedbackOffsets.read(catalogue, version, version.vocabulary(), index)
    offsets.update_index(offsets.directions)
    with catalogue.transaction():
        versions.name(catalogue, version)
    versions.sweep(catalogue)
    return version


def _linked(version: Version) -> Calibration:
    """A version's calibration with a link, from what it knew of its words before."""
    known = replace(version, new_words=())
    found = known.calibration()
    if isinstance(found, LinearCalibration):
        return found.linked()
    vocabulary = known.vocabulary()
    if CALIBRATION in version.files:
        stored = json.loads((version.folder / CALIBRATION).read_bytes())
        means, deviations = np.array(stored["means"]), np.array(stored["spreads"])
    else:
        means, deviations = np.zeros(len(vocabulary)), np.full(len(vocabulary), version.unit())
    return uncalibrated(means, deviations, -vocabulary.idf)

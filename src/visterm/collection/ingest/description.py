"""Describing opened files: vectors of their contents, and reasons for those that have none."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from visterm.collection.ingest.hashing import CHANGES, Opened
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.features import Extractor
    from visterm.features.extractor import Rows


@dataclass
class Described:
    """Vectors of contents, one a row, their hashes in the same order, and reasons by hash.

    Further frames of a video have hashes of their own, after that of the video; ``videos`` says
    whose they are, and ``seconds`` when each frame, the first one too, is shown.
    """

    vectors: Rows | None = None
    digests: list[bytes] = field(default_factory=list)
    reasons: dict[bytes | None, str] = field(default_factory=dict)
    videos: dict[bytes, bytes] = field(default_factory=dict)
    seconds: dict[bytes, float] = field(default_factory=dict)


def describe(
    extractor: Extractor, files: Sequence[Opened], progress: Progress = silent
) -> Described:
    """Vectors of files of different content, wherever work runs."""
    from visterm.features.extractor import stack_rows

    parts: list[Rows] = []
    found: list[Opened] = []
    seconds: list[float | None] = []
    described = Described()
    paths = [str(one.file) for one in files]
    for part in extractor.over_files(paths, progress=progress):
        if part.result is not None:
            parts.append(part.result)
        found += [files[number] for number in part.numbers]
        seconds += part.seconds or [None] * len(part.numbers)
        described.reasons |= {files[one.number].digest: one.reason for one in part.skipped}
    # A vector must be of the content whose hash it is kept under.
    changed = {id(one): not one.is_unchanged for one in found}
    sound = []
    for number, (one, second) in enumerate(zip(found, seconds, strict=True)):
        if changed[id(one)]:
            one.reason = CHANGES
        elif one.digest is not None:
            sound.append(number)
            described.digests.append(_noted(described, one.digest, second))
    described.vectors = stack_rows(parts)[sound] if sound else None
    return described


def _noted(described: Described, digest: bytes, second: float | None) -> bytes:
    """The hash under which a vector is kept: that of its content, or of one more frame of it."""
    own = digest
    if digest in described.seconds:
        own = hashlib.sha256(digest + f" at {second}".encode()).digest()
        described.videos[own] = digest
    if second is not None:
        described.seconds[own] = second
    return own

"""Describing opened files: vectors of their contents, and reasons for those that have none."""

from __future__ import annotations

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
    """Vectors of contents, one a row, their hashes in the same order, and reasons by hash."""

    vectors: Rows | None = None
    digests: list[bytes] = field(default_factory=list)
    reasons: dict[bytes | None, str] = field(default_factory=dict)


def describe(
    extractor: Extractor, files: Sequence[Opened], progress: Progress = silent
) -> Described:
    """Vectors of files of different content, wherever work runs."""
    from visterm.features.extractor import stack_rows

    parts: list[Rows] = []
    found: list[Opened] = []
    reasons: dict[bytes | None, str] = {}
    paths = [str(one.file) for one in files]
    for part in extractor.over_files(paths, progress=progress):
        if part.result is not None:
            parts.append(part.result)
        found += [files[number] for number in part.numbers]
        reasons |= {files[one.number].digest: one.reason for one in part.skipped}
    # A vector must be of the content whose hash it is kept under.
    sound = [number for number, one in enumerate(found) if one.is_unchanged]
    for number in set(range(len(found))) - set(sound):
        found[number].reason = CHANGES
    digests = [digest for number in sound if (digest := found[number].digest)]
    return Described(stack_rows(parts)[sound] if sound else None, digests, reasons)

"""Features of a protocol's pictures: learnt from the training ones, extracted from all."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from visterm.errors import BadInput, UnreadablePicture
from visterm.experiments.protocol import Protocol
from visterm.features import Extractor
from visterm.features.extractor import Rows
from visterm.pictures import picture_size, read_picture
from visterm.progress import Progress, silent

Parts = tuple[Rows, ...]
"""Rows of the training, validation and, where they are wanted, test pictures."""
_NAMED = 5  # unreadable pictures that an error names, before it only counts them


def extract(
    protocol: Protocol, extractor: Extractor, *, test: bool = True, progress: Progress = silent
) -> Parts:
    """Learn the extractor from the training pictures, and extract the features of all pictures;
    without ``test`` those of the test pictures are not looked at."""
    train, valid = protocol.split
    paths = protocol.development.paths
    training = [paths[i] for i in train]
    _warn_if_shrunk(training[0], extractor)
    rows = extractor.fit_transform(training, progress=progress)
    if rows.shape[0] != len(training):
        raise _unreadable_pictures(protocol.name, training)
    parts = [[paths[i] for i in valid], *([protocol.test.paths] if test else [])]
    return rows, *(_transformed(protocol, extractor, part) for part in parts)


def _transformed(protocol: Protocol, extractor: Extractor, paths: Sequence[Path]) -> Rows:
    """Rows of all these pictures, or an error that names those that cannot be read."""
    found = extractor.extract(paths)
    if found.skipped:
        raise _unreadable_pictures(protocol.name, [paths[skip.number] for skip in found.skipped])
    return found.rows


def _unreadable_pictures(name: str, paths: Sequence[Path]) -> BadInput:
    reasons = []
    for path in paths:
        try:
            read_picture(path, max_side=64)
        except UnreadablePicture as error:
            reasons.append(f"{error.where}: {error.reason}")
    shown = "; ".join(reasons[:_NAMED])
    more = f"; and {len(reasons) - _NAMED} more" if len(reasons) > _NAMED else ""
    return BadInput(
        f"{len(reasons)} pictures of {name} cannot be read: {shown}{more}. Mend them, or take "
        "their rows out of the table"
    )


def _warn_if_shrunk(picture: Path, extractor: Extractor) -> None:
    """Warn where pictures have more pixels than the features will see."""
    side = getattr(extractor, "max_side", None)
    if side is None or "max_side" not in extractor.get_params():
        return
    with suppress(UnreadablePicture):
        width, height = picture_size(picture)
        if max(width, height) > side:
            warnings.warn(
                f"pictures such as {picture.name}, {width} × {height} pixels, are shrunk to {side} "
                f"on the long side; {extractor.name}(max_side={max(width, height)}) sees them all",
                stacklevel=2,
            )

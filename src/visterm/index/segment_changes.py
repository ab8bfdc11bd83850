"""How segments change: new ones written, pictures taken out, small ones chosen to be merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from visterm.index.layout import CODES, EXACT, OLD
from visterm.index.manifest import Group, Segment
from visterm.index.open_segments import GivenRows, OpenSegment, Positions, Source
from visterm.index.recomputed import Recomputed
from visterm.index.score import Integers
from visterm.index.storage import Draft

MANY_GROUPS = 16
"""Where a segment has more files of exact values than this, a merge writes them as one."""

Write = Callable[[Draft, Source], tuple[Group, ...]]
"""Writes all words of a source as groups."""


def new_segments(
    draft: Draft,
    rows: npt.NDArray[np.generic],
    ids: Integers,
    write: Write,
    alike: Callable[[GivenRows], GivenRows],
    *,
    size: int,
    recomputed: Recomputed | None,
) -> Iterator[Segment]:
    """Write rows as segments of up to ``size`` pictures with ascending ids.

    Within a segment they come as ``alike`` puts them.
    """
    rising = bool((ids[1:] > ids[:-1]).all())
    order = None if rising else np.argsort(ids, kind="stable")
    for first in range(0, ids.size, size):
        place = slice(first, min(first + size, ids.size))
        chosen: Positions = place if order is None else order[place]
        source = GivenRows(rows, chosen, place.stop - place.start, ids[chosen], recomputed)
        yield new_segment(draft, alike(source), write)


def new_segment(draft: Draft, source: Source, write: Write) -> Segment:
    """Write one segment."""
    ids = source.ids
    is_rising = bool((ids[1:] > ids[:-1]).all())
    follow = is_rising and int(ids[-1]) - int(ids[0]) == ids.size - 1
    order = None if is_rising else np.argsort(ids).astype(np.int32)
    return Segment(
        pictures=int(ids.size),
        removed=0,
        first_id=int(ids.min()),
        ids=None if follow else draft.add("ids", lambda file: file.write(ids)),
        alive=None,
        order=None if order is None else draft.add("order", lambda file: file.write(order)),
        groups=write(draft, source) if source.words else (),
    )


def without(draft: Draft, parts: Sequence[OpenSegment], ids: Integers) -> tuple[list[Segment], int]:
    """The segments with these pictures gone, and how many pictures that were."""
    kept, gone = [], 0
    for part in parts:
        segment = part.segment
        positions, here = part.find(ids)
        count = int(here.sum())
        gone += count
        if count:
            alive = np.ones(segment.pictures, np.uint8)
            if part.alive is not None:
                alive[:] = part.alive
            alive[positions[here]] = 0
            if not alive.any():
                continue
            segment = replace(
                segment, removed=segment.removed + count, alive=_write_bytes(draft, alive)
            )
        kept.append(segment)
    return kept, gone


def with_group(segment: Segment, group: Group) -> Segment:
    """The segment with one more group; those that no longer speak for any word are let go."""
    kept: list[Group] = []
    spoken: set[int] = set()
    for one in (group, *reversed(segment.groups)):
        words = set(one.words)
        if not words <= spoken:
            kept.insert(0, one)
        spoken |= words
    return replace(segment, groups=tuple(kept))


def due(segments: Sequence[Segment], size: int) -> list[int]:
    """The numbers of the segments that should now be written as one.

    From the smallest up, segments join while they are at most twice as large as what has been
    gathered, so a picture is written again only a logarithmic number of times, however many
    appends there are. Only such join as keep the exact values of the same words. Where none join, a
    segment that is worn is written anew alone.
    """
    kinds: dict[frozenset[int], list[int]] = {}
    for number, segment in enumerate(segments):
        kinds.setdefault(coded_words(segment), []).append(number)
    for alike in kinds.values():
        run = _run(segments, alike, size)
        if len(run) > 1:
            return run
    return [number for number, segment in enumerate(segments) if _worn(segment)][:1]


def coded_words(segment: Segment) -> frozenset[int]:
    """The words of which a segment has codes and no exact values."""
    found: set[int] = set()
    for group in segment.groups:
        found = found | set(group.words) if group.layout == CODES else found - set(group.words)
    return frozenset(found)


def _run(segments: Sequence[Segment], alike: Sequence[int], size: int) -> list[int]:
    living = [segment.pictures - segment.removed for segment in segments]
    run: list[int] = []
    total = 0
    for number in sorted(alike, key=lambda number: living[number]):
        if living[number] > 2 * total and len(run) > 1:
            break
        if living[number] > 2 * total:
            run, total = [], 0
        if total + living[number] > size:
            break
        run.append(number)
        total += living[number]
    return run


def _worn(segment: Segment) -> bool:
    is_old = any(group.layout == OLD for group in segment.groups)
    return is_old or 4 * segment.removed > segment.pictures


def crowded(segments: Sequence[Segment]) -> int | None:
    """The number of a segment with too many groups, if there is one."""
    for number, segment in enumerate(segments):
        if sum(group.layout == EXACT for group in segment.groups) > MANY_GROUPS:
            return number
    return None


def _write_bytes(draft: Draft, alive: npt.NDArray[np.uint8]) -> str:
    return draft.add("alive", lambda file: file.write(alive))

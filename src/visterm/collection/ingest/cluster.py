"""Ingest on a cluster: workers open, hash, decode and describe files; the driver commits.

Workers are handed files in order, a few batches ahead, and their answers are committed in the same
order and groups as on one machine, so that the catalogue is the same, row for row, whatever died.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from visterm.collection.ingest.batches import Batches
from visterm.collection.ingest.description import Described, describe
from visterm.collection.ingest.hashing import Incoming, Opened
from visterm.collection.ingest.plan import READ, IngestTask, Survey

if TYPE_CHECKING:
    from visterm.compute.ray_cluster import RayCluster
    from visterm.features import Extractor


class Asked(NamedTuple):
    """A file by its number, and the hashes of contents of its size that have vectors already."""

    number: int
    task: IngestTask
    known: frozenset[bytes]


_NONE: frozenset[bytes] = frozenset()


@dataclass
class _Answer:
    files: dict[int, Opened]
    described: Described


class DescribeFiles:
    """What a worker does with a batch of files."""

    def __init__(self, root: Path, extractor: Extractor) -> None:
        self.root, self.extractor, self.gpus = root, extractor, extractor.gpus

    def __call__(self, asked: list[Asked]) -> _Answer:
        from visterm.features.picture_batches import LONGEST
        from visterm.pictures.decoding.time_limit import mortal

        files, first = {}, dict[bytes, Opened]()
        with Incoming(self.root) as incoming:
            opened = incoming.opened([task for _, task, _ in asked])
            for (number, _, known), one in zip(asked, opened, strict=True):
                files[number] = one
                if one.digest is not None and one.digest not in known:
                    first.setdefault(one.digest, one)
            with mortal(LONGEST):
                return _Answer(files, describe(self.extractor, list(first.values())))


def ingest_on(cluster: RayCluster, batches: Batches, size: int) -> None:
    """Take everything that the survey found, committed ``size`` files at a time."""
    from visterm.features.picture_batches import BATCH

    plan, report = batches.plan, batches.report
    work = DescribeFiles(plan.root, batches.extractor)
    group: list[_Answer] = []
    under_way = batches.progress

    def progress(what: str, done: int, total: int) -> None:
        report.nodes, report.retries = cluster.nodes, cluster.retries
        under_way(f"{what} · {cluster}", done, total)

    batches.progress = progress
    for answer in cluster.map_batches(work, _asked(plan, batches.rows.extractor, BATCH), _lost):
        group.append(answer)
        waiting = sum(len(one.files) for one in group)
        progress("adding pictures", batches.done + waiting, batches.total)
        if waiting >= size:
            batches.commit(*_joined(group, batches.knows))
            group = []
    if group:
        batches.commit(*_joined(group, batches.knows))


def _asked(plan: Survey, extractor: str, size: int) -> Iterator[list[Asked]]:
    """The survey's files; contents that moved need no vector, and are of the size they were."""
    db = plan.catalogue.db
    db.executescript("DROP TABLE IF EXISTS temp.known")
    db.execute(
        """CREATE TEMP TABLE known AS SELECT DISTINCT places.size AS size, hash FROM temp.todo
            JOIN places ON places.size = todo.size JOIN pictures ON pictures.id = places.picture
            JOIN rows ON rows.picture = pictures.id AND rows.extractor = ? WHERE what = ?""",
        (extractor, READ),
    )
    db.execute("CREATE INDEX temp.known_sizes ON known (size)")
    numbers = count()
    for tasks in plan.tasks(size):
        yield [
            Asked(next(numbers), task, _hashes_of_size(plan, task) if task.what == READ else _NONE)
            for task in tasks
        ]


def _hashes_of_size(plan: Survey, task: IngestTask) -> frozenset[bytes]:
    question = "SELECT hash FROM temp.known WHERE size = ?"
    found = plan.catalogue.db.execute(question, (task.file.size,))
    return frozenset(digest for (digest,) in found)


def _lost(answer: _Answer, crashed: list[Asked]) -> _Answer:
    """Name the files that end every worker they are given to."""
    from visterm.pictures.decoding.decoder_process import CRASHES

    answer.files |= {one.number: Opened(one.task, Path(), reason=CRASHES) for one in crashed}
    return answer


def _joined(group: list[_Answer], knows: Callable[[bytes], bool]) -> tuple[list[Opened], Described]:
    """The answers of a commit; of equal contents, and of those known meanwhile, no vector twice."""
    from visterm.features.extractor import stack_rows

    files = [answer.files[number] for answer in group for number in sorted(answer.files)]
    joined, parts, seen = Described(), [], set[bytes]()
    for answer in group:
        joined.reasons |= answer.described.reasons
        joined.videos |= answer.described.videos
        joined.seconds |= answer.described.seconds
        new = []
        for number, digest in enumerate(answer.described.digests):
            if digest not in seen and not knows(digest):
                new.append(number)
                joined.digests.append(digest)
            seen.add(digest)
        if new and answer.described.vectors is not None:
            parts.append(answer.described.vectors[new])
    joined.vectors = stack_rows(parts) if parts else None
    return files, joined

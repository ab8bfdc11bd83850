"""Ingest: files are opened, described by vectors and committed batch by batch."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.collection.ingest.batches import Added, Batches, read_again
from visterm.collection.ingest.description import (
    Described,
    FileDescriber,
    delete_copies,
    describe_here,
)
from visterm.collection.ingest.extractors import SAMPLE, kept, prepare
from visterm.collection.ingest.scopes import begin, finish
from visterm.collection.ingest.survey import READ, IngestTask, OnSkip, Survey, survey
from visterm.collection.store.catalogue import Catalogue
from visterm.compute import cluster, map_batches
from visterm.pictures.sandbox import NEVER_READY, readers
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.features import Extractor

BATCH = 256
"""Pictures of one commit."""
FIRST = 64
"""Pictures of the first one; each later one has twice as many, up to `BATCH`."""
TOGETHER = 32
"""Pictures that are read and described together."""
WORTH = 200
"""Pictures for which it is worth starting one more process."""
INCOMING = "incoming"
"""The folder of the store with copies of what is being added from elsewhere."""

_TRIED = 16
"""Pictures that show whether an extractor works that learns nothing."""


OnBatch = Callable[[int, int], None]


class Stopped(KeyboardInterrupt):
    """Somebody pressed Ctrl-C; ``report`` says what was done and is kept."""

    def __init__(self, report: Added) -> None:
        super().__init__()
        self.report = report


def ingest(
    catalogue: Catalogue,
    root: Path,
    paths: Sequence[str],
    features: str,
    *,
    n_jobs: int = 1,
    progress: Progress = silent,
    on_skip: OnSkip = lambda path, reason: None,
    on_batch: OnBatch | None = None,
) -> Added:
    """Bring the catalogue up to date with its sources; the caller holds the lock.

    ``on_batch`` is called after every commit, with how many files are done and how many there are;
    the newest files are then committed first.

    ``on_skip`` is called for every file that is skipped, with the reason, and for broken metadata.
    """
    report = Added()

    def skip(path: str, reason: str) -> None:
        report.skipped.append((path, reason))
        on_skip(path, reason)

    extractor = kept(catalogue, features, n_jobs)
    begin(catalogue, root, paths)
    key = None if extractor is None else extractor.key
    plan = survey(catalogue, root, paths, key, skip, progress)
    if on_batch is not None:
        plan.newest_first(BATCH)
    incoming = catalogue.store / INCOMING
    shutil.rmtree(incoming, ignore_errors=True)  # what a killed writer left
    try:
        if len(plan) and extractor is None:
            with suppress(OSError):  # whoever asks for a picture is told
                readers().begin()  # it loads its libraries while this process does other things
            extractor = fitted(plan, incoming, features, n_jobs, progress, skip)
        if extractor is not None:
            n_jobs = processes_for(extractor, n_jobs, len(plan))
            extractor = prepare(catalogue, features, [], n_jobs=n_jobs)
            batches = Batches(plan, extractor, report, on_skip, progress)
            try:
                _take_all(batches, incoming, n_jobs, on_batch)
            except KeyboardInterrupt:
                raise Stopped(report) from None
    finally:
        shutil.rmtree(incoming, ignore_errors=True)
    _mark_vanished(plan, report)
    return report


def _take_all(batches: Batches, incoming: Path, n_jobs: int, on_batch: OnBatch | None) -> None:
    """Describe what the survey found, wherever work runs, and commit it in groups."""
    plan, extractor, where = batches.plan, batches.extractor, cluster()
    tasks = _tasks(plan, batches.rows.extractor, min(BATCH, TOGETHER))
    if extractor.portable and where is not None:
        batches.on_cluster(where)
    answers = described(plan.root, extractor, tasks, incoming, n_jobs, reads_text=plan.reads_text)
    group: list[Described] = []
    enough = min(BATCH, FIRST)  # somebody waits to see the first; later groups are larger

    def commit() -> None:
        batches.commit(group)
        group.clear()
        if on_batch is not None:
            on_batch(batches.done, batches.total)

    # Closed here: it waits for a thread, which a garbage collector must never do.
    with closing(answers):
        for answer in answers:
            group.append(answer)
            waiting = sum(len(described.files) for described in group)
            batches.heard(waiting)
            if waiting >= enough:
                commit()
                enough = min(BATCH, 2 * enough)
        if group:
            commit()


def described(
    root: Path,
    extractor: Extractor,
    tasks: Iterator[list[IngestTask]],
    incoming: Path | None,
    n_jobs: int,
    *,
    reads_text: bool = False,
) -> Generator[Described, None, None]:
    """Descriptions of batches: by this process, by others of this machine, or by a cluster."""
    if extractor.portable and (cluster() is not None or n_jobs > 1):
        work = FileDescriber(root, extractor, reads_text=reads_text)
        return map_batches(work, tasks, n_jobs=n_jobs)
    return describe_here(FileDescriber(root, extractor, incoming, reads_text=reads_text), tasks)


def processes_for(extractor: Extractor, n_jobs: int, pictures: int) -> int:
    """How many processes are worth it: extractors that use all cores gain nothing by more."""
    return 1 if extractor.uses_threads else min(n_jobs, 1 + pictures // WORTH)


def _tasks(plan: Survey, extractor: str, size: int) -> Iterator[list[IngestTask]]:
    """The survey's files; contents that moved need no vector, and are of the size they were."""
    db = plan.catalogue.db
    db.executescript("DROP TABLE IF EXISTS temp.known")
    db.execute(
        """CREATE TEMP TABLE known AS SELECT DISTINCT places.size AS size, lower(hex(hash)) AS hash
            FROM temp.todo JOIN places ON places.size = todo.size
            JOIN pictures ON pictures.id = places.picture
            JOIN rows ON rows.picture = pictures.id AND rows.extractor = ? WHERE what = ?""",
        (extractor, READ),
    )
    db.execute("CREATE INDEX temp.known_sizes ON known (size)")
    for tasks in plan.tasks(size):
        for number, task in enumerate(tasks):
            known = db.execute("SELECT hash FROM temp.known WHERE size = ?", (task.file.size,))
            if task.what == READ:
                tasks[number] = replace(task, known=tuple(digest for (digest,) in known))
        yield tasks


def fitted(
    plan: Survey,
    incoming: Path | None,
    features: str,
    n_jobs: int,
    progress: Progress,
    skip: OnSkip,
    *,
    is_taken: bool = True,
) -> Extractor | None:
    """The extractor fitted to a sample of the plan; None where no picture of it can be read."""
    from visterm.features import parse_features
    from visterm.features.extractor import NothingRead

    named = parse_features(features)
    learns = bool(named.arrays) or hasattr(named, "parts")
    while tasks := plan.sample(SAMPLE if learns else _TRIED):
        sample, copies = FileDescriber(plan.root, named, incoming).fetched(tasks)
        by_path = {str(file.path): file for file in sample}
        try:
            return prepare(
                plan.catalogue,
                features,
                [*by_path],
                n_jobs=processes_for(named, n_jobs, len(by_path)),
                progress=progress,
                is_taken=is_taken,
            )
        except NothingRead as nothing:
            # Nothing but broken pictures: they are reported, left out, and others tried.
            with plan.catalogue.transaction():
                for broken in nothing.skipped:
                    file = by_path[broken.picture]
                    file.is_passing |= broken.reason == NEVER_READY
                    file.reason = file.reason or broken.reason
                    skip(file.task.path, file.reason)
                    plan.leave_out(file.task, None if file.is_passing else file.reason)
        finally:
            delete_copies(copies)
    return None


def _mark_vanished(plan: Survey, report: Added) -> None:
    """Say which files are gone, only now: a moved picture is never without a place."""
    count = "SELECT count(*) FROM pictures WHERE present = 0 AND video IS NULL"
    before = plan.catalogue.one(count)
    with plan.catalogue.transaction() as db:
        gone = "SELECT picture FROM places WHERE id IN (SELECT place FROM temp.gone)"
        fewer = plan.elsewhere | {picture for (picture,) in db.execute(gone)}
        db.execute("UPDATE places SET vanished = 1 WHERE id IN (SELECT place FROM temp.gone)")
        # Of a picture that lies elsewhere, the place where it used to lie says nothing more.
        db.execute(
            """DELETE FROM places WHERE id IN (SELECT place FROM temp.gone)
                AND picture IN (SELECT id FROM pictures WHERE present > 0)"""
        )
        read_again(plan.catalogue, plan.root, fewer)
        finish(plan)
    report.vanished = plan.catalogue.one(count) - before

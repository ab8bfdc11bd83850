"""Ingest: files are opened, described by vectors and committed batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.collection.ingest.batches import Added, Batches
from visterm.collection.ingest.diff import survey
from visterm.collection.ingest.extractors import SAMPLE, kept, prepare
from visterm.collection.ingest.hashing import INCOMING, Incoming, opened_batches
from visterm.collection.ingest.plan import OnSkip, Survey
from visterm.collection.ingest.scopes import begin, finish
from visterm.collection.ingest.sidecar_captions import read_again
from visterm.collection.store.catalogue import Catalogue
from visterm.compute import cluster
from visterm.errors import BadInput
from visterm.pictures.decoding.isolation import begin_decoding
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.features import Extractor

BATCH = 256
"""Pictures of one commit."""
WORTH = 200
"""Pictures for which it is worth starting one more process."""

_FEW = 16
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
    processes = min(n_jobs, 1 + len(plan) // WORTH)
    if len(plan) and processes == 1:
        begin_decoding()
    with Incoming(root, catalogue.store / INCOMING) as incoming:
        if len(plan) and extractor is None:
            extractor = _fitted(plan, incoming, features, n_jobs, progress, skip)
        if extractor is not None:
            extractor = prepare(catalogue, features, [], n_jobs=processes)
            batches = Batches(plan, extractor, report, on_skip, progress)
            try:
                _take_all(batches, incoming, on_batch)
            except KeyboardInterrupt:
                raise Stopped(report) from None
            while batches.rows.merge():
                pass
    _mark_vanished(plan, report)
    return report


def _take_all(batches: Batches, incoming: Incoming, on_batch: OnBatch | None) -> None:
    """Describe and commit what the survey found, wherever work runs."""
    where = cluster()
    if where is not None and batches.extractor.portable:
        from visterm.collection.ingest.cluster import ingest_on

        ingest_on(where, batches, BATCH)
        return
    # Closed here: it waits for a thread, which a garbage collector must never do.
    with closing(opened_batches(batches.plan, incoming, BATCH)) as opened:
        for batch in opened:
            batches.take(batch)
            if on_batch is not None:
                on_batch(batches.done, batches.total)


def _fitted(
    plan: Survey,
    incoming: Incoming,
    features: str,
    n_jobs: int,
    progress: Progress,
    skip: OnSkip,
) -> Extractor | None:
    """The extractor fitted to a sample of the plan; None where no picture of it can be read."""
    from visterm.features import parse_features
    from visterm.features.picture_batches import over_pictures

    named = parse_features(features)
    learns = bool(named.arrays) or hasattr(named, "parts")
    while tasks := plan.sample(SAMPLE if learns else _FEW):
        sample = incoming.take(tasks)
        files = [str(one.file) for one in sample]
        try:
            return prepare(plan.catalogue, features, files, n_jobs=n_jobs, progress=progress)
        except BadInput:
            # Nothing but broken pictures: they are reported, left out, and others tried.
            broken = [one for part in over_pictures(len, files) for one in part.skipped]
            if not broken:
                raise
            for one in broken:
                found = sample[one.number]
                skip(found.task.path, found.reason or one.reason)
                plan.drop(found.task.path)
        finally:
            incoming.delete_copies(sample)
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

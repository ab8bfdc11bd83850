"""One batch of opened files: described, written and committed together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.collection.ingest.description import Described, FileDescription
from visterm.collection.ingest.survey import (
    CAPTIONS,
    LISTED,
    READ,
    IngestTask,
    OnSkip,
    Survey,
)
from visterm.collection.media import captions, fields
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.urls import is_url
from visterm.progress import Progress

if TYPE_CHECKING:
    from visterm.compute.ray_cluster import RayCluster
    from visterm.features import Extractor


@dataclass
class Added:
    """What an ``add`` found and did, in files."""

    new: int = 0
    changed: int = 0
    moved: int = 0
    duplicates: int = 0
    returned: int = 0
    vanished: int = 0
    extracted: int = 0
    captions: int = 0
    """Files whose captions were read again."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    nodes: int = 0
    """Nodes of a cluster that worked; none where this machine's processes did."""
    retries: int = 0
    """Batches that were described again because a worker or node died."""


class Batches:
    """What is the same for every batch of an ``add``."""

    def __init__(
        self,
        plan: Survey,
        extractor: Extractor,
        report: Added,
        on_skip: OnSkip,
        progress: Progress,
    ) -> None:
        self.plan, self.extractor, self.report = plan, extractor, report
        self.on_skip, self.progress = on_skip, progress
        self.catalogue = plan.catalogue
        self.rows = Rows(plan.catalogue, extractor.key)
        self.done, self.total = 0, len(plan)

    def on_cluster(self, where: RayCluster) -> None:
        """Tell of the cluster that does the work, too."""
        show = self.progress

        def progress(what: str, done: int, total: int) -> None:
            self.report.nodes, self.report.retries = where.nodes, where.retries
            show(f"{what} · {where}", done, total)

        self.progress = progress

    def heard(self, waiting: int) -> None:
        """Say how many files are done, with those that wait for their commit."""
        self.progress("adding pictures", self.done + waiting, self.total)

    def commit(self, group: Sequence[Described]) -> None:
        """Write the vectors of what is new in a group, and all its news into the catalogue."""
        files, new = self._joined(group)
        written = None if new.vectors is None else self.rows.write(new.vectors)
        with self.catalogue.transaction() as db:
            numbers = {digest: _picture(db, digest) for digest in new.digests}
            for digest, second in new.seconds.items():
                whole = new.videos.get(digest)
                db.execute(
                    "UPDATE pictures SET second = ?, video = ? WHERE hash = ?",
                    (second, None if whole is None else _picture(db, whole), digest),
                )
            for file in files:
                self._store(file, new.digests)
            if written is not None:
                self.rows.name(written, [numbers[digest] for digest in new.digests])
        self.report.extracted += sum(digest not in new.videos for digest in new.digests)
        self.done += len(files)
        self.heard(0)

    def _joined(self, group: Sequence[Described]) -> tuple[list[FileDescription], Described]:
        """A group as one; of equal contents, and of those known meanwhile, no vector twice."""
        from visterm.features.extractor import stack_rows

        files = [file for part in group for file in part.files]
        sound = {file.reading.digest for file in files if file.reason is None}
        joined, vectors = Described(), []
        for part in group:
            joined.videos |= part.videos
            joined.seconds |= part.seconds
            new = [
                number
                for number, digest in enumerate(part.digests)
                if digest not in joined.digests
                and part.videos.get(digest, digest) in sound
                and not self._is_described(digest)
            ]
            joined.digests += [part.digests[number] for number in new]
            if new and part.vectors is not None:
                vectors.append(part.vectors[new])
        joined.vectors = stack_rows(vectors) if vectors else None
        return files, joined

    def _is_described(self, digest: bytes) -> bool:
        question = """SELECT 1 FROM pictures JOIN rows ON rows.picture = pictures.id
            WHERE hash = ? AND rows.extractor = ?"""
        return bool(self.catalogue.one(question, digest, self.rows.extractor))

    def _store(self, file: FileDescription, new: Sequence[bytes]) -> None:
        """Write one file's news into the catalogue."""
        db, task, reading = self.catalogue.db, file.task, file.reading
        at = (task.folder, task.file.name)
        old = db.execute(
            "SELECT id, picture, vanished FROM places WHERE folder = ? AND name = ?", at
        ).fetchone()
        if file.reason is not None:
            self._skip(file, None if old is None else old[1])
            return
        db.execute("DELETE FROM skipped WHERE folder = ? AND name = ?", at)
        if not task.is_opened:
            db.execute("UPDATE places SET vanished = 0 WHERE id = ?", (old[0],))
            self.report.returned += bool(old[2])
            self._keep_listed(task, old[1], is_news=task.what == LISTED)
            return
        picture = old[1] if reading.digest is None else _picture(db, reading.digest)
        if reading.text is not None:
            db.execute("UPDATE pictures SET ocr = ? WHERE id = ?", (reading.text, picture))
        if reading.size is not None:
            db.execute(
                "UPDATE pictures SET width = ?, height = ? WHERE id = ? OR video = ?",
                (*reading.size, picture, picture),
            )
        if task.what == READ:
            is_new = reading.digest in new and not _elsewhere(self.catalogue, picture)
            self._place(task, picture, old, is_new=is_new)
        self._keep_captions(file, picture, was_here=old is not None and old[1] == picture)
        self._keep_listed(
            task, picture, is_news=bool(task.file.caption) and not reading.metadata.captions
        )

    def _skip(self, file: FileDescription, before: int | None) -> None:
        """Note and report a file that cannot be read; ``before`` is the picture that it was."""
        task, reason, is_ready = file.task, file.reason or "", self.extractor.ready
        if file.is_passing:
            self.plan.doubt(task.path)
        else:
            if is_ready:  # else it is only described another time
                self.plan.skip(task, reason)
            digest = self.catalogue.one("SELECT hash FROM pictures WHERE id = ?", before)
            if is_ready or (before is not None and digest != file.reading.digest):
                self.catalogue.db.execute(
                    "UPDATE places SET vanished = 1 WHERE folder = ? AND name = ?",
                    (task.folder, task.file.name),
                )
        self.report.skipped.append((task.path, reason))
        self.on_skip(task.path, reason)

    def _place(
        self, task: IngestTask, picture: int, old: tuple[int, int, int] | None, *, is_new: bool
    ) -> None:
        db, file, report = self.catalogue.db, task.file, self.report
        facts = (picture, file.size, file.mtime_ns, file.sidecars, file.offset)
        if old is None:
            report.new += is_new
            if not is_new:
                self.plan.elsewhere.add(picture)
                elsewhere = _elsewhere(self.catalogue, picture)
                report.duplicates += elsewhere
                report.moved += not elsewhere
            db.execute(
                """INSERT INTO places (picture, size, mtime_ns, sidecars, offset, folder, name)
                    VALUES (?, ?, ?, ?, ?, ?, ?)""",
                (*facts, task.folder, file.name),
            )
            return
        place, before, vanished = old
        is_alone = not _elsewhere(self.catalogue, picture)
        db.execute(
            """UPDATE places SET picture = ?, size = ?, mtime_ns = ?, sidecars = ?, offset = ?,
                vanished = 0 WHERE id = ?""",
            (*facts, place),
        )
        report.returned += bool(vanished)
        if before != picture:
            self.plan.elsewhere.add(before)
            report.changed += 1
            if is_alone and not _elsewhere(self.catalogue, before):
                fields.inherit(self.catalogue, before, picture)
                if is_new:
                    captions.inherit(self.catalogue, before, picture)

    def _keep_captions(self, file: FileDescription, picture: int, *, was_here: bool) -> None:
        from visterm.pictures.formats import kind_of_name

        db, task, written = self.catalogue.db, file.task, file.reading.metadata
        for problem in written.problems:
            where, _, reason = problem.removeprefix(f"{self.plan.root}/").partition(": ")
            if not task.is_here:
                where = task.path  # the name of a copy says nothing to anybody
            self.on_skip(f"the metadata of {where}", reason)
        texts = [(caption.source, caption.text) for caption in written.captions]
        alone = self.catalogue.one("SELECT present FROM pictures WHERE id = ?", picture) < 2
        captions.keep_read(self.catalogue, picture, texts, all_there_is=alone and was_here)
        if not alone and task.what == CAPTIONS:
            self.plan.elsewhere.add(picture)
        self.report.captions += bool(texts) or task.what == CAPTIONS
        at = file.capture
        db.execute(
            """UPDATE places SET sidecars = ?, kind = ?, taken = ?, taken_from = ?,
                latitude = ?, longitude = ?, camera = ?, lens = ?, rating = ?
                WHERE folder = ? AND name = ?""",
            (
                *(task.file.sidecars, kind_of_name(task.file.name)),
                *astuple(at),
                *(task.folder, task.file.name),
            ),
        )

    def _keep_listed(self, task: IngestTask, picture: int, *, is_news: bool) -> None:
        """What tables say of a picture, all places where it lies together."""
        if task.file.listed is None:
            return
        db = self.catalogue.db
        db.execute(
            "UPDATE places SET listed = ?, caption = ? WHERE folder = ? AND name = ?",
            (task.file.listed, task.file.caption, task.folder, task.file.name),
        )
        texts = db.execute(
            "SELECT DISTINCT caption FROM places WHERE picture = ? AND caption != ''", (picture,)
        )
        text = "\n".join(sorted(caption for (caption,) in texts))
        captions.give(self.catalogue, picture, captions.TABLE, text)
        self.report.captions += is_news


def _picture(db: Any, digest: bytes) -> int:
    """The number of a content, given to it now if it has none."""
    db.execute("INSERT OR IGNORE INTO pictures (hash) VALUES (?)", (digest,))
    return int(db.execute("SELECT id FROM pictures WHERE hash = ?", (digest,)).fetchone()[0])


def _elsewhere(catalogue: Catalogue, picture: int) -> bool:
    """Whether a picture lies at a place that is still there, as far as the survey saw."""
    question = """SELECT 1 FROM places WHERE picture = ? AND NOT vanished
        AND id NOT IN (SELECT place FROM temp.gone)"""
    return bool(catalogue.one(question, picture))


def read_again(catalogue: Catalogue, root: Path, pictures: Iterable[int]) -> None:
    """Read what lies beside the files of pictures that had others, inside a transaction.

    So a catalogue that has followed its folder is one that is made anew. Pictures that also lie in
    shards or elsewhere keep what was read there.
    """
    from visterm.pictures.sandbox import captions_of

    question = """SELECT DISTINCT picture FROM captions WHERE picture IN {numbers}
        AND (source = 'txt' OR source LIKE 'xmp-sidecar:%')"""
    for (picture,) in list(catalogue.among(question, sorted(set(pictures)))):
        places = catalogue.db.execute(
            """SELECT folder, name, offset FROM places WHERE picture = ? AND NOT vanished
                ORDER BY folder, name""",
            (picture,),
        ).fetchall()
        if not places or any(is_url(folder) or offset is not None for folder, _, offset in places):
            continue
        beside = (captions_of(root / folder / name) for folder, name, _ in places)
        texts = [(caption.source, caption.text) for every in beside for caption in every]
        captions.keep_read(catalogue, picture, texts, all_there_is=True)

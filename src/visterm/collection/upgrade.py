"""Stronger features beside those that answer, and one switch when every picture has them.

Vectors are kept batch by batch, so that whoever is killed goes on where it ended, and the lock is
held for no longer than a batch takes to be written: people search, caption and click meanwhile, by
the features of before. The switch is one transaction, with a model that has learnt all captions and
clicks again. What was there before is remembered, for an undo, until it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

from visterm.collection.ingest.description import Described
from visterm.collection.ingest.extractors import current_key, kept, take
from visterm.collection.ingest.pipeline import TOGETHER, described, fitted, processes_for
from visterm.collection.ingest.survey import FACTS, READ, OnSkip, Survey
from visterm.collection.store import previous
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.versions import ENCODER, WORDS, current, every_current, is_encoded
from visterm.collection.training.pretrained import can_begin, starter_version
from visterm.collection.training.text_spaces import train_space
from visterm.collection.training.trainer import let_answer, train
from visterm.collection.training.training_set import TooFewCaptions, check_captions
from visterm.errors import BadInput, VistermError
from visterm.features import parse_features
from visterm.progress import Progress, silent

Writing = Callable[[str], AbstractContextManager[None]]
"""Makes whoever enters it the only writer; says what for."""
_MISSING = """FROM places WHERE NOT vanished AND NOT EXISTS
    (SELECT 1 FROM rows WHERE extractor = ? AND rows.picture = places.picture)"""


@dataclass
class Upgraded:
    """What an upgrade did."""

    features: str
    pictures: int = 0
    """Pictures that have these features."""
    extracted: int = 0
    """Those of them that were described now."""
    switched: bool = False
    """Whether searches changed from other features to these."""
    avgp: float | None = None
    """Of the new model on held-out captions, where there are enough."""
    dropped: tuple[str, ...] = ()
    """Features whose vectors were deleted."""


def upgrade(
    catalogue: Catalogue,
    root: Path,
    features: str,
    writing: Writing,
    *,
    drop: bool = False,
    n_jobs: int = 1,
    progress: Progress = silent,
    on_skip: OnSkip,
) -> Upgraded:
    """Describe every picture by these features, and let them answer then."""
    key = parse_features(features).key
    _check_words(catalogue, key)
    report = Upgraded(features)
    while True:
        new = _describe_missing(catalogue, root, features, writing, n_jobs, progress, on_skip)
        report.extracted += new
        with writing("switching to other features"):
            missing = catalogue.one(f"SELECT count(DISTINCT picture) {_MISSING}", key)
            if not missing:
                _finish(catalogue, key, report, drop=drop, progress=progress)
                return report
        if not new:  # others would have come meanwhile, and are described in the next round
            raise VistermError(
                f"{missing:,} of the pictures cannot be described by {features} now, so the "
                "features of before go on answering; bring their files back, or let visterm add "
                "see that they have gone, and upgrade again: what was described is kept"
            )


def _check_words(catalogue: Catalogue, key: str) -> None:
    """Refuse features of which nothing would know any word, before hours are spent on them."""
    if current_key(catalogue) is None:
        raise BadInput("there are no pictures yet; visterm add --features describes them so")
    if not can_begin(catalogue, key):
        try:
            check_captions(catalogue, current_key(catalogue) or "")
        except TooFewCaptions as error:
            raise BadInput(f"no starter knows these features, and {error}") from None


def _describe_missing(
    catalogue: Catalogue,
    root: Path,
    features: str,
    writing: Writing,
    n_jobs: int,
    progress: Progress,
    on_skip: OnSkip,
) -> int:
    """Describe the pictures that have no vector yet; returns how many got one."""
    plan = Survey(catalogue, root, progress)
    key = parse_features(features).key
    catalogue.db.execute(
        f"""INSERT INTO temp.todo SELECT NULL, {FACTS}, ? FROM places
            WHERE id IN (SELECT min(id) {_MISSING} GROUP BY picture)""",
        (READ, key),
    )
    if not len(plan):
        return 0
    with writing("preparing other features"):
        extractor = kept(catalogue, features) or fitted(
            plan, None, features, n_jobs, progress, on_skip, is_taken=False
        )
    if extractor is None:
        return 0
    n_jobs = processes_for(extractor, n_jobs, len(plan))
    extractor.n_jobs = n_jobs
    rows, done, new = Rows(catalogue, key), 0, 0
    answers = described(root, extractor, plan.tasks(TOGETHER), None, n_jobs)
    with closing(answers):
        for answer in answers:
            for file in answer.files:
                if file.reason is not None:
                    on_skip(file.task.path, file.reason)
            with writing("keeping other features"):
                new += _keep(rows, answer)
            done += len(answer.files)
            progress(f"describing by {features}", done, len(plan))
    return new


def _keep(rows: Rows, answer: Described) -> int:
    """Keep the vectors of contents that the catalogue knows, and that have none; how many."""
    catalogue, places, numbers = rows.catalogue, list[int](), list[int]()
    for place, digest in enumerate(answer.digests):
        number = catalogue.one("SELECT id FROM pictures WHERE hash = ?", digest)
        if number is not None and number not in numbers and not rows.located([number]):
            places.append(place)
            numbers.append(number)
    if answer.vectors is not None and places:
        written = rows.write(answer.vectors[places])
        with catalogue.transaction():
            rows.name(written, numbers)
    return sum(answer.digests[place] not in answer.videos for place in places)


def _finish(
    catalogue: Catalogue, key: str, report: Upgraded, *, drop: bool, progress: Progress
) -> None:
    """Let the features answer that every picture has; the caller holds the lock."""
    version = current(catalogue)
    if current_key(catalogue) != key or version is None or version.extractor != key:
        _switch(catalogue, key, report, progress)
    for other in every_current(catalogue):
        if other.space != WORDS and other.extractor != key:
            _space_again(catalogue, other.space, key, progress)
    if drop:
        report.dropped = _drop_others(catalogue, key)
    report.pictures = catalogue.one(
        """SELECT count(*) FROM pictures JOIN rows ON rows.picture = pictures.id
            WHERE rows.extractor = ? AND present > 0""",
        key,
    )


def _switch(catalogue: Catalogue, key: str, report: Upgraded, progress: Progress) -> None:
    def also() -> None:
        previous.remember(catalogue, report.features)
        take(catalogue, report.features, key)

    try:
        trained = train(catalogue, force=True, extractor=key, also=also, progress=progress)
        report.avgp = trained.avgp
    except TooFewCaptions as error:
        version = starter_version(catalogue, key)
        if version is None:
            raise BadInput(f"no starter knows {report.features}, and {error}") from None
        let_answer(catalogue, version, also)
    report.switched = True


def _space_again(catalogue: Catalogue, space: str, key: str, progress: Progress) -> None:
    """Learn a space of sentences from these features; one that they cannot answer goes."""
    try:
        if space != ENCODER or is_encoded(key):
            train_space(catalogue, space, progress=progress)
            return
    except BadInput:  # too few captions by now
        pass
    with catalogue.transaction() as db:
        db.execute("DELETE FROM versions WHERE space = ?", (space,))


def _drop_others(catalogue: Catalogue, key: str) -> tuple[str, ...]:
    """Delete all vectors but these, and with them what an undo of the switch would need."""
    question = "SELECT DISTINCT extractor FROM feature_files WHERE extractor != ? ORDER BY 1"
    others = tuple(one for (one,) in catalogue.db.execute(question, (key,)))
    with catalogue.transaction() as db:
        for other in others:
            Rows(catalogue, other).drop()
            db.execute("DELETE FROM extractors WHERE key = ?", (other,))
        previous.forget(catalogue)
    return others

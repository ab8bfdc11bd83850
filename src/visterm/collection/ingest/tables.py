"""What has changed in tables of locations and captions since they were last read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from visterm.collection.ingest.survey import (
    KnownFile,
    OnSkip,
    Survey,
    compare,
    is_settled,
    known_files,
    skipped_files,
)
from visterm.collection.sources.folders import look_at
from visterm.collection.sources.opening import join
from visterm.collection.sources.tables import resolved, table_rows
from visterm.collection.store.urls import is_url, is_within
from visterm.errors import BadInput
from visterm.pictures.formats import Refused

_AT_ONCE = 1024
_NO_SIZE = -1
"""The size of what a table lists and is not there; its stamp is the table's number."""


def survey_tables(plan: Survey, tables: Sequence[str], extractor: str, on_skip: OnSkip) -> None:
    """Compare what tables list with the catalogue; a location may stand in several of them."""
    for table in tables:
        try:
            stamp = _stamp(plan, table)
            with _whole(plan):
                _gather(plan, table, on_skip)
        except Refused as reason:
            on_skip(table, str(reason))
            continue
        except BadInput as reason:
            if not _was_read(plan, table):
                _forget(plan, table)
                raise
            on_skip(table, str(reason))  # what it listed before is kept
            continue
        plan.tables.append(table)
        plan.catalogue.db.execute(
            "INSERT OR REPLACE INTO temp.stamped VALUES (?, ?)", (table, stamp)
        )
    for folder, rows in _by_folder(plan):
        plan.heard(folder, len(rows))
        known = known_files(plan, folder, extractor)
        bad = skipped_files(plan, folder)
        for name, file in look_at(plan.root, folder, list(rows)).items():
            caption, table = rows[name]
            if not isinstance(file, Refused):
                listed = replace(file, caption=caption, listed=table)
                compare(plan, folder, listed, known.get(name), bad.get(name))
                continue
            if bad.get(name) != (_NO_SIZE, _number(table)):
                on_skip(join(folder, name), str(file))
            if not file.passing:
                _miss(plan, folder, name, (table, str(file)), known.get(name))
    _mark_unlisted(plan)


@contextmanager
def _whole(plan: Survey) -> Iterator[None]:
    """Take back what was gathered where a table breaks half-way."""
    db = plan.catalogue.db
    db.execute("SAVEPOINT gathering")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK TO gathering")
        raise
    finally:
        db.execute("RELEASE gathering")


def _was_read(plan: Survey, table: str) -> bool:
    """Whether a table was one when it was read before."""
    question = """SELECT 1 FROM sources WHERE location = ? AND stamp != -1
        UNION ALL SELECT 1 FROM places WHERE listed = ? LIMIT 1"""
    return plan.catalogue.one(question, table, table) is not None


def _forget(plan: Survey, table: str) -> None:
    """Do not follow what is refused: the next ``add`` would be refused for it, too."""
    with plan.catalogue.transaction() as db:
        db.execute("DELETE FROM sources WHERE location = ?", (table,))


def _mark_unlisted(plan: Survey) -> None:
    """What tables list no more is gone, unless it lies in a source that is followed itself."""
    db = plan.catalogue.db
    followed = [path for (path,) in db.execute("SELECT folder FROM folders")]
    followed += [path for path in plan.named if path not in plan.tables]
    unlisted = "(folder, name) NOT IN (SELECT folder, name FROM temp.table_rows)"
    for table in plan.tables:
        for place, folder in db.execute(
            f"SELECT id, folder FROM places WHERE listed = ? AND NOT vanished AND {unlisted}",
            (table,),
        ).fetchall():
            stays = any(is_within(folder, scope) for scope in followed)
            where = "temp.unlisted" if stays else "temp.gone"
            db.execute(f"INSERT OR IGNORE INTO {where} VALUES (?)", (place,))
        db.execute(
            f"""INSERT INTO temp.unskipped SELECT folder, name FROM skipped
                WHERE size = {_NO_SIZE} AND mtime_ns = ? AND {unlisted}""",
            (_number(table),),
        )


def _number(table: str) -> int:
    return int.from_bytes(hashlib.sha256(table.encode()).digest()[:7], "big")


def _stamp(plan: Survey, table: str) -> int:
    folder, _, name = table.rpartition("/")
    about = look_at(plan.root, folder, [name])[name]
    if isinstance(about, Refused):
        raise about
    return about.mtime_ns if is_url(table) or is_settled(about.mtime_ns) else -1


def _gather(plan: Survey, table: str, on_skip: OnSkip) -> None:
    """The rows of a table, each location once with the words of all its rows."""
    for named, caption in table_rows(plan.root, table):
        try:
            path = resolved(plan.root, table, named)
        except Refused as reason:
            on_skip(f"{named!r} of {table}", str(reason))
            continue
        if any(is_within(path, removed) for removed in plan.excluded):
            continue
        folder, _, name = path.rpartition("/")
        plan.catalogue.db.execute(
            """INSERT INTO temp.table_rows VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                listed = excluded.listed, caption = CASE
                    WHEN caption = '' THEN excluded.caption
                    WHEN excluded.caption IN ('', caption) THEN caption
                    ELSE caption || char(10) || excluded.caption END""",
            (folder, name, caption, table),
        )


def _by_folder(plan: Survey) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    """The rows of all tables by folder, not too many at once: caption and table by name."""
    last = ("", "")
    question = """SELECT folder, name, caption, listed FROM temp.table_rows
        WHERE (folder, name) > (?, ?) ORDER BY folder, name LIMIT ?"""
    while rows := plan.catalogue.db.execute(question, (*last, _AT_ONCE)).fetchall():
        for folder, members in groupby(rows, itemgetter(0)):
            yield folder, {name: (caption, table) for _, name, caption, table in members}
        last = rows[-1][:2]


def _miss(
    plan: Survey, folder: str, name: str, why: tuple[str, str], old: KnownFile | None
) -> None:
    """Note what is not there, with the table that lists it and the reason."""
    db, (table, reason) = plan.catalogue.db, why
    facts = (folder, name, _NO_SIZE, _number(table), reason)
    db.execute("INSERT INTO temp.missing VALUES (?, ?, ?, ?, ?)", facts)
    if old is not None and not old.vanished:
        db.execute("INSERT OR IGNORE INTO temp.gone VALUES (?)", (old.place,))

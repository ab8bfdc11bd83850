"""What people gave, captions, feedback and fields, as JSON lines that can be read back.

A picture is named by the hash of its content and by its files, so that captions find it again in
another folder, or under another name. Clicks stand in the order in which they were given.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visterm.collection.feedback.changes import GivenCaption, GivenClick, GivenFields
from visterm.collection.media import captions, fields
from visterm.collection.media.records import records
from visterm.collection.store import events
from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput

_HEAD = {"visterm": "backup", "version": 1}


@dataclass
class Restored:
    """What was read back, and which pictures are not in this collection."""

    captions: int = 0
    judgements: int = 0
    fields: int = 0
    unknown: list[str] = field(default_factory=list)


def backup_lines(catalogue: Catalogue) -> Iterator[str]:
    """The captions and fields that were given, and every yes and no, one JSON object a line."""
    yield json.dumps(_HEAD)
    marks = ",".join("?" * len(captions.GIVEN))
    given = catalogue.db.execute(
        f"""SELECT picture, source, text FROM captions WHERE source IN ({marks})
            ORDER BY picture, source""",
        captions.GIVEN,
    ).fetchall()
    clicks = events.entries(catalogue)
    described = [one for (one,) in catalogue.db.execute("SELECT DISTINCT picture FROM fields")]
    named_pictures = [*(row[0] for row in given), *(click.picture for click in clicks), *described]
    known = records(catalogue, named_pictures)
    hashes = dict(catalogue.db.execute("SELECT id, lower(hex(hash)) FROM pictures"))

    def named(picture: int) -> dict[str, Any]:
        record = known.get(picture)
        return {
            "hash": hashes.get(picture),
            "paths": [file.path for file in record.files] if record else [],
        }

    for picture, source, text in given:
        yield _line(**named(picture), source=source, caption=text)
    for picture in described:
        yield _line(**named(picture), fields=fields.of_picture(catalogue, picture))
    for click in clicks:
        yield _line(
            **named(click.picture),
            query=click.query,
            relevant=click.relevant,
            time=click.time,
            step=click.weight,
        )


def read_backup(
    catalogue: Catalogue, root: Path, file: Path
) -> tuple[Restored, list[GivenCaption], list[GivenClick], list[GivenFields]]:
    """What `backup_lines` wrote, of the pictures that are here."""
    report, given, clicks = Restored(), list[GivenCaption](), list[GivenClick]()
    described: list[GivenFields] = []
    for number, line in enumerate(_read(file), 2):
        picture = _found(catalogue, root, line)
        try:
            if picture is None:
                missing = next(iter(line.get("paths", ())), line.get("hash") or "?")
                report.unknown.append(str(missing))
            elif "caption" in line:
                given.append((picture, str(line["source"]), str(line["caption"])))
            elif "fields" in line:
                described.append((picture, _fields(line["fields"])))
            else:
                clicks.append(_click(picture, line))
        except (KeyError, TypeError, ValueError) as error:
            reason = f"neither a caption nor a judgement that can be read ({error})"
            raise BadInput(f"{file}, line {number}: {reason}") from None
    report.captions, report.judgements = len(given), len(clicks)
    report.fields = len(described)
    return report, given, clicks, described


def _fields(said: Any) -> fields.Fields:
    said = dict(said)
    others = {name: value for name, value in said.items() if name != fields.ID}
    fields.check(others, said.get(fields.ID))
    return said


def _click(picture: int, said: dict[str, Any]) -> GivenClick:
    query = events.words_of(str(said["query"]))  # what cannot be read would stop every search
    when, step = float(said["time"]), float(said["step"])
    if not (math.isfinite(when) and math.isfinite(step)):
        raise ValueError(f"{when} or {step} is no number")
    return query, picture, bool(said["relevant"]), when, step


def _line(**said: Any) -> str:
    return json.dumps(said, ensure_ascii=False)


def _read(file: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = file.read_text("utf-8").splitlines()
        head = json.loads(lines[0]) if lines else {}
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{file} cannot be read as a backup ({error})") from None
    if not isinstance(head, dict) or head.get("visterm") != "backup":
        raise BadInput(f"{file} is no backup; visterm export --as backup writes one")
    if head.get("version", 1) != _HEAD["version"]:
        raise BadInput(f"{file} is a backup of a newer visterm; install that one to read it")
    for number, line in enumerate(lines[1:], 2):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise BadInput(f"{file}, line {number}: it is not JSON") from None
        if not isinstance(entry, dict):
            raise BadInput(f"{file}, line {number}: it is no object")
        yield entry


def _found(catalogue: Catalogue, root: Path, said: dict[str, Any]) -> int | None:
    """The picture of a line: by its content, or else by its place."""
    try:
        digest = bytes.fromhex(said.get("hash") or "")
    except (TypeError, ValueError):
        digest = b""
    number = catalogue.one("SELECT id FROM pictures WHERE hash = ?", digest)
    if number is not None:
        return int(number)
    for path in said.get("paths", ()):
        picture = captions.at_path(catalogue, root, root / str(path))
        if picture is not None:
            return picture
    return None

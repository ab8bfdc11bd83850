"""Counts and sizes of everything in a collection."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visterm.collection.ingest.extractors import current_key
from visterm.collection.ingest.scopes import scopes, unchanged
from visterm.collection.store import events
from visterm.collection.store.caption_words import NAMES, OCR, TEXT, counting
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import described
from visterm.collection.store.versions import current
from visterm.errors import VistermError


@dataclass(frozen=True)
class Status:
    """Counts and sizes; ``model`` and ``index`` are None before anything was learnt."""

    folder: str
    store: str
    pictures: int
    files: int
    vanished: int
    skipped: int
    captioned: int
    sources: dict[str, int]
    names: str
    """Whose names count as words: none, files, folders or both."""
    judgements: int
    features: str | None
    described: int
    model: dict[str, Any] | None
    index: dict[str, Any] | None
    bytes: dict[str, int]
    followed: list[str]
    """The folders, prefixes, shards and tables that ``add`` looks at; "" is the folder itself."""
    up_to_date: bool
    """Whether the folders look as they did when they were last listed."""
    set_aside: list[str]
    """Changes that waited, and then could not be done, each with the reason."""


def status(catalogue: Catalogue, root: Path) -> Status:
    """Count."""
    with catalogue.snapshot() as db:
        extractor = current_key(catalogue)
        sources = db.execute(
            """SELECT source, count(*) FROM captions JOIN pictures ON pictures.id = picture
                WHERE present > 0 GROUP BY source ORDER BY source"""
        ).fetchall()
        if TEXT in counting(db):
            question = "SELECT count(*) FROM pictures WHERE present > 0 AND ocr != ''"
            sources.append((OCR, catalogue.one(question)))
        return Status(
            folder=str(root),
            store=str(catalogue.store),
            pictures=catalogue.one("SELECT count(*) FROM pictures WHERE present > 0"),
            files=catalogue.one("SELECT count(*) FROM places WHERE NOT vanished"),
            vanished=catalogue.one(
                """SELECT count(*) FROM pictures WHERE present = 0 AND video IS NULL
                    AND id NOT IN (SELECT picture FROM places WHERE vanished < 0)"""
            ),
            skipped=catalogue.one("SELECT count(*) FROM skipped"),
            captioned=catalogue.one(
                """SELECT count(DISTINCT picture) FROM captions JOIN pictures ON id = picture
                    WHERE present > 0"""
            ),
            sources=dict(sources),
            names=catalogue.get(NAMES) or "none",
            judgements=catalogue.one("SELECT count(*) FROM clicks"),
            features=extractor,
            described=catalogue.one("SELECT count(*) FROM rows WHERE extractor = ?", extractor),
            **_learnt(catalogue),
            bytes={
                part: _size(catalogue.store / part)
                for part in ("catalogue.sqlite", "features", "models")
            },
            followed=scopes(catalogue),
            up_to_date=unchanged(catalogue, root),
            set_aside=events.reports(catalogue),
        )


def _learnt(catalogue: Catalogue) -> dict[str, dict[str, Any] | None]:
    version = current(catalogue)
    if version is None:
        return {"model": None, "index": None}
    model = {
        "name": version.model,
        "version": version.id,
        "features": version.extractor,
        "words": version.words + len(version.new_words),
        "learnt_from": version.captioned,
        "avgp": version.avgp,
        "time": version.time,
    }
    try:
        pictures = described(catalogue, version.extractor)
        index: dict[str, Any] = {"pictures": 0 if pictures is None else len(pictures)}
    except (VistermError, OSError) as error:
        index = {"problem": str(error)}
    return {"model": model, "index": index}


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())

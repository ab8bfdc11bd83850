"""The output of visterm describe: descriptions printed, or written into XMP sidecars."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.cli.messages import say, shown, skipping
from visterm.errors import MissingExtra, VistermError

if TYPE_CHECKING:
    from visterm.collection import Collection, Description, Url
    from visterm.pictures.metadata import SidecarChange


@dataclass
class Described:
    """A description, and what became of the sidecar it was meant for."""

    about: Description
    change: SidecarChange | None = None
    written: bool = False
    problem: str | None = None


def opened_for(pictures: list[Path | Url], folder: Path, store: Path | None) -> Collection:
    """The collection that was named, or that of this folder, or that of the first picture."""
    from visterm.collection import Collection, locate

    if store is None and folder == Path(".") and not locate(folder).exists:
        beside = Path(pictures[0]).parent
        if beside.is_dir() and locate(beside).exists:
            folder = beside
    return Collection.open(folder, store=store, create=False)


def tagged_phrases(wanted: int) -> int:
    """As many phrases as wanted; none, and a line about it, where the tagger is missing."""
    from visterm.text.phrases import tagger

    if wanted:
        try:
            tagger()
        except MissingExtra as missing:
            say(str(missing))
            return 0
    return wanted


def written(about: Description, least: float, *, with_captions: bool, dry_run: bool) -> Described:
    """The sidecar written, or planned on a dry run; a broken one costs only itself."""
    if about.reason is not None:
        return Described(about)
    from visterm.pictures.metadata import sidecar_change

    likely = [
        one.word for one in about.words if one.probability is not None and one.probability >= least
    ]
    nearest: list[str] = []
    if with_captions:  # they may name people and places that are not in this picture
        likely += [one.text for one in about.phrases if one.share >= least]
        nearest = [one.text for one in about.captions]
    try:
        change = sidecar_change(about.path, likely, nearest)
        if change is not None and change.changes and not dry_run:
            change.write()
            return Described(about, change, written=True)
    except VistermError as problem:
        return Described(about, problem=str(problem))
    return Described(about, change)


def as_object(described: Iterable[Described]) -> dict[str, Any]:
    found: dict[str, Any] = {"pictures": [], "skipped": []}
    for one in described:
        about = one.about
        if about.reason is not None:
            found["skipped"].append({"path": str(about.path), "reason": about.reason})
            continue
        entry: dict[str, Any] = {
            "path": str(about.path),
            "words": [
                {
                    "word": word.word,
                    "score": _round(word.score),
                    "probability": _round(word.probability),
                }
                for word in about.words
            ],
            "phrases": [
                {"phrase": phrase.text, "kind": phrase.kind, "share": _round(phrase.share)}
                for phrase in about.phrases
            ],
            "captions": [
                {"text": near.text, "score": _round(near.score), "path": str(near.path)}
                for near in about.captions
            ],
            "own": about.own,
        }
        if one.change is not None:
            entry["sidecar"] = {
                "path": one.change.path,
                "written": one.written,
                "diff": one.change.diff(),
            }
        elif one.problem is not None:
            entry["sidecar"] = {"path": None, "written": False, "problem": one.problem}
        found["pictures"].append(entry)
    return found


def print_descriptions(described: Iterable[Described]) -> None:
    for one in described:
        about = one.about
        if about.reason is not None:
            continue
        print(shown(about.path))
        for source, text in about.own.items():
            print(f"  own       {text.replace(chr(10), ' · ')}  ({source})")
        if about.words:
            words = (
                f"{word.word} {word.probability:.2f}"
                if word.probability is not None
                else f"{word.word} ({word.score:.3f})"
                for word in about.words
            )
            print(f"  words     {' · '.join(words)}")
        if about.phrases:
            phrases = (f"{phrase.text} {phrase.share:.2f}" for phrase in about.phrases)
            print(f"  phrases   {' · '.join(phrases)}")
        for near in about.captions:
            print(f"  like      {near.score:.2f}  {near.text}  ({shown(near.path)})")
        if one.written and one.change is not None:
            print(f"  written   {shown(Path(one.change.path))}")
        elif one.change is not None and one.change.changes:
            print(one.change.diff(), end="")


def report_problems(described: Iterable[Described]) -> None:
    for one in described:
        if one.about.reason is not None:
            skipping(str(one.about.path), one.about.reason)
        if one.problem is not None:
            say(one.problem)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)

"""The output of visterm describe: descriptions printed, or written into XMP sidecars."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.cli.messages import say, shown, skipping
from visterm.cli.output import print_json, progress_bar
from visterm.errors import BadInput, MissingExtra, VistermError

if TYPE_CHECKING:
    from visterm.collection import Collection, Description, Url
    from visterm.pictures.metadata import SidecarChange


EVEN = 0.5
"""What is more likely than not is written, unless another probability is named."""


@dataclass
class Asked:
    """What somebody asks for; see the options of ``visterm describe``."""

    pictures: list[Path | Url]
    words: int = 10
    phrases: int = 5
    captions: int = 3
    write_xmp: bool = False
    with_captions: bool = False
    least: float | None = None
    dry_run: bool = False
    collection: Path = Path(".")
    store: Path | None = None
    json: bool = False


@dataclass
class _Described:
    """A description, and what became of the sidecar it was meant for."""

    about: Description
    change: SidecarChange | None = None
    written: bool = False
    problem: str | None = None


def answer(asked: Asked) -> None:
    """Describe, write where that is wanted, and print."""
    _check(asked)
    with _opened(asked) as found:
        phrases = _phrases(asked.phrases)
        with progress_bar(hidden=len(asked.pictures) < 50) as progress:
            said = found.descriptions(
                asked.pictures,
                words=asked.words,
                phrases=phrases,
                captions=asked.captions,
                progress=progress,
            )
            described = [_written(asked, one) for one in said]
    if asked.json:
        print_json(_object(described))
    else:
        _print(described)
    _report_problems(described)
    words = [word for one in described for word in one.about.words]
    if asked.write_xmp and words and all(word.probability is None for word in words):
        say("too few captions to know how likely words are, so no word is written")
    if all(one.about.reason is not None for one in described):
        sys.exit(1)


def _check(asked: Asked) -> None:
    if asked.dry_run and not asked.write_xmp:
        raise BadInput("--dry-run shows what --write-xmp would change; give both")
    if asked.least is not None and not asked.write_xmp:
        raise BadInput("--least says what --write-xmp writes; give both")
    if asked.with_captions and not asked.write_xmp:
        raise BadInput("--with-captions says what --write-xmp writes; give both")
    for path in asked.pictures:
        if isinstance(path, str):
            if asked.write_xmp:
                raise BadInput(f"{path} lies elsewhere, and sidecars are written to files only")
        elif path.is_dir():
            raise BadInput(
                f"{path} is a folder; name pictures, as in visterm describe {path}/*.jpg"
            )


def _opened(asked: Asked) -> Collection:
    """The collection that was named, or that of this folder, or that of the first picture."""
    from visterm.collection import Collection, locate

    folder = asked.collection
    if asked.store is None and folder == Path(".") and not locate(folder).exists:
        beside = Path(asked.pictures[0]).parent
        if beside.is_dir() and locate(beside).exists:
            folder = beside
    return Collection.open(folder, store=asked.store, create=False)


def _phrases(wanted: int) -> int:
    """As many phrases as wanted; none, and a line about it, where the tagger is missing."""
    from visterm.text.phrases import tagger

    if wanted:
        try:
            tagger()
        except MissingExtra as missing:
            say(str(missing))
            return 0
    return wanted


def _written(asked: Asked, about: Description) -> _Described:
    """The sidecar written, or planned on a dry run; a broken one costs only itself."""
    if not asked.write_xmp or about.reason is not None:
        return _Described(about)
    from visterm.pictures.metadata import sidecar_change

    least = EVEN if asked.least is None else asked.least
    likely = [
        one.word for one in about.words if one.probability is not None and one.probability >= least
    ]
    nearest: list[str] = []
    if asked.with_captions:  # they may name people and places that are not in this picture
        likely += [one.text for one in about.phrases if one.share >= least]
        nearest = [one.text for one in about.captions]
    try:
        change = sidecar_change(about.path, likely, nearest)
        if change is not None and change.changes and not asked.dry_run:
            change.write()
            return _Described(about, change, written=True)
    except VistermError as problem:
        return _Described(about, problem=str(problem))
    return _Described(about, change)


def _object(described: Iterable[_Described]) -> dict[str, Any]:
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


def _print(described: Iterable[_Described]) -> None:
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


def _report_problems(described: Iterable[_Described]) -> None:
    for one in described:
        if one.about.reason is not None:
            skipping(str(one.about.path), one.about.reason)
        if one.problem is not None:
            say(one.problem)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)

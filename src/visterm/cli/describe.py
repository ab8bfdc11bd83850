"""visterm describe and explain: what pictures show, and why a search finds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.options import Answer, on_collection
from visterm.cli.output import (
    description_lines,
    percent,
    progress_bar,
    say,
    short_path,
    skipping,
    times,
)
from visterm.errors import BadInput, MissingExtra, VistermError

if TYPE_CHECKING:
    from visterm.collection import Collection, Description, Url
    from visterm.pictures.sidecar_writer import SidecarChange

EVEN = 0.5
"""What is more likely than not is written, unless another probability is named."""


def _beside(folder: Path, store: Path | None, options: Mapping[str, Any]) -> Path:
    """The collection that was named, or that of this folder, or that of the first picture."""
    from visterm.collection import locate

    if store is None and folder == Path(".") and not locate(folder).exists:
        beside = Path(options["pictures"][0]).parent
        if beside.is_dir() and locate(beside).exists:
            return beside
    return folder


@partial(on_collection, where=_beside)
def describe(
    collection: Collection,
    pictures: Annotated[
        list[str], typer.Argument(help="Pictures, in the collection or anywhere else.")
    ],
    words: Annotated[int, typer.Option(min=0, help="How many words at most.")] = 10,
    phrases: Annotated[int, typer.Option(min=0, help="How many phrases at most.")] = 5,
    captions: Annotated[int, typer.Option(min=0, help="How many captions at most.")] = 3,
    write_xmp: Annotated[
        bool, typer.Option("--write-xmp", help="Write likely words into XMP sidecars.")
    ] = False,
    least: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Write words at least so likely; else 0.5."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what --write-xmp would change, as a diff.")
    ] = False,
) -> Answer:
    """Say what pictures show, in words, phrases and captions.

    What a picture is likely to show is what the collection's model predicts. With
    --write-xmp, words that are likely enough go into the picture's sidecar as keywords, marked as
    visterm's; what people wrote there stays as it is, and nothing is ever written into a picture.

    Example: visterm describe holidays/*.jpg --write-xmp --dry-run
    """
    from visterm.collection import as_path

    paths = [as_path(picture) for picture in pictures]
    about_sidecars = {"--dry-run": dry_run, "--least": least is not None}
    for option in [name for name, given in about_sidecars.items() if given and not write_xmp]:
        raise BadInput(f"{option} is about what --write-xmp writes; give both")
    _check_files(paths, write_xmp=write_xmp)
    with progress_bar(hidden=len(paths) < 50) as progress:
        descriptions = [
            *collection.descriptions(
                paths,
                words=words,
                phrases=_taggable(phrases),
                captions=captions,
                progress=progress,
            )
        ]
    for about in descriptions:
        if about.reason is not None:
            skipping(str(about.path), about.reason)
    shown = [Described(about) for about in descriptions if about.reason is None]
    for described in shown if write_xmp else ():
        likely = EVEN if least is None else least
        described.plan_sidecar(likely, write=not dry_run)
        if described.problem is not None:
            say(described.problem)
    predicted = [word for described in shown for word in described.about.words]
    if write_xmp and predicted and all(word.probability is None for word in predicted):
        say("too few captions to know how likely words are, so no word is written")
    answer = {
        "pictures": [described.answer() for described in shown],
        "skipped": [
            {"path": about.path, "reason": about.reason}
            for about in descriptions
            if about.reason is not None
        ],
    }
    return answer, (line for each in shown for line in each.lines()), 0 if shown else 1


@dataclass
class Described:
    """A description, and what became of the sidecar it was meant for."""

    about: Description
    change: SidecarChange | None = None
    is_written: bool = False
    problem: str | None = None

    def plan_sidecar(self, least: float, *, write: bool) -> None:
        """Write the sidecar, or only plan it; a broken one is skipped alone."""
        from visterm.pictures.sidecar_writer import sidecar_change

        about = self.about
        keywords = [
            word.word
            for word in about.words
            if word.probability is not None and word.probability >= least
        ]
        try:
            self.change = sidecar_change(about.path, keywords)
            if write and self.change is not None and self.change.changes:
                self.change.write()
                self.is_written = True
        except VistermError as problem:
            self.change, self.problem = None, str(problem)

    def answer(self) -> dict[str, Any]:
        """What ``--json`` prints of it."""
        answer = dict(vars(self.about))
        if self.change is not None:
            diff = self.change.diff()
            answer["sidecar"] = {
                "path": self.change.path, "written": self.is_written, "diff": diff
            }  # fmt: skip
        elif self.problem is not None:
            answer["sidecar"] = {"path": None, "written": False, "problem": self.problem}
        return answer

    def lines(self) -> Iterator[str]:
        """What a person reads of it."""
        yield from description_lines(self.about)
        if self.change is not None and self.is_written:
            yield f"  written   {short_path(Path(self.change.path))}"
        elif self.change is not None and self.change.changes:
            yield self.change.diff().removesuffix("\n")


def _taggable(phrases: int) -> int:
    """As many phrases as wanted; none, and a line about it, where the tagger is missing."""
    from visterm.text.phrases import tagger

    try:
        if phrases:
            tagger()
    except MissingExtra as missing:
        say(str(missing))
        return 0
    return phrases


def _check_files(pictures: list[Path | Url], *, write_xmp: bool) -> None:
    for path in pictures:
        if isinstance(path, str):
            if write_xmp:
                raise BadInput(f"{path} lies elsewhere, and sidecars are written to files only")
        elif path.is_dir():
            raise BadInput(
                f"{path} is a folder; name pictures, as in visterm describe {path}/*.jpg"
            )


@on_collection
def explain(
    collection: Collection,
    picture: Annotated[str, typer.Argument(help="A picture of the collection.")],
    query: Annotated[list[str], typer.Argument(help="The words of a search.")],
) -> Answer:
    """Say why a picture is found by a search, or is not.

    First how likely the picture answers; then who says the words of the search, how much captions
    and names change, and how much likelier than in other pictures each word is by what is to be
    seen, where the model can tell.

    Example: visterm explain holidays/boat.jpg "boat sea"
    """
    from visterm.collection import as_path

    path, text = as_path(picture), " ".join(query)
    explained = collection.explain(path, text)
    evidence, totals = explained.evidence, {w: float(r.sum()) for w, r in explained.words.items()}
    likely = "" if explained.probability is None else percent(explained.probability)
    lines = [f"{likely:>6}  {short_path(path)}"]
    if evidence is not None:
        lines += [f"  {evidence.says()}"] if evidence.says() else []
        written = {"captions": evidence.caption, "names": evidence.name}
        lines += [f"  {who}: {times(n, 'without them')}" for who, n in written.items() if n]
    lines += [f"  {word}: {times(n, 'in other pictures')}" for word, n in totals.items()]
    answer = {
        "picture": picture, "query": text, "score": explained.score,
        "probability": explained.probability, "rest": explained.rest, "evidence": evidence,
        "words": totals,
    }  # fmt: skip
    return answer, lines

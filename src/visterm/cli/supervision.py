"""visterm caption, feedback, teach and undo, export and import: what people say about pictures."""

from __future__ import annotations

import contextlib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.cli.options import Answer, ListFile, chosen, on_collection, unknown_rows
from visterm.cli.output import AVGP, SOURCES, asked, counted, percent, say, short_path
from visterm.errors import BadInput
from visterm.files import write_whole

if TYPE_CHECKING:
    from visterm.collection import Collection, RoundReport


@on_collection
def caption(
    collection: Collection,
    picture: Annotated[str | None, typer.Argument(help="The picture to speak of.")] = None,
    words: Annotated[
        list[str] | None, typer.Argument(help='What is to be seen in it; "" takes it back.')
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--from", help="A CSV, TSV or JSON-lines table of paths and texts."),
    ] = None,
    listed: ListFile = None,
    more: Annotated[
        bool, typer.Option("--more", help="With --list: add the words to what is there.")
    ] = False,
) -> Answer:
    """Caption pictures by hand or from a table.

    What you say about a picture wins over words found in its file or in a table. Without words its
    captions are shown, with where they come from. visterm undo takes the last caption back.

    Example: visterm caption holidays/boat.jpg "red boat in the harbour"
    """
    from visterm.collection import as_path

    if listed is not None:
        text = " ".join([picture or "", *(words or [])]).strip()
        count = collection.caption_many(chosen(collection, [], listed), text, more=more)
        line = f"{counted(count, 'picture')} captioned; visterm undo takes this back"
        return {"pictures": count}, line
    if (picture is None) == (table is None):
        raise BadInput("name a picture and its words, or a table with --from")
    if table is not None:
        report = collection.caption_from(table)
        if report.unknown:
            say(unknown_rows("row", report.unknown))
        if report.unread:
            say(f"columns that are not read: {', '.join(report.unread)}")
        line = f"{counted(report.pictures, 'picture')} captioned; visterm train learns from them"
        fields = ("pictures", "unknown", "unread")
        return {name: getattr(report, name) for name in fields}, line
    path = as_path(picture or "")
    before = collection.captions(path)
    if words:
        collection.caption(path, " ".join(words))
        now = collection.captions(path)
        lines = [*_caption_lines("before", before), *_caption_lines("now", now)]
        answer = {"picture": path, "before": before, "captions": now}
        return answer, [*lines, "visterm undo takes this back"]
    return {"picture": path, "captions": before}, _caption_lines("", before)


def _caption_lines(when: str, captions: dict[str, str]) -> list[str]:
    """Captions with where they come from."""
    start = f"{when + ':':<8}" if when else ""
    lines = [f"{start}{_one_line(text)}  ({SOURCES.get(s, s)})" for s, text in captions.items()]
    return lines or [f"{start}no caption"]


def _one_line(text: str) -> str:
    return text.replace("\n", " · ")


class Verb(StrEnum):
    """What may be done with feedback."""

    LIST = "list"
    YES = "yes"
    NO = "no"
    UNDO = "undo"
    RESET = "reset"


@on_collection
def feedback(
    collection: Collection,
    what: Annotated[
        Verb, typer.Argument(help="yes or no QUERY PICTURE…; undo, of the last or [NUMBER]; reset.")
    ] = Verb.LIST,
    rest: Annotated[
        list[str] | None, typer.Argument(help="QUERY and PICTURES, or the NUMBER to undo.")
    ] = None,
    listed: ListFile = None,
) -> Answer:
    """Say yes or no to what a search found, and it learns.

    What was said is listed, taken back one by one or all at once, and learnt again after every
    training. visterm undo takes the last step back, a whole list as one.

    Example: visterm feedback no "snow tree" holidays/beach.jpg
    """
    from visterm.collection import as_path

    given = rest or []
    if what in (Verb.YES, Verb.NO):
        if len(given) < (1 if listed else 2):
            raise BadInput(f'name a query and a picture: visterm feedback {what} "snow" a.jpg')
        if listed is not None:
            query, numbers = " ".join(given), chosen(collection, [], listed)
        else:
            query, numbers = given[0], [collection.number(as_path(one)) for one in given[1:]]
        count = collection.judge_many(query, dict.fromkeys(numbers, what is Verb.YES))
        _say_what_was_meant(collection, query)
        line = f"{counted(count, 'answer')} given; visterm undo takes this back"
        return {what.value: count}, line
    if listed is not None:
        raise BadInput("a list takes yes or no and a query")
    if what is Verb.UNDO:
        judgements = [collection.undo(_number(given))]
    elif given:
        raise BadInput(f"{what} takes nothing more, and not {given[0]!r}")
    else:
        judgements = collection.judgements()
        if what is Verb.RESET:
            collection.forget_judgements()
    records = collection.records([judgement.picture for judgement in judgements])
    shown, lines = [], []
    for judgement in judgements:
        record = records.get(judgement.picture)
        path = record and record.files[0].at(collection.root)
        shown.append({**vars(judgement), "path": path and str(path)})
        answer, where = "yes" if judgement.relevant else "no", path and short_path(path)
        lines.append(f"{judgement.id:>6}  {answer:<3}  {judgement.query:<24}  {where or 'gone'}")
    if what in (Verb.UNDO, Verb.RESET):
        lines.append(f"{counted(len(shown), 'answer')} taken back")
    return {what.value: shown}, lines or ["no answers yet"]


def _say_what_was_meant(collection: Collection, query: str) -> None:
    """Where other words than the query's were taught, say so: "Rosa" may have been read as pink."""
    with contextlib.suppress(BadInput):
        response = collection.search(query, 1)
        for word, known in response.replaced.items():
            say(f"{word!r} is read as {', '.join(known)}, so the answer teaches that")
        if response.unknown:
            left = ", ".join(map(repr, response.unknown))
            say(f"left out, as not known yet: {left}; to start a new word, answer to it alone")


def _number(given: list[str]) -> int | None:
    if not given:
        return None
    if len(given) > 1 or not given[0].isascii() or not given[0].isdigit():
        raise BadInput("undo takes one number, as visterm feedback lists them, or none")
    return int(given[0])


@on_collection
def undo(collection: Collection) -> Answer:
    """Take back the last caption, click, list, table or removal.

    Called again it takes back the one before.

    Example: visterm caption a.jpg a boat; visterm undo
    """
    undone = collection.undo_last()
    return undone, f"took back the {undone.what} of {counted(undone.pictures, 'picture')}"


@on_collection
def teach(
    collection: Collection,
    query: Annotated[list[str], typer.Argument(help="A word, or a query of words.")],
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of ten questions, at most.")] = 10,
    ask: Annotated[
        bool, typer.Option("--ask", help="Only print the pictures of the next round.")
    ] = False,
) -> Answer:
    """Say yes or no to the pictures from which most is learnt.

    Ten questions a round: likely and uncertain pictures, different from each other. After each
    round it says what the answers brought, and when more would bring little. Answers are y, n, s to
    skip and q to end; they are read from stdin, so a program can give them.

    Example: visterm teach lighthouse
    """
    text = " ".join(query)
    if ask:
        shown = [*_paths(collection, text).values()]
        return {"query": text, "pictures": shown}, shown
    reports = []
    for number in range(1, rounds + 1):
        paths = _paths(collection, text)
        answers = asked({picture: f"{path}  {text}?" for picture, path in paths.items()})
        if not answers:
            break
        report = collection.teach(text, answers)
        reports.append({"round": number, **vars(report)})
        say(_line(number, report))
        if report.enough:
            say("more answers would bring little; visterm search shows what was learnt")
            break
    return {"query": text, "rounds": reports}, ()


def _paths(collection: Collection, text: str) -> dict[int, str]:
    """The pictures of the next round, by number."""
    records = collection.records(pictures := collection.questions(text))
    there = [number for number in pictures if number in records]
    return {n: short_path(records[n].files[0].at(collection.root)) for n in there}


def _line(number: int, report: RoundReport) -> str:
    line = f"round {number}: {percent(report.foreseen)} of your answers were expected"
    if report.before is not None and report.after is not None:
        change = 100 * (report.after - report.before)
        line += f"; {AVGP} {100 * report.after:.1f} % ({change:+.1f})"
    return line


class Kind(StrEnum):
    """What is made of the pictures."""

    LIST = "list"
    CSV = "csv"
    JSON = "json"
    LINKS = "links"
    COPIES = "copies"
    XMP = "xmp"
    BACKUP = "backup"


@on_collection
def export(
    collection: Collection,
    query: Annotated[
        list[str] | None, typer.Argument(help="The good matches of these words and filters.")
    ] = None,
    listed: ListFile = None,
    kind: Annotated[
        Kind,
        typer.Option(
            "--as",
            help="A list, CSV or JSON; a folder of links or copies; XMP sidecars with keywords and "
            "descriptions; or a backup of all captions and feedback.",
        ),
    ] = Kind.LIST,
    to: Annotated[Path | None, typer.Option(help="A file or folder; else stdout.")] = None,
) -> Answer | None:
    """Take pictures or captions out of a collection.

    Files are never moved.

    Example: visterm export "beach 2019" --as copies --to /media/stick/beach
    """
    if kind is Kind.BACKUP:
        _write(to, "".join(f"{line}\n" for line in collection.backup()))
        return None
    pictures = chosen(collection, query or [], listed)
    if kind in (Kind.LIST, Kind.CSV, Kind.JSON):
        _write(to, collection.export_text(pictures, kind.value))
        return None
    if kind is Kind.XMP:
        count = collection.export_keywords(pictures, to)
        where = f"below {to}" if to else "beside the pictures"
        line = f"{counted(count, 'sidecar')} written {where}"
        if not count:
            line = "no sidecar written: the pictures have no captions, or their sidecars hold them"
    elif to is None:
        raise BadInput(f"name the folder of the {kind.value}: --to FOLDER")
    else:
        count = collection.export_folder(pictures, to, copies=kind is Kind.COPIES)
        noun = ("copy", "copies") if kind is Kind.COPIES else ("link", "links")
        line = f"{counted(count, *noun)} in {to}"
    return {"pictures": len(pictures), "written": count}, line


@on_collection
def import_(
    collection: Collection,
    file: Annotated[Path, typer.Argument(help="What visterm export --as backup wrote.")],
) -> Answer:
    """Bring captions and feedback back from a backup.

    Pictures are found by their content, wherever they lie now, or else by their paths.

    Example: visterm import captions.jsonl
    """
    report = collection.restore(file)
    if report.unknown:
        say(unknown_rows("line", report.unknown))
    captions, answers = counted(report.captions, "caption"), counted(report.judgements, "answer")
    return report, f"{captions} and {answers} brought back"


def _write(to: Path | None, text: str) -> None:
    if to is None:
        print(text, end="")
    else:
        write_whole(to, text.encode())

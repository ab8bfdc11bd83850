"""visterm feedback: yes and no to what was found, listed and taken back."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.export import ListFile, chosen
from visterm.cli.options import Folder, Json, Store, opened
from visterm.cli.output import show
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Collection, Judgement


class What(StrEnum):
    """What may be done with feedback."""

    LIST = "list"
    YES = "yes"
    NO = "no"
    UNDO = "undo"
    RESET = "reset"


def feedback(
    what: Annotated[
        What, typer.Argument(help="yes or no QUERY PICTURE…; undo, of the last or [NUMBER]; reset.")
    ] = What.LIST,
    rest: Annotated[
        list[str] | None, typer.Argument(help="QUERY and PICTURES, or the NUMBER to undo.")
    ] = None,
    listed: ListFile = None,
    step: Annotated[
        bool, typer.Option("--step", help="With undo: take back all of the last list at once.")
    ] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Say yes or no to what a search found, and it learns.

    Example: visterm feedback no "snow tree" holidays/beach.jpg. What was said is listed, taken back
    one by one or all at once, and learnt again after every training.
    """
    from visterm.collection import as_path

    given = rest or []
    with opened(collection, store) as found:
        if step or listed is not None:
            _many(found, what, given, listed, json=json)
            return
        if what in (What.YES, What.NO):
            if len(given) < 2:
                raise BadInput(f'name a query and a picture: visterm feedback {what} "snow" a.jpg')
            query, *pictures = given
            said = [found.judge(query, as_path(one), what is What.YES) for one in pictures]
        elif what is What.UNDO:
            said = [found.undo(_number(given))]
        elif given:
            raise BadInput(f"{what} takes nothing more, and not {given[0]!r}")
        else:
            said = found.judgements()
            if what is What.RESET:
                found.forget_judgements()
        shown = [_object(found, one) for one in said]
    lines = []
    for one in shown:
        answer = "yes" if one["relevant"] else "no"
        lines.append(f"{one['id']:>6}  {answer:<3}  {one['query']:<24}  {one['path']}")
    if what in (What.UNDO, What.RESET):
        lines.append(f"{len(shown):,} taken back")
    show({what.value: shown}, *(lines or ["nothing was said yet"]), json=json)


def _many(
    found: Collection, what: What, given: list[str], listed: Path | None, *, json: bool
) -> None:
    """One answer to all pictures of a list, or the last such step taken back."""
    if what is What.UNDO:
        count = found.undo_step()
    elif what in (What.YES, What.NO) and listed is not None and given:
        answers = dict.fromkeys(chosen(found, [], listed), what is What.YES)
        count = found.judge_many(" ".join(given), answers)
    else:
        raise BadInput("a list takes yes or no and a query; undo takes --step alone")
    line = f"{count:,} answers {'taken back' if what is What.UNDO else 'given'}"
    show({what.value: count}, line, json=json)


def _number(given: list[str]) -> int | None:
    if not given:
        return None
    if len(given) > 1 or not given[0].isascii() or not given[0].isdigit():
        raise BadInput("undo takes one number, as visterm feedback lists them, or none")
    return int(given[0])


def _object(found: Collection, one: Judgement) -> dict[str, Any]:
    record = found.records([one.picture]).get(one.picture)
    return {**asdict(one), "path": record and str(record.files[0].at(found.root))}

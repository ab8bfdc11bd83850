"""visterm teach: answer the questions from which most is learnt about a word."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.messages import say, shown
from visterm.cli.options import Folder, Json, Store, opened
from visterm.cli.output import show

if TYPE_CHECKING:
    from visterm.collection import Collection, RoundReport

_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}


def teach(
    query: Annotated[list[str], typer.Argument(help="A word, or a query of words.")],
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of ten questions, at most.")] = 10,
    ask: Annotated[
        bool, typer.Option("--ask", help="Only print the pictures of the next round.")
    ] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show thumbnails, where the terminal can.")
    ] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Say yes or no to the pictures from which most is learnt.

    Ten questions a round: likely and uncertain pictures, different from each other. After each
    round it says what the answers brought, and when more would bring little. Answers are y, n, s to
    skip and q to end; they are read from stdin, so a program can give them.
    """
    text = " ".join(query)
    reports: list[dict[str, Any]] = []
    with opened(collection, store) as found:
        if ask:
            paths = [str(shown(path)) for path in _paths(found, found.questions(text))]
            show({"query": text, "pictures": paths}, *paths, json=json)
            return
        for number in range(1, rounds + 1):
            answers = _asked(found, text, preview)
            if not answers:
                break
            report = found.teach(text, answers)
            reports.append({"round": number, **vars(report)})
            say(_line(number, report))
            if report.enough:
                say("more answers would bring little; visterm search shows what was learnt")
                break
    show({"query": text, "rounds": reports}, json=json)


def _asked(found: Collection, text: str, preview: bool) -> dict[int, bool]:
    """The answers to one round."""
    draw = None
    if preview:
        from visterm.cli.preview import drawer

        draw = drawer()
    answers: dict[int, bool] = {}
    pictures = found.questions(text)
    for picture, path in zip(pictures, _paths(found, pictures), strict=True):
        if draw is not None:
            draw(found, picture)
        print(f"{shown(path)}  {text}? [y/n/s/q] ", end="", file=sys.stderr, flush=True)
        said = sys.stdin.readline().strip().lower()
        if said in _ANSWERS:
            answers[picture] = _ANSWERS[said]
        elif said != "s":
            break
    return answers


def _paths(found: Collection, pictures: list[int]) -> list[Any]:
    records = found.records(pictures)
    return [records[one].files[0].at(found.root) for one in pictures if one in records]


def _line(number: int, report: RoundReport) -> str:
    said = f"round {number}: {report.foreseen:.0%} of the answers were foreseen"
    if report.before is not None and report.after is not None:
        change = 100 * (report.after - report.before)
        said += f"; AvgP on held-out pictures {100 * report.after:.1f} ({change:+.1f})"
    return said

"""What the site is made of beside the pages: the help of every command, and kept results."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

MARK = "<!-- commands -->"
RESULTS = re.compile(r"<!-- results: (.+?) -->")
MEASURED = re.compile(r"<!-- measured: (\w+) -->")
TYPED = "<!-- typed -->"
TYPED_NOTE = "*Typed from an earlier run; the command prints today's figures.*"
PAPERS = Path(__file__).parents[1] / "papers"
FEW_CAPTIONS = Path(__file__).parent / "results" / "few-captions.json"
SETS = {"flickr8k": "Flickr8k", "corel5k": "Corel", "iaprtc12": "IAPR TC-12"}
STATES = {
    "starter": "starter alone",
    "captioned": "300 captions",
    "captioned_elsewhere": "300 captions, captioned elsewhere",
}
WAYS = {
    "mean_picture": "mean picture",
    "mean_picture_and_text": "mean picture plus text scores",
    "palavra": "mean of both, as PALAVRA",
    "logistic_times_text": "logistic regression × text probability",
    "visterm": "**visterm**",
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the commands' help, and the tables that commands wrote, where a page asks for them."""
    if MARK in markdown:
        markdown = markdown.replace(MARK, _commands())
    markdown = markdown.replace(TYPED, TYPED_NOTE)
    markdown = MEASURED.sub(lambda found: measured(found[1]), markdown)
    return RESULTS.sub(lambda found: result(found[1]), markdown)


def result(command: str) -> str:
    """The table of a command such as ``tpami-9 --as-published``, as it was written by it."""
    known = results()
    if command not in known:
        raise SystemExit(
            f"no results.json in papers/ holds {command!r}: run visterm reproduce {command}"
        )
    found = known[command]
    title, _, table = found["table"].partition("\n\n")
    made = f"seed {found['options'].get('seed', 0)}, {found['date']}, source {found['source']}"
    return f"{title}\n\n{table}\n\n*`visterm reproduce {command}`; {made}.*"


def measured(benchmark: str) -> str:
    """The table of what a benchmark of few captions printed as JSON."""
    found = json.loads(FEW_CAPTIONS.read_text(encoding="utf-8"))[benchmark]
    head, rows = {
        "few_captions": _few_captions,
        "honest_answers": _honest_answers,
        "personal_words": _personal_words,
    }[benchmark](found)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _few_captions(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    head = ["", "captions", "words", "visterm", "starter alone", "visterm, own vectors"]
    rows = []
    for name, title in SETS.items():
        for size, own in found["own_vectors"][name].items():
            started = found.get(name, {}).get(size)
            with_starter = ["–", "–"]
            if started is not None:
                with_starter = [f"**{started['visterm']:.1f}**", f"{started['starter']:.1f}"]
            values = [f"{own[way]:.1f}" for way in ("visterm", "logistic", "mean_difference")]
            rows.append([title, f"{int(size):,}", f"{own['words']:.0f}", *with_starter, *values])
    return [*head, "logistic regression", "mean difference"], rows


def _honest_answers(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    head = ["", "no answer, yet a good match", "good and right", "answered, good or possible"]
    keys = ("no_answer_with_good", "precision_of_good", "answered", "ece")
    rows = []
    for state, title in STATES.items():
        rows.append([f"**{title}**", *(f"{found[state][key]:.1f}" for key in keys)])
        for name in ("corel5k", "flickr8k"):
            figures = found[f"{name}.{state}"]
            rows.append([f"… {SETS[name]}", *(f"{figures[key]:.1f}" for key in keys)])
    return [*head, "calibration error"], rows


def _personal_words(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    asked = [(kind, size) for kind in ("alone", "in_context") for size in found[kind]]
    head = ["", *(f"{kind.replace('_', ' ')}, {size}" for kind, size in asked)]
    rows = [
        [title, *(f"{found[kind][size][way]:.1f}" for kind, size in asked)]
        for way, title in WAYS.items()
    ]
    return head, rows


@cache
def results() -> dict[str, Any]:
    """What commands found, from the results of all papers."""
    found: dict[str, Any] = {}
    for file in sorted(PAPERS.glob("*/results.json")):
        found |= json.loads(file.read_text(encoding="utf-8"))
    return found


def _commands() -> str:
    from typer.testing import CliRunner

    from visterm.cli.app import app

    parts = []
    names = [[_name(one)] for one in app.registered_commands]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        inside = group.typer_instance.registered_commands
        names += [[str(group.typer_instance.info.name), _name(one)] for one in inside]
    for name in names:
        help_text = CliRunner().invoke(app, [*name, "--help"], prog_name="visterm")
        parts.append(f"## visterm {' '.join(name)}\n\n```text\n{help_text.stdout.strip()}\n```")
    return "\n\n".join(parts)


def _name(command: Any) -> str:
    return str(command.name or command.callback.__name__)

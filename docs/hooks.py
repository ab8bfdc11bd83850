"""What the site is made of beside the pages: the help of every command, and kept results."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

MARK = "<!-- commands -->"
RESULTS = re.compile(r"<!-- results: (.+?) -->")
MEASURED = re.compile(r"<!-- measured: (\w+) -->")
FIGURE = re.compile(r"\{\{ *([^|{}]+?) *\| *([^{}]+?) *\}\}")
TYPED = "<!-- typed -->"
PAGES = ("corel", "features", "bbnn", "iaprtc12", "papers", "annotation", "flickr8k", "index")
"""Pages of results whose tables are written by commands."""
TYPED_NOTE = "*Typed from an earlier run; the command prints today's figures.*"
HEADLINES = "<!-- headlines -->"
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
P_VALUES = (
    "*Superscripts are p-values against the best of ours beside it, by drawing the test pictures "
    "again, with Holm's correction; bold is significantly above all others of ours.*"
)
PAPERS = Path(__file__).parents[1] / "papers"
FEW_CAPTIONS = Path(__file__).parent / "results" / "few-captions.json"
REVIEW = FEW_CAPTIONS.with_name("review.json")
PROPOSALS = {
    "": "both kinds",
    "holding_": "captions that hold the word",
    "lacking_": "captions that lack it",
}
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


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Put the commands' help, and the figures that commands wrote, where a page asks for them."""
    if MARK in markdown:
        markdown = markdown.replace(MARK, _commands())
    if page is not None and page.file.src_uri in [f"results/{name}.md" for name in PAGES]:
        check_tables(markdown, page.file.src_uri)
    markdown = markdown.replace(TYPED, TYPED_NOTE)
    markdown = MEASURED.sub(lambda found: measured(found[1]), markdown)
    if HEADLINES in markdown:
        markdown = markdown.replace(HEADLINES, headlines())
    markdown = FIGURE.sub(lambda found: figure(*found.groups()), markdown)
    return RESULTS.sub(lambda found: result(found[1]), markdown)


def check_tables(markdown: str, page: str) -> None:
    """Refuse a page with a table that neither a command wrote nor is said to be typed."""
    parts = re.split(r"\n(?=\|[^\n]*\n\| ?:?-)", markdown)
    for text, after in pairwise(parts):
        if not text.rstrip().endswith(TYPED) and not FIGURE.search(after.partition("\n\n")[0]):
            raise SystemExit(
                f"{page} shows a table that no results.json holds, after {text[-80:]!r}"
            )


def figure(command: str, path: str) -> str:
    """A figure that a command found, such as ``ours.PAMIR.AvgP`` of ``tpami-9``, rounded no further
    than it was; with a ``%`` behind it a fraction in percent."""
    value: Any = kept(command)["found"]
    for name in path.rstrip("% ").split("."):
        value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            raise SystemExit(f"{command} found no {path!r}: run visterm reproduce {command}")
    if not isinstance(value, float):
        return str(value)
    shown = 100 * value if path.endswith("%") else value
    return str(value) if shown == round(value, 2) else f"{shown:.1f}"


def result(command: str) -> str:
    """The table of a command such as ``tpami-9 --as-published``, as it was written by it."""
    found = kept(command)
    title, _, table = found["table"].partition("\n\n")
    seed = f"seed {found['options'].get('seed', 0)}"
    made = f"{seed}, {found['date']}, source {found['source']}"
    notes = "" if "<sup>" not in table else f"\n\n{P_VALUES}"
    return f"{title}\n\n{table}{notes}\n\n*`visterm reproduce {command}`; {made}.*"


def kept(command: str) -> dict[str, Any]:
    """What a command wrote."""
    known = results()
    if command not in known:
        raise SystemExit(
            f"no results.json in papers/ holds {command!r}: run visterm reproduce {command}"
        )
    found: dict[str, Any] = known[command]
    return found


def measured(benchmark: str) -> str:
    """The table of what a benchmark printed as JSON."""
    file = REVIEW if benchmark == "review" else FEW_CAPTIONS
    found = json.loads(file.read_text(encoding="utf-8"))[benchmark]
    head, rows = {
        "few_captions": _few_captions,
        "honest_answers": _honest_answers,
        "personal_words": _personal_words,
        "review": _review,
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


def _review(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    head = [
        "",
        *(f"{SETS[name]}{what}" for name in found for what in (", precision", ", × random")),
    ]
    rows = []
    for kind, title in PROPOSALS.items():
        row = [title]
        for figures in found.values():
            precision, spread = figures[f"{kind}precision_at_50"]
            row.append(f"{100 * precision:.1f} ± {100 * spread:.1f} %")
            row.append(f"{figures[f'{kind}times_random'][0]:.1f}")
        rows.append(row)
    row = ["not called less sure"]
    for figures in found.values():
        row += [f"{100 * figures['likely_precision'][0]:.1f} %", "–"]
    return head, [*rows, row]


@cache
def results() -> dict[str, Any]:
    """What commands found, from the results of all papers."""
    found: dict[str, Any] = {}
    for file in sorted(PAPERS.glob("*/results.json")):
        found |= json.loads(file.read_text(encoding="utf-8"))
    return found


def headlines() -> str:
    """The ratios that ``benchmarks.headlines`` wrote last, each as its docstring describes it."""
    text = ast.get_docstring(ast.parse((BENCHMARKS / "headlines.py").read_text("utf-8"))) or ""
    kept = json.loads((BENCHMARKS / "headlines.json").read_text("utf-8"))["headlines"]
    rows = ["| | | | better |", "| --- | --- | --- | --- |"]
    row = re.compile(r"^(\w+(?:, \w+)*) +(.+?) {2,}(higher|lower)$", re.MULTILINE)
    for names, about, way in row.findall(text):
        values = ", ".join(f"{kept[name]:.3g}" for name in names.split(", "))
        rows.append(f"| `{names}` | {about.replace('``', '`')} | {values} | {way} |")
    return "\n".join(rows)


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

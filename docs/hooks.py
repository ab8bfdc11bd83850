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


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Put the commands' help, and the figures that commands wrote, where a page asks for them."""
    if MARK in markdown:
        markdown = markdown.replace(MARK, _commands())
    if page is not None and page.file.src_uri in [f"results/{name}.md" for name in PAGES]:
        check_tables(markdown, page.file.src_uri)
    markdown = markdown.replace(TYPED, TYPED_NOTE)
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
    made = f"{seed}, {found['seconds']} s, {found['date']}, source {found['source']}"
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

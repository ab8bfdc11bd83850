"""What the site is made of beside the pages: the help of every command, and kept results."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

MARK = "<!-- commands -->"
RESULTS = re.compile(r"<!-- results: (.+?) -->")
TYPED = "<!-- typed -->"
TYPED_NOTE = "*Typed from an earlier run; the command prints today's figures.*"
HEADLINES = "<!-- headlines -->"
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
PAPERS = Path(__file__).parents[1] / "papers"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the commands' help, and the tables that commands wrote, where a page asks for them."""
    if MARK in markdown:
        markdown = markdown.replace(MARK, _commands())
    markdown = markdown.replace(TYPED, TYPED_NOTE)
    if HEADLINES in markdown:
        markdown = markdown.replace(HEADLINES, headlines())
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

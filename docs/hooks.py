"""What the site is made of beside the pages: the help of every command."""

from __future__ import annotations

from typing import Any

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the commands' help where a page asks for it."""
    return markdown.replace(MARK, _commands()) if MARK in markdown else markdown


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

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
    for command in app.registered_commands:
        help_text = CliRunner().invoke(app, [str(command.name), "--help"], prog_name="visterm")
        parts.append(f"## visterm {command.name}\n\n```text\n{help_text.stdout.strip()}\n```")
    return "\n\n".join(parts)

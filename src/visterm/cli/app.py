"""The commands, gathered. Each lives in its own file and imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from visterm import __version__
from visterm.cli.agents import mcp
from visterm.cli.demo import demo
from visterm.cli.describe import describe, explain
from visterm.cli.evaluate import evaluate, reproduce, tune
from visterm.cli.review import review
from visterm.cli.search import parsed_command
from visterm.cli.serve import serve
from visterm.cli.supervision import caption, export, feedback, import_, teach, undo
from visterm.cli.train import encoder, starter, train
from visterm.cli.upkeep import add, check, duplicates, remove, status, upgrade, watch

app = typer.Typer(
    name="visterm",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"visterm {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Find pictures from words, and teach it what your words look like.

    Example: cd ~/Pictures; visterm search "tree snow -people"
    """


for command in (
    *(parsed_command(), add, caption, describe, explain, feedback, undo, train, status, check),
    *(upgrade, remove, serve, mcp, watch, teach, review, duplicates, export, demo),
    *(evaluate, reproduce, tune),
):
    app.command()(command)
app.add_typer(encoder)
app.add_typer(starter)
app.command("import")(import_)

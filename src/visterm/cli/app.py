"""The commands, gathered. Each lives in its own file and imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from visterm import __version__
from visterm.cli import (
    add,
    caption,
    check,
    demo,
    describe,
    evaluate,
    feedback,
    remove,
    reproduce,
    search,
    serve,
    status,
    train,
    tune,
)

app = typer.Typer(
    name="visterm",
    help="Find pictures from words, and teach it what your words look like.",
    no_args_is_help=True,
    add_completion=False,
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
    """Find pictures from words, and teach it what your words look like."""


app.command("search")(search.search)
app.command("add")(add.add)
app.command("caption")(caption.caption)
app.command("describe")(describe.describe)
app.command("feedback")(feedback.feedback)
app.command("train")(train.train)
app.command("status")(status.status)
app.command("check")(check.check)
app.command("remove")(remove.remove)
app.command("serve")(serve.serve)
app.command("demo")(demo.demo)
app.command("evaluate")(evaluate.evaluate)
app.command("reproduce")(reproduce.reproduce)
app.command("tune")(tune.tune)

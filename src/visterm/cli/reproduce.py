"""visterm reproduce: a paper's table beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    table: Annotated[
        str, typer.Argument(help="Which table, such as tpami-9; a wrong name lists all.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="The benchmark's folder; else $VISTERM_DATA, else ../shared/data."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides every random choice.")] = 0,
    layout: Annotated[str, typer.Option(help="text, markdown or latex.")] = "text",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print a paper's table beside our figures.

    A star marks a figure of ours that is significantly above every other model's (Wilcoxon, 95 %).
    """
    from visterm.cli.output import print_json, progress_bar
    from visterm.errors import BadInput
    from visterm.experiments.tables import reproduce as make

    if layout not in ("text", "markdown", "latex"):
        raise BadInput(f"no layout called {layout!r}; there are text, markdown and latex")
    with progress_bar() as progress:
        report = make(table, data, seed=seed, progress=progress)
    if json:
        print_json(report.found)
    else:
        shown = {
            "text": report.table.to_text,
            "markdown": report.table.to_markdown,
            "latex": report.table.to_latex,
        }
        typer.echo(shown[layout]())

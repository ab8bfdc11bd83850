"""Options of the commands that run benchmarks, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Dataset = Annotated[
    str, typer.Argument(help="corel5k, or a table of path<TAB>words lines ending in .tsv.")
]
Data = Annotated[
    Path | None,
    typer.Option(help="The data set's folder; else $VISTERM_DATA names the one above it."),
]
Seed = Annotated[int, typer.Option(help="Decides every random choice.")]
Workers = Annotated[int | None, typer.Option(help="Processes; all cores by default.")]

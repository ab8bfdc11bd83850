"""visterm encoder: dual encoders that people bring, so that any word can be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.options import Json
from visterm.cli.output import progress_bar, show

if TYPE_CHECKING:
    from visterm.encoders import Manifest

encoder = typer.Typer(
    name="encoder",
    help="Install image-text encoders, which know any word.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@encoder.command()
def add(
    source: Annotated[
        str,
        typer.Argument(help="A folder or archive of ONNX files, the URL of one, or hf:ORG/NAME."),
    ],
    name: Annotated[str | None, typer.Option(help="What to call it; else as its source.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="Graphs to take: fp32, fp16 or int8; else the first there.")
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="A text around words, as in 'a photo of {}'; several are averaged."),
    ] = None,
    json: Json = False,
) -> None:
    """Install an encoder, once its files have passed every check.

    A text and a picture go through it first; nothing is left of what is refused. Nothing is fetched
    but what is named here.
    """
    from visterm import encoders

    with progress_bar() as progress:
        found = encoders.add(
            source,
            name=name,
            precision=precision,
            prompts=prompt or encoders.PROMPTS,
            progress=progress,
        )
    show(
        _object(found),
        f"{_line(found)}",
        f"visterm add --features 'encoder({found.name})' describes pictures with it",
        json=json,
    )


@encoder.command("list")
def list_(json: Json = False) -> None:
    """Name the encoders that are installed."""
    from visterm import encoders

    found = encoders.installed()
    none = [] if found else ["no encoder is installed; visterm encoder add PATH|URL|hf:ORG/NAME"]
    show({"encoders": [_object(one) for one in found]}, *map(_line, found), *none, json=json)


@encoder.command()
def remove(
    name: Annotated[str, typer.Argument(help="Its name, as in visterm encoder list.")],
    json: Json = False,
) -> None:
    """Delete an encoder; vectors that it gave pictures stay in their collections."""
    from visterm import encoders

    encoders.remove(name)
    show({"removed": name}, f"{name} is removed", json=json)


def _object(found: Manifest) -> dict[str, Any]:
    return {
        "name": found.name,
        "source": found.source,
        "digest": found.digest,
        "dimensions": found.dimensions,
        "precision": found.precision,
        "bytes": found.size,
        "prompts": list(found.prompts),
    }


def _line(found: Manifest) -> str:
    return (
        f"{found.name}: {found.dimensions} numbers a picture, {found.precision}, "
        f"{found.size / 1e6:,.1f} MB, from {found.source}"
    )

"""visterm encoder: networks that people bring, for stronger features and for any word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.options import Answer, answering
from visterm.cli.output import progress_bar

if TYPE_CHECKING:
    from visterm.encoders import Manifest

encoder = typer.Typer(
    name="encoder",
    help="Install networks, and encoders that know any word.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
SHOWN = ("name", "source", "digest", "dimensions", "precision", "reads_texts", "licence", "prompts")
"""What is said of an installed encoder, besides its size."""


@encoder.command()
@answering
def add(
    source: Annotated[
        str,
        typer.Argument(
            help="A known network (visterm encoder list), a folder of ONNX files, or hf:ORG/NAME."
        ),
    ],
    name: Annotated[str | None, typer.Option(help="What to call it; else as its source.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="Graphs to take: fp32, fp16 or int8; else the first there.")
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="A text around words, as in 'a photo of {}'; several are averaged."),
    ] = None,
) -> Answer:
    """Install an encoder, once its files have passed every check.

    Of a known network, licence and size are shown first, and its file must have the expected hash.
    A picture and a text go through it before it gets its name; nothing is left of what is refused.

    Example: visterm encoder add ~/Downloads/mobileclip --name mobileclip
    """
    from visterm import encoders

    if source in encoders.known_networks():
        typer.echo(encoders.known_networks()[source].notice, err=True)
    with progress_bar() as progress:
        manifest = encoders.add(
            source,
            name=name,
            precision=precision,
            prompts=prompt or encoders.PROMPTS,
            progress=progress,
        )
    advice = f"visterm add --features {manifest.name} describes pictures with it"
    return _shown(manifest), [_line(manifest), advice]


@encoder.command("list")
@answering
def list_() -> Answer:
    """Name the encoders that are installed, and the networks that are known by name.

    Example: visterm encoder list
    """
    from visterm import encoders

    installed = encoders.installed()
    names = {manifest.name for manifest in installed}
    known = [one for name, one in encoders.known_networks().items() if name not in names]
    fields = ("name", "bytes", "licence", "stated")
    answer = {
        "encoders": [_shown(manifest) for manifest in installed],
        "known": [{field: getattr(one, field) for field in fields} for one in known],
    }
    lines = [*map(_line, installed), *(f"not installed: {one.notice}" for one in known)]
    return answer, lines


@encoder.command()
@answering
def remove(
    name: Annotated[str, typer.Argument(help="Its name, as in visterm encoder list.")],
) -> Answer:
    """Delete an encoder; vectors that it gave pictures stay in their collections.

    Example: visterm encoder remove mobileclip
    """
    from visterm import encoders

    encoders.remove(name)
    return {"removed": name}, f"{name} is removed"


def _shown(manifest: Manifest) -> dict[str, Any]:
    return {field: getattr(manifest, field) for field in SHOWN} | {"bytes": manifest.size}


def _line(manifest: Manifest) -> str:
    kind = "pictures and texts" if manifest.reads_texts else "pictures"
    return (
        f"{manifest.name}: {kind}, {manifest.dimensions} numbers each, {manifest.precision}, "
        f"{manifest.size / 1e6:,.1f} MB, from {manifest.source}"
    )

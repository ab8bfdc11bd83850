"""visterm train, starter and encoder: learn what words look like, share it, and bring networks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm import PUBLIC_NAMES
from visterm.cli.options import Answer, Ray, answering, on_collection
from visterm.cli.output import counted, progress_bar, trained_lines
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Collection
    from visterm.encoders import Manifest

# From the table of public names, because the models themselves take a second to load.
NAMES = [
    re.sub(r"\B(?=[A-Z])", "-", name).lower()
    for name in PUBLIC_NAMES["models"].split()
    if name[0].isupper()
]


@on_collection
def train(
    collection: Collection,
    model: Annotated[
        str | None,
        typer.Option(
            help=f"Which model learns: {', '.join(NAMES)}; with parameters: bitr(loss=manhattan). "
            "By default ridge, or pamir for features that count."
        ),
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="Hold out the pictures of this table, with its captions, to measure by."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Take the new model even if it is worse.")
    ] = False,
    ray: Ray = None,
) -> Answer:
    """Learn from all captions, and keep what is better.

    A tenth of the captioned pictures is held out, or those of --validation; average precision on it
    is shown beside that of the model before. The new model answers from then on, unless it is
    worse.

    Example: visterm train --model "pamir(C=0.1)"
    """
    import time

    from visterm.features.notation import parse_named

    name, parameters = (None, {}) if model is None else parse_named(model)
    own = {"model", "force", "validation", "ray", "progress"}  # of train, not of any model
    for word in parameters.keys() & own:
        raise BadInput(f"{name} has no parameter {word!r}")
    began = time.perf_counter()
    with progress_bar() as progress:
        held = None if validation is None else collection.caption_from(validation).numbers
        done = collection.train(
            model=name, force=force, validation=held, ray=ray, progress=progress, **parameters
        )
    seconds = time.perf_counter() - began
    return {**vars(done), "seconds": round(seconds, 3)}, trained_lines(done, seconds)


starter = typer.Typer(
    name="starter",
    help="""Share what a collection knows of words with another.

    Example: visterm starter export birds.starter
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@starter.command()
@on_collection
def export(
    collection: Collection,
    file: Annotated[Path, typer.Argument(help="The file to write.")],
) -> Answer:
    """Write what is known of words to a file.

    Words, weights, calibration and provenance of what answers here; no pictures. Words of your
    captions, names too, are among the words.

    Example: visterm starter export birds.starter
    """
    about = collection.export_starter(file)
    captioned = counted(about["captioned"], "captioned picture")
    lines = [
        f"{file}: {counted(about['words'], 'word')}, trained on {captioned}",
        f"visterm starter use {file} begins another collection with them",
    ]
    return about | {"file": file}, lines


@starter.command()
@on_collection
def use(
    collection: Collection,
    file: Annotated[
        Path | None, typer.Argument(help="A file that was exported; visterm's own without any.")
    ] = None,
) -> Answer:
    """Answer with what was exported elsewhere.

    Training starts from it, too. A model that was trained here goes on answering until visterm
    train.

    Example: visterm starter use birds.starter
    """
    about = collection.use_starter(file)
    then = "visterm train starts from it" if collection.is_trained else "it answers from now on"
    words = counted(about.get("words", 0), "word")
    source = "visterm's own starter" if file is None else f"{words} of {file}"
    return about | {"file": file}, f"{source}: {then}"


encoder = typer.Typer(
    name="encoder",
    help="""Install networks, and encoders that know any word.

    Example: visterm encoder list
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
SHOWN = ("name", "source", "digest", "dimensions", "precision", "reads_texts", "licence", "prompts")
"""What is said of an installed encoder, besides its size."""


@encoder.command("add")
@answering
def add_encoder(
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
    prefix: Annotated[
        str | None,
        typer.Option(help="What comes before every text, such as a language's code: deu_Latn."),
    ] = None,
) -> Answer:
    """Install an encoder, once it passes every check.

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
            prefix=prefix,
            progress=progress,
        )
    advice = f"visterm add --features {manifest.name} describes pictures with it"
    return _encoder_object(manifest), [_encoder_line(manifest), advice]


@encoder.command("list")
@answering
def list_encoders() -> Answer:
    """List installed encoders and known networks.

    Example: visterm encoder list
    """
    from visterm import encoders

    installed = encoders.installed()
    names = {manifest.name for manifest in installed}
    known = [net for name, net in encoders.known_networks().items() if name not in names]
    fields = ("name", "bytes", "licence", "stated")
    answer = {
        "encoders": [_encoder_object(manifest) for manifest in installed],
        "known": [{field: getattr(net, field) for field in fields} for net in known],
    }
    lines = [*map(_encoder_line, installed), *(f"not installed: {net.notice}" for net in known)]
    return answer, lines


@encoder.command("remove")
@answering
def remove_encoder(
    name: Annotated[str, typer.Argument(help="Its name, as in visterm encoder list.")],
) -> Answer:
    """Delete an encoder.

    Vectors that it gave pictures stay in their collections.

    Example: visterm encoder remove mobileclip
    """
    from visterm import encoders

    encoders.remove(name)
    return {"removed": name}, f"{name} is removed"


def _encoder_object(manifest: Manifest) -> dict[str, Any]:
    return {field: getattr(manifest, field) for field in SHOWN} | {"bytes": manifest.size}


def _encoder_line(manifest: Manifest) -> str:
    kind = "pictures and texts" if manifest.reads_texts else "pictures"
    return (
        f"{manifest.name}: {kind}, {manifest.dimensions} numbers each, {manifest.precision}, "
        f"{manifest.size / 1e6:,.1f} MB, from {manifest.source}"
    )

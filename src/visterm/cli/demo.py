"""visterm demo: the main job on pictures drawn for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.evaluate import Seed
from visterm.cli.options import Json
from visterm.cli.output import progress_bar, say, show

if TYPE_CHECKING:
    from visterm.experiments.demonstration import Demo


def demo(
    folder: Annotated[Path, typer.Option(help="Where to put pictures and page.")] = Path("demo"),
    pictures: Annotated[int, typer.Option(min=60, help="How many pictures to draw.")] = 600,
    seed: Seed = 0,
    serve: Annotated[
        bool | None,
        typer.Option("--serve/--no-serve", help="End in the page over them; usual in a terminal."),
    ] = None,
    json: Json = False,
) -> None:
    """Learn from drawn pictures and find others by words.

    Draws captioned pictures, hides a third of the captions, learns from the rest, ranks the hidden
    ones for five queries, and writes a page that shows the rankings. In a terminal it ends in the
    page of visterm serve, over the same pictures.

    Example: visterm demo --pictures 200
    """
    import sys

    from visterm.experiments.demonstration import run_demo
    from visterm.experiments.runs import percent

    with progress_bar() as progress:
        done = run_demo(folder, pictures=pictures, seed=seed, progress=progress)
    means = percent(done.evaluation)
    show(_object(done, pictures, means), _lines(done, pictures, means), json=json)
    if sys.stdout.isatty() and not json if serve is None else serve:
        _serve(folder, done)


def _object(done: Demo, pictures: int, means: dict[str, float]) -> dict[str, Any]:
    return {
        **means,
        "pictures": pictures,
        "hidden": len(done.protocol.test),
        "words": len(done.protocol.vocabulary),
        "queries": [
            {
                "query": ranking.query,
                "relevant": ranking.relevant,
                "pictures": [
                    {"path": p.path, "score": round(p.score, 4), "relevant": p.relevant}
                    for p in ranking.pictures
                ],
            }
            for ranking in done.rankings
        ],
        "page": done.page,
        "seconds": done.seconds.to_json(),
    }


def _lines(done: Demo, pictures: int, means: dict[str, float]) -> Iterator[str]:
    protocol = done.protocol
    yield (
        f"{pictures} pictures drawn; {len(protocol.development)} captions, "
        f"{len(protocol.vocabulary)} words to learn from; {len(protocol.test)} had their captions "
        "hidden.\n"
    )
    for ranking in done.rankings:
        marks = "".join("●" if p.relevant else "○" for p in ranking.pictures)
        yield f"  {ranking.query:<28} {marks}   {ranking.found} of the first {len(marks)}"
    measures = "   ".join(f"{name} {value:.1f} %" for name, value in means.items())
    yield f"\nOver {len(done.evaluation)} queries on the hidden pictures:   {measures}"
    yield f"Look at the rankings: {done.page.resolve().as_uri()}"


def _serve(folder: Path, done: Demo) -> None:
    """The page over the drawn pictures, trained on the captions that were not hidden."""
    from visterm.cli.serve import serve
    from visterm.collection import Collection
    from visterm.files import write_whole

    say("making a collection of the pictures, to be searched in the browser")
    table = folder / "training.tsv"
    lines = [
        f"{path.resolve().relative_to(folder.resolve()).as_posix()}\t{caption}\n"
        for path, caption in done.protocol.development
    ]
    write_whole(table, "".join(lines).encode())
    pictures = folder / "pictures"
    with Collection.open(pictures, store=pictures / ".visterm") as collection:
        with progress_bar() as progress:
            collection.add(progress=progress)
        collection.caption_from(table)
        with progress_bar() as progress:
            collection.train(progress=progress)
    serve([pictures], as_is=True)

"""visterm demo: the main job on pictures drawn for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    folder: Annotated[Path, typer.Option(help="Where to put pictures and page.")] = Path("demo"),
    pictures: Annotated[int, typer.Option(min=60, help="How many pictures to draw.")] = 600,
    seed: Annotated[int, typer.Option(help="Decides every random choice.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Learn from drawn pictures and find others by words.

    Draws captioned pictures, hides a third of the captions, learns from the rest, ranks the hidden
    ones for five queries, and writes a page that shows the rankings.
    """
    from visterm.cli.output import print_json, progress_bar
    from visterm.experiments.demo import run_demo
    from visterm.experiments.runs import percent

    with progress_bar() as progress:
        done = run_demo(folder, pictures=pictures, seed=seed, progress=progress)
    found = {
        **percent(done.evaluation),
        "pictures": pictures,
        "hidden": len(done.protocol.test),
        "words": len(done.protocol.vocabulary),
        "queries": [
            {
                "query": ranking.query,
                "relevant": ranking.relevant,
                "pictures": [
                    {"path": str(p.path), "score": round(p.score, 4), "relevant": p.relevant}
                    for p in ranking.pictures
                ],
            }
            for ranking in done.rankings
        ],
        "page": str(done.page),
        "seconds": done.seconds.to_json(),
    }
    if json:
        print_json(found)
        return
    taught, hidden = len(done.protocol.development), len(done.protocol.test)
    typer.echo(
        f"{pictures} pictures drawn; {taught} taught {len(done.protocol.vocabulary)} words, "
        f"{hidden} had their captions hidden.\n"
    )
    for ranking in done.rankings:
        marks = "".join("●" if p.relevant else "○" for p in ranking.pictures)
        typer.echo(f"  {ranking.query:<28} {marks}   {ranking.found} of the first {len(marks)}")
    means = "   ".join(f"{name} {value:.1f} %" for name, value in percent(done.evaluation).items())
    typer.echo(
        f"\nOver {len(done.evaluation)} queries on the hidden pictures:   {means}\n"
        f"Look at the rankings: {done.page.resolve().as_uri()}"
    )

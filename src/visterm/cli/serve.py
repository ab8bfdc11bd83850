"""visterm serve and demo: pictures searched in a browser, one's own or drawn ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.options import Json, Ray, Seed, Store
from visterm.cli.output import progress_bar, say, show
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.experiments.demonstration import Demo
    from visterm.web.listener import Address


def serve(
    folder: Annotated[
        list[Path] | None, typer.Argument(help="A folder of pictures; else this one.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; else 8765, or the next that is free.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond this machine a token is needed.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(help="Let in only who knows this; made up where one is needed.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="A host name under which this machine is reached.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(help="Let a front end of your own ask: its origin, http://localhost:3000."),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    as_is: Annotated[
        bool, typer.Option("--as-is", help="Do not look for new pictures, now or later.")
    ] = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Train by itself when enough captions have changed.")
    ] = False,
    ray: Ray = None,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1, help="On a cluster: into how many parts pictures are dealt; else nodes."
        ),
    ] = None,
    replicas: Annotated[
        int, typer.Option(min=1, help="On a cluster: how many processes hold each part.")
    ] = 2,
    store: Store = None,
    json: Json = False,
) -> None:
    """Search, look at and teach a collection in a browser.

    The page answers at once; new pictures are looked for meanwhile, and files that come, go or
    change later are noticed. Nothing leaves this machine unless --host says so. With --ray,
    processes of a cluster search; this one goes on serving the page, and is the only one that
    writes. Ctrl-C ends it.

    Example: visterm serve ~/Pictures
    """
    from visterm.collection import Collection, searching_on
    from visterm.web.listener import listen
    from visterm.web.listener import serve as run

    if folder and len(folder) > 1:
        raise BadInput(
            f"one collection at a time: visterm serve {folder[0]}; a folder above several shows "
            "them together"
        )
    address = listen(host, port, token)
    with Collection.open(folder[0] if folder else ".", store=store) as opened:
        root, where = opened.root, opened.store
        awaits = not as_is and (opened.is_empty or opened.has_news or opened.awaits_training)
        begin = "add" if awaits and opened.is_writable else None
    with searching_on(ray, where, shards=shards, replicas=replicas) as shared:
        run(
            root,
            address,
            store=store,
            names=name or [],
            origins=allow_origin or [],
            begin=begin,
            watches=not as_is,
            learns=learn,
            open_browser=browser and sys.stdout.isatty(),
            ready=lambda url: _announce(url, root, address, json=json),
            shared=shared,
        )


def _announce(url: str, root: Path, address: Address, *, json: bool) -> None:
    lines = (f"{root} is served at {url}", "Ctrl-C ends it.")
    show({"url": url, "folder": root}, lines, json=json)
    if not address.is_loopback:
        say(
            f"others on the network reach {address.host}, port {address.port}, and whoever has the "
            "token may read and change this collection; what is sent is not encrypted"
        )


def demo(
    folder: Annotated[Path, typer.Option(help="Where to put pictures and page.")] = Path("demo"),
    pictures: Annotated[int, typer.Option(min=60, help="How many pictures to draw.")] = 600,
    seed: Seed = 0,
    is_served: Annotated[
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
    from visterm.experiments.demonstration import run_demo
    from visterm.experiments.runs import percent

    with progress_bar() as progress:
        done = run_demo(folder, pictures=pictures, seed=seed, progress=progress)
    means = percent(done.evaluation)
    show(_demo_object(done, pictures, means), _demo_lines(done, pictures, means), json=json)
    if sys.stdout.isatty() and not json if is_served is None else is_served:
        _serve_demo(folder, done)


def _demo_object(done: Demo, pictures: int, means: dict[str, float]) -> dict[str, Any]:
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


def _demo_lines(done: Demo, pictures: int, means: dict[str, float]) -> Iterator[str]:
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


def _serve_demo(folder: Path, done: Demo) -> None:
    """The page over the drawn pictures, trained on the captions that were not hidden."""
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

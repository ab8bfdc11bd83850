"""visterm serve: search pictures in a browser, and give relevance feedback."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.cli.options import Json, Ray, Store
from visterm.cli.output import say, show
from visterm.errors import BadInput

if TYPE_CHECKING:
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

"""visterm serve: search pictures in a browser, and give relevance feedback."""

from __future__ import annotations

import re
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.cli.options import Json, Ray, Store
from visterm.cli.output import say, show
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.web.listener import Address
    from visterm.web.security import Right


class LogForm(Enum):
    """How requests are written down."""

    lines = "lines"
    json = "json"


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
        str | None,
        typer.Option(
            envvar="VISTERM_TOKEN", help="Let in only who knows this; made up where one is needed."
        ),
    ] = None,
    read_token: Annotated[
        str | None,
        typer.Option(
            envvar="VISTERM_READ_TOKEN",
            help="A token that allows to search and to look, and no more.",
        ),
    ] = None,
    judge_token: Annotated[
        str | None,
        typer.Option(
            envvar="VISTERM_JUDGE_TOKEN",
            help="A token that allows to caption and to say yes or no, too.",
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(help="Serve another collection, too: NAME=FOLDER, for programs."),
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
    log: Annotated[
        LogForm | None, typer.Option(help="Write a line a request to stderr, or a JSON object.")
    ] = None,
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
    given: dict[str | None, Right] = {read_token: "read", judge_token: "judge"}
    tokens = {one: right for one, right in given.items() if one is not None}
    address = listen(host, port, token, others=tokens)
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
            tokens=tokens,
            collections=_named(also or []),
            log=None if log is None else log.value,
        )


def _named(collections: list[str]) -> dict[str, Path]:
    """Folders by the names of their collections.

    >>> _named(["shop=/srv/shop"])
    {'shop': PosixPath('/srv/shop')}
    """
    named = {}
    for given in collections:
        name, _, folder = given.partition("=")
        if not folder or not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
            raise BadInput(
                f"another collection is NAME=FOLDER, such as shop=/srv/shop, not {given}"
            )
        named[name] = Path(folder)
    return named


def _announce(url: str, root: Path, address: Address, *, json: bool) -> None:
    lines = (f"{root} is served at {url}", "Ctrl-C ends it.")
    show({"url": url, "folder": root}, lines, json=json)
    sys.stdout.flush()  # the log of a service or container is a pipe, and has the token only here
    if not address.is_loopback:
        say(
            f"others on the network reach {address.host}, port {address.port}, and whoever has the "
            "token may read and change this collection; what is sent is not encrypted"
        )

"""visterm search: pictures for words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.collections import Folder, Json, Store

if TYPE_CHECKING:
    from visterm.collection import Answer, Collection


def search(
    query: Annotated[
        list[str] | None,
        typer.Argument(help="Words, -word, word:2, in:FOLDER, captioned:no; best in quotes."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, help="How many pictures.")] = 20,
    like: Annotated[
        Path | None, typer.Option(help="Rank by likeness to this picture, not by words.")
    ] = None,
    fold: Annotated[bool, typer.Option("--fold", help="Show near-duplicates once.")] = False,
    paths: Annotated[bool, typer.Option("--paths", help="Print paths only, for pipes.")] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show thumbnails, where the terminal can.")
    ] = False,
    as_is: Annotated[
        bool, typer.Option("--as-is", help="Do not look for new pictures first.")
    ] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Rank pictures by words, or by likeness to a picture.

    In a folder that is no collection yet, its pictures are indexed first; pictures that came since
    the last time are added. Example: visterm search "snow:2 tree -people in:alps".
    """
    from visterm.cli.output import print_json
    from visterm.errors import BadInput

    asked = " ".join(query or [])
    if not asked.strip() and like is None:
        raise BadInput('nothing to search for; write words, as in visterm search "tree snow"')
    with _up_to_date(collection, store, as_is=as_is, words=like is None) as found:
        if like is not None:
            answer = found.like(like, limit, query=asked, fold=fold)
        else:
            answer = found.search(asked, limit, fold=fold)
    _tell_unknown(answer)
    if json:
        print_json(_object(asked, answer))
    else:
        _print(answer, paths=paths, preview=preview)


def _up_to_date(folder: Path, store: Path | None, *, as_is: bool, words: bool) -> Collection:
    """The collection, with new pictures added and, if it never learnt, what it can learn learnt."""
    from visterm.cli.collections import opened, say
    from visterm.collection.lock import Locked
    from visterm.collection.stores import find

    where = find(folder, store)
    if not where.exists:
        _check_pictures(where.root)
        say(
            f"looking at the pictures in {where.root} for the first time; Ctrl-C keeps what is done"
        )
    found = opened(folder, store, create=True)
    try:
        if not as_is and (found.has_news or not len(found)):
            _add(found)
        if words and not found.has_model and found.has_captions:
            _train(found)
    except Locked as error:
        say(f"answering from before the news: {error}")
    return found


def _add(found: Collection) -> None:
    from visterm.cli.collections import say, skipping, told
    from visterm.cli.output import progress_bar
    from visterm.collection.ingest import Stopped

    try:
        with progress_bar() as progress:
            report = found.add(progress=progress, tell=skipping)
    except Stopped as stopped:
        say(f"stopped; kept so far: {told(stopped.report)}; the next search goes on from there")
        raise typer.Exit(130) from None
    if (news := told(report)) != "nothing new":
        say(news)


def _train(found: Collection) -> None:
    from visterm.cli.collections import say
    from visterm.cli.output import progress_bar

    say("learning from the captions for the first time")
    with progress_bar() as progress:
        found.train(progress=progress)


def _check_pictures(root: Path) -> None:
    from visterm.collection.scan import walk
    from visterm.errors import BadInput

    if not any(listing.files for listing in walk(root)):
        raise BadInput(f"there are no pictures in {root}; go to a folder that holds some")


def _tell_unknown(answer: Answer) -> None:
    from visterm.cli.collections import say

    for word, close in answer.unknown.items():
        hint = f"; close to it: {', '.join(close)}" if close else ""
        say(f"no caption taught the word {word!r}, so it is left out{hint}")


def _object(asked: str, answer: Answer) -> dict[str, Any]:
    return {
        "query": asked,
        "results": [
            {
                "path": str(one.path),
                "score": round(one.score, 6),
                "also": [str(path) for path in one.paths[1:]],
            }
            for one in answer.results
        ],
        "unknown": answer.unknown,
    }


def _print(answer: Answer, *, paths: bool, preview: bool) -> None:
    from visterm.cli.collections import say, shown

    draw = None
    if preview:
        from visterm.cli.preview import drawer

        draw = drawer()
        if draw is None:
            say("this terminal shows no pictures, as far as it says; kitty, iTerm2, WezTerm do")
    for one in answer.results:
        typer.echo(shown(one.path) if paths else f"{one.score:9.4f}  {shown(one.path)}")
        if draw is not None:
            draw(one.path)
    if not answer.results and not paths:
        say("no picture fits these conditions")

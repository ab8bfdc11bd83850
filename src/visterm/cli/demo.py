"""visterm demo: search free photographs, teach a word by three of them, and open the page."""

from __future__ import annotations

import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.cli.evaluate import Seed
from visterm.cli.options import Json
from visterm.cli.output import counted, progress_bar, say, short_path, show
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Collection, SearchResponse

SHOWN = 10
"""How many pictures of a search are printed."""
DRAWN = 200
"""How many pictures are drawn where there are no photographs."""


@dataclass(frozen=True)
class Tour:
    """A folder of pictures without captions, searches to try there, and a word to teach."""

    folder: Path
    searches: tuple[str, ...]
    word: str
    examples: tuple[Path, ...]


def demo(
    folder: Annotated[Path, typer.Option(help="Where to put the pictures.")] = Path("demo"),
    pictures: Annotated[
        int | None,
        typer.Option(min=60, help="Draw so many pictures instead of getting photographs."),
    ] = None,
    seed: Seed = 0,
    serve: Annotated[
        bool | None,
        typer.Option("--serve/--no-serve", help="End in the page; usual in a terminal."),
    ] = None,
    json: Json = False,
) -> None:
    """Search some 300 free photographs, and teach a new word.

    Gets the photographs from Debian's packages (86 MB, once), searches them although none has a
    caption, teaches a word by three of them, and finds the others. In a terminal it ends in the
    page of visterm serve. Without a network, pictures are drawn instead.

    Example: visterm demo --folder ~/visterm-demo
    """
    from visterm.collection import Collection

    tour = _drawn(folder, pictures, seed) if pictures else _photographs(folder, seed)
    with Collection.open(tour.folder, store=tour.folder / ".visterm") as collection:
        with progress_bar() as progress:
            collection.add(progress=progress)
        if not json:
            where = short_path(tour.folder)
            print(f"\n{len(collection)} pictures in {where}; none has a caption.\n\n$ cd {where}")
        with chdir(tour.folder):  # so that what is printed can be typed there
            answers = _walk(collection, tour, quiet=json)
        if json:
            answer = {"folder": tour.folder, "pictures": len(collection), "searches": answers}
            show(answer | {"word": tour.word, "examples": tour.examples}, json=True)
    if sys.stdout.isatty() and not json if serve is None else serve:
        _end_in_the_page(tour)
    elif not json:
        print(f"\nTo go on in a browser: visterm serve {short_path(tour.folder)}")


def _photographs(folder: Path, seed: int) -> Tour:
    """The tour of the photographs; of drawn pictures where those cannot be fetched."""
    from visterm.datasets.photographs import CREDITS, MEGABYTES, NoPhotographs, fetch_photographs

    target = (folder / "photographs").resolve()
    try:
        if not (target / CREDITS).exists():
            say(f"getting free photographs from Debian's packages ({MEGABYTES} MB)")
        with progress_bar() as progress:
            fetch_photographs(target, progress=progress)
    except NoPhotographs as error:
        say(f"no photographs, so pictures are drawn instead: {error}")
        return _drawn(folder, DRAWN, seed)
    mills = ("windmill-1", "windmill-4", "windmill-9")
    examples = tuple(target / "energy" / f"{mill}.webp" for mill in mills)
    return Tour(target, ("monkey", "statue", "mountain -building"), "windmill", examples)


def _drawn(folder: Path, count: int, seed: int) -> Tour:
    from visterm.datasets.scenes import draw_scenes

    target, word = (folder / "pictures").resolve(), "cactus"
    with progress_bar() as progress:
        drawn = draw_scenes(target, count, seed=seed, progress=progress)
    examples = tuple(path for path, words in drawn if word in words)[:3]
    return Tour(target, ("mountain", "forest -snow"), word, examples)


def _walk(
    collection: Collection, tour: Tour, *, quiet: bool
) -> list[dict[str, SearchResponse | str]]:
    """Search, teach the word, and search for it; what was found, in order."""
    is_taught = bool(collection.judgements(tour.word))
    queries = tour.searches if is_taught else (*tour.searches, tour.word)
    answers = [_search(collection, query, quiet=quiet) for query in queries]
    if not is_taught:
        numbers = [collection.number(path) for path in tour.examples]
        count = collection.judge_many(tour.word, dict.fromkeys(numbers, True))
        if not quiet:
            named = " ".join(short_path(path) for path in tour.examples)
            print(f"\n$ visterm feedback yes {tour.word} {named}")
            print(f"{counted(count, 'answer')} given; visterm undo takes this back")
    return [*answers, _search(collection, tour.word, quiet=quiet)]


def _search(collection: Collection, query: str, *, quiet: bool) -> dict[str, SearchResponse | str]:
    from visterm.cli.output import print_results, print_words

    if not quiet:
        print(f'\n$ visterm search "{query}"', flush=True)
    try:
        response = collection.search(query, SHOWN)
    except BadInput as error:  # a word that nobody has taught yet
        if not quiet:
            say(str(error))
        return {"query": query, "problem": str(error)}
    if not quiet:
        print_words(response)
        print_results(response, only_paths=False, only_good=False)
        sys.stdout.flush()
    return {"query": query, "response": response}


def _end_in_the_page(tour: Tour) -> None:
    from visterm.web.listener import listen, serve

    print(
        f"\nNow in a browser: the search for {tour.word}. Say yes or no to what you see, and press "
        "U to undo it."
    )
    serve(
        tour.folder,
        listen("127.0.0.1"),
        store=tour.folder / ".visterm",
        open_browser=sys.stdout.isatty(),
        query=tour.word,
        ready=lambda url: print(f"{short_path(tour.folder)} is served at {url}\nCtrl-C ends it."),
    )

"""visterm search: pictures for words.

The options of a search stand in one table. Loading an option parser takes longer than searching, so
`quick_options` reads plain ones by itself; whatever it does not understand, from ``--help`` to a
mistake, is the parser's to explain.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.cli.output import (
    print_results,
    print_words,
    progress_bar,
    say,
    show,
    skipping,
    summary,
)
from visterm.errors import BadInput
from visterm.quick_dataclass import dataclass

if TYPE_CHECKING:
    from visterm.collection import Collection, SearchRequest, SearchResponse

_SHORTEST_UNWANTED = 3
"""``-people`` is an unwanted word; a shorter one would be an option."""


SHARED = ""
"""In place of a help text: the option is one of those that all commands share."""


def _option(default: Any, text: str, *names: str) -> Any:
    return field(default=default, metadata={"help": text, "names": names})


@dataclass
class SearchOptions:
    """The options of ``visterm search``."""

    query: str = ""
    limit: int = _option(20, "How many pictures.", "--limit", "-k")
    like: str | None = _option(
        None, "Rank by likeness to this picture, and by words if there are any.", "--like"
    )
    region: str | None = _option(
        None, "Of that picture, left, top, right and bottom: 0.2,0.1,0.6,0.5.", "--region"
    )
    space: str = _option(
        "words", "words, or lsa, sentences (any language) or encoder for sentences.", "--space"
    )
    sort: str = _option("relevance", "By relevance, or by time: those taken last first.", "--sort")
    good: bool = _option(False, "Only good matches: as many as answer, up to the limit.", "--good")
    fold: bool = _option(False, "Show near-duplicates once.", "--fold")
    paths: bool = _option(False, "Print paths only, for pipes.", "--paths")
    as_is: bool = _option(False, "Do not look for new pictures first.", "--as-is")
    partial: bool = _option(
        False, "Of a new folder, answer from its first pictures, and end.", "--partial"
    )
    collection: Path = _option(Path("."), SHARED, "--collection", "-C")
    store: Path | None = _option(None, SHARED, "--store")
    json: bool = _option(False, SHARED, "--json")


OPTIONS = {
    name: option for option in fields(SearchOptions) for name in option.metadata.get("names", ())
}
"""The table: an option by each of its spellings."""


def quick_options(arguments: Sequence[str]) -> SearchOptions | None:
    """The options of ``search ...``; None where the parser had better look at it.

    >>> quick_options(["search", "tree", "snow", "-k", "3"]).query
    'tree snow'
    >>> quick_options(["search", "-people"]).query
    '-people'
    >>> quick_options(["search", "--help"]) is None
    True
    """
    if arguments[:1] != ["search"]:
        return None
    values: dict[str, Any] = {}
    words: list[str] = []
    rest = iter(arguments[1:])
    for argument in rest:
        option = OPTIONS.get(argument)
        if option is None:
            if argument.startswith("-") and not _is_unwanted_word(argument):
                return None
            words.append(argument)
        elif option.type == "bool":
            values[option.name] = True
        else:
            value = next(rest, "-")
            is_count = value.isascii() and value.isdigit() and int(value) > 0
            if value.startswith("-") or (option.type == "int" and not is_count):
                return None
            kind = int if option.type == "int" else Path if "Path" in str(option.type) else str
            values[option.name] = kind(value)
    return SearchOptions(" ".join(words), **values)


def _is_unwanted_word(argument: str) -> bool:
    """Whether an argument such as ``-people`` is a word; ``-k3`` is a limit for the parser.

    >>> _is_unwanted_word("-people"), _is_unwanted_word("-k3"), _is_unwanted_word("--help")
    (True, False, False)
    """
    is_limit = argument.startswith("-k") and argument[2:].isdigit()
    is_word = len(argument) >= _SHORTEST_UNWANTED and not argument.startswith("--")
    return is_word and not is_limit


def parsed_command() -> Callable[..., None]:
    """The same command for the option parser."""
    from inspect import Parameter, Signature
    from typing import Annotated, get_type_hints

    import typer

    from visterm.cli.options import Folder, Json, Store

    def search(query: list[str] | None = None, **options: Any) -> None:
        run(SearchOptions(" ".join(query or []), **options))

    search.__doc__ = """Rank pictures by words, or by likeness to a picture.

    In a folder that is no collection yet, its pictures are indexed first, and a first answer comes
    from the newest few hundred (with --json only if --partial asks for it); pictures that came
    since the last time are added.

    Example: visterm search "snow:2 tree -people in:alps 2019"
    """
    words = typer.Argument(
        help="Words, -word, word:2, a OR b, in:FOLDER, captioned:no, 2019-07, after:2019, "
        "before:2020, every:12-25, near:38.7,-9.1,5km, type:video, camera:nikon, rating:>=4, "
        "person:anna; best in quotes."
    )
    annotations: dict[str, Any] = {"query": Annotated[list[str] | None, words]}
    types = get_type_hints(SearchOptions)
    for option in fields(SearchOptions)[1:]:
        if option.metadata["help"] != SHARED:
            least = 1 if option.name == "limit" else None
            about = typer.Option(*option.metadata["names"], help=option.metadata["help"], min=least)
            annotations[option.name] = Annotated[types[option.name], about]
    annotations |= {"collection": Folder, "store": Store, "json": Json}
    defaults = {option.name: option.default for option in fields(SearchOptions)} | {"query": None}
    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=annotation)
        for name, annotation in annotations.items()
    ]
    search.__annotations__ = annotations
    vars(search)["__signature__"] = Signature(parameters)
    return search


def _region(text: str | None) -> tuple[float, float, float, float] | None:
    if text is None:
        return None
    try:
        left, top, right, bottom = map(float, text.split(","))
    except ValueError:
        raise BadInput(
            f"a region is four fractions, such as 0.2,0.1,0.6,0.5, not {text!r}"
        ) from None
    return left, top, right, bottom


class _Answered(Exception):
    """The first pictures have answered, and no more was asked for."""


def run(options: SearchOptions) -> None:
    """Search, and print what was found."""
    from visterm.collection import WORDS, Collection, Locked, SearchRequest, as_path

    if not options.query.strip() and options.like is None and options.sort == "relevance":
        raise BadInput('nothing to search for; write words, as in visterm search "tree snow"')
    request = SearchRequest(
        options.query,
        options.limit,
        space=options.space,
        like=None if options.like is None else as_path(options.like),
        good=options.good,
        fold=options.fold,
        sort=options.sort,
        region=_region(options.region),
    )
    is_by_words = options.like is None and options.space == WORDS
    is_answered = False
    _check_there_are_pictures(options)
    with Collection.open(options.collection, store=options.store) as collection:
        try:
            is_unknowing = collection.is_empty or (is_by_words and not collection.has_model)
            if not options.as_is and collection.is_writable:
                if collection.has_news or is_unknowing:
                    is_answered = _add(collection, options, request if is_by_words else None)
                if is_answered and options.partial:
                    say("the next search goes on from there")
                    return
            if is_by_words and collection.is_writable and collection.awaits_training:
                _train(collection)
        except Locked as error:
            say(f"could not check for new pictures; using the last index: {error}")
        if options.space != WORDS:
            with progress_bar() as progress:
                collection.train_space(options.space, progress=progress)
        if is_answered:
            say(f"of all {len(collection):,} pictures:")
        _show(collection.search(request), options)


def _check_there_are_pictures(options: SearchOptions) -> None:
    from visterm.collection import locate

    location = locate(options.collection, options.store)
    if location.exists:
        return
    from visterm.collection import has_pictures

    if not has_pictures(location.root):
        raise BadInput(f"there are no pictures in {location.root}; go to a folder that holds some")
    say(f"indexing {location.root} for the first time; Ctrl-C keeps what is done")


def _add(collection: Collection, options: SearchOptions, request: SearchRequest | None) -> bool:
    """Add new pictures; returns whether the first ones have answered a request by words."""
    from visterm.collection import PartialAnswer, Stopped

    is_answered = False

    def answer_first(done: int, total: int) -> None:
        nonlocal is_answered
        assert request is not None
        try:
            response = collection.search(request)
        except BadInput:
            return  # the whole collection may know better, or says what is wrong
        say(f"from the newest {done:,} of {total:,} pictures; the others are being described")
        _show(replace(response, partial=PartialAnswer(done, total)), options)
        sys.stdout.flush()
        is_answered = True
        if options.partial:
            raise _Answered

    is_wanted = options.partial or not (options.json or options.paths)
    try:
        with progress_bar() as progress:
            report = collection.add(
                remote=False,
                wait=0.5,
                progress=progress,
                on_skip=skipping,
                on_first=answer_first if is_wanted and request is not None else None,
            )
    except _Answered:
        return True
    except Stopped as stopped:
        say(f"stopped; kept so far: {summary(stopped.report)}; the next search goes on from there")
        sys.exit(130)
    if news := summary(report):
        say(news)
    return is_answered


def _train(collection: Collection) -> None:
    say("learning from the captions for the first time")
    with progress_bar() as progress:
        in_vain = collection.train_first(progress=progress)
    if in_vain is not None:
        say(in_vain)


def _show(response: SearchResponse, options: SearchOptions) -> None:
    print_words(response)
    if options.json:
        show(response, json=True)
    else:
        print_results(response, only_paths=options.paths, only_good=options.good)

"""A search from its options to what is printed; no option parser is loaded for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.cli.messages import say, shown, skipping, summary
from visterm.cli.quick_search import SearchOptions
from visterm.collection import WORDS, Collection, Locked, SearchRequest, has_pictures, locate
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import SearchResponse, SearchResult


def run(options: SearchOptions) -> None:
    """Search, and print what was found."""
    if not options.query.strip() and options.like is None:
        raise BadInput('nothing to search for; write words, as in visterm search "tree snow"')
    request = SearchRequest(
        options.query,
        options.limit,
        space=options.space,
        like=options.like,
        good=options.good,
        fold=options.fold,
    )
    words = options.like is None and options.space == WORDS
    with _up_to_date(options.collection, options.store, as_is=options.as_is, words=words) as found:
        if options.space != WORDS:
            _train_space(found, options.space)
        given = found.search(request)
        _report_words(given)
        if options.json:
            from visterm.cli.output import print_json

            print_json(_object(options.query, given))
        else:
            _print(found, given, paths=options.paths, preview=options.preview)


def _up_to_date(folder: Path, store: Path | None, *, as_is: bool, words: bool) -> Collection:
    """The collection, with new pictures added and, if it never learnt, what it can learn learnt."""
    where = locate(folder, store)
    if not where.exists:
        if not has_pictures(where.root):
            raise BadInput(f"there are no pictures in {where.root}; go to a folder that holds some")
        say(f"indexing {where.root} for the first time; Ctrl-C keeps what is done")
    found = Collection.open(folder, store=store)
    try:
        unknowing = found.is_empty or (words and not found.has_model)
        if not as_is and found.is_writable and (found.has_news or unknowing):
            _add(found)
        if words and found.is_writable and found.awaits_training:
            _train(found)
    except Locked as error:
        say(f"answering from before the news: {error}")
    return found


def _add(found: Collection) -> None:
    from visterm.cli.output import progress_bar
    from visterm.collection import Stopped

    try:
        with progress_bar() as progress:
            report = found.add(remote=False, wait=0.5, progress=progress, on_skip=skipping)
    except Stopped as stopped:
        say(f"stopped; kept so far: {summary(stopped.report)}; the next search goes on from there")
        sys.exit(130)
    if (news := summary(report)) != "nothing new":
        say(news)


def _train(found: Collection) -> None:
    from visterm.cli.output import progress_bar

    say("learning from the captions for the first time")
    with progress_bar() as progress:
        in_vain = found.train_first(progress=progress)
    if in_vain is not None:
        say(in_vain)


def _train_space(found: Collection, space: str) -> None:
    from visterm.cli.output import progress_bar

    with progress_bar() as progress:
        found.train_space(space, progress=progress)


def _report_words(answer: SearchResponse) -> None:
    for word, known in answer.replaced.items():
        if word in answer.unsure:
            say(f"{word!r} is perhaps {', '.join(known)}, which is a guess")
        else:
            say(f"{word!r} is taken for {', '.join(known)}")
    for word, close in answer.unknown.items():
        hint = f"; close to it: {', '.join(close)}" if close else ""
        say(f"the word {word!r} is not known, so it is left out{hint}")


def _object(asked: str, answer: SearchResponse) -> dict[str, Any]:
    return {
        "query": asked,
        "results": [
            {
                "path": str(one.path),
                "score": round(one.score, 6),
                "probability": None if one.probability is None else round(one.probability, 4),
                "evidence": _evidence(one),
                "also": [str(path) for path in one.paths[1:]],
            }
            for one in answer.results
        ],
        "cutoff": answer.cutoff,
        "unknown": answer.unknown,
        "replaced": answer.replaced,
        "partial": None if answer.partial is None else vars(answer.partial),
        "unsure": list(answer.unsure),
    }


def _evidence(one: SearchResult) -> dict[str, Any] | None:
    """What sight and captions add to the score, and the words that the caption holds."""
    if one.parts is None:
        return None
    sight, caption = round(one.parts.sight, 6), round(one.parts.caption, 6)
    return {"sight": sight, "caption": caption, "words": list(one.parts.words)}


def _line(one: SearchResult) -> str:
    said = one.parts.words if one.parts is not None else ()
    says = f"  (its caption says {', '.join(said)})" if said else ""
    return f"{one.score:9.4f}  {shown(one.path)}{says}"


def _print(found: Collection, answer: SearchResponse, *, paths: bool, preview: bool) -> None:
    draw = None
    if preview:
        from visterm.cli.preview import drawer

        draw = drawer()
        if draw is None:
            say("this terminal shows no pictures, as far as it says; kitty, iTerm2, WezTerm do")
    for one in answer.results:
        print(shown(one.path) if paths else _line(one))
        if draw is not None:
            draw(found, one.picture)
    if not answer.results and not paths:
        none = (
            "no picture is certain enough for --good; without it, the nearest ones are shown"
            if answer.cutoff == 0
            else "no picture fits these conditions"
        )
        say(none)

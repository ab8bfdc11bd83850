"""A search from its options to what is printed; no option parser is loaded for it."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from visterm.cli.messages import clock, say, shown, skipping, summary
from visterm.cli.quick_search import SearchOptions
from visterm.collection import WORDS, Collection, Locked, SearchRequest, has_pictures, locate
from visterm.errors import BadInput
from visterm.text.query import MORE_WORDS

if TYPE_CHECKING:
    from visterm.collection import SearchResponse, SearchResult


def run(options: SearchOptions) -> None:
    """Search, and print what was found."""
    if not options.query.strip() and options.like is None and options.sort == "relevance":
        raise BadInput('nothing to search for; write words, as in visterm search "tree snow"')
    request = SearchRequest(
        options.query,
        options.limit,
        space=options.space,
        like=options.like,
        good=options.good,
        fold=options.fold,
        sort=options.sort,
    )
    words = options.like is None and options.space == WORDS
    first = _FirstAnswer(options, request) if words else None
    with _up_to_date(options, words=words, first=first) as found:
        if options.space != WORDS:
            _train_space(found, options.space)
        if first is not None and first.is_given and options.partial:
            say("the next search goes on from there")
            return
        if first is not None and first.is_given:
            say(f"of all {len(found):,} pictures:")
        _show(found, found.search(request), options)


def _show(found: Collection, given: SearchResponse, options: SearchOptions) -> None:
    _report_words(given)
    if options.json:
        from visterm.cli.output import print_json

        print_json(_object(options.query, given))
    else:
        _print(found, given, paths=options.paths, preview=options.preview)


class _FirstAnswer:
    """Answers from the first pictures of a new collection, for whoever reads as it comes."""

    def __init__(self, options: SearchOptions, request: SearchRequest) -> None:
        self.options, self.request = options, request
        self.is_given = False

    @property
    def is_wanted(self) -> bool:
        return self.options.partial or not (self.options.json or self.options.paths)

    def give(self, found: Collection, done: int, total: int) -> None:
        from dataclasses import replace

        from visterm.collection import PartialAnswer

        try:
            given = replace(found.search(self.request), partial=PartialAnswer(done, total))
        except BadInput:
            return  # the whole collection may know better, or says what is wrong
        say(f"from the newest {done:,} of {total:,} pictures; the others are being described")
        _show(found, given, self.options)
        sys.stdout.flush()
        self.is_given = True
        if self.options.partial:
            raise KeyboardInterrupt  # what is done is kept


def _up_to_date(options: SearchOptions, *, words: bool, first: _FirstAnswer | None) -> Collection:
    """The collection, with new pictures added and, if it never learnt, what it can learn learnt."""
    folder, store = options.collection, options.store
    where = locate(folder, store)
    if not where.exists:
        if not has_pictures(where.root):
            raise BadInput(f"there are no pictures in {where.root}; go to a folder that holds some")
        say(f"indexing {where.root} for the first time; Ctrl-C keeps what is done")
    found = Collection.open(folder, store=store)
    try:
        unknowing = found.is_empty or (words and not found.has_model)
        if not options.as_is and found.is_writable and (found.has_news or unknowing):
            _add(found, first)
        if first is not None and first.is_given and options.partial:
            return found
        if words and found.is_writable and found.awaits_training:
            _train(found)
    except Locked as error:
        say(f"answering from before the news: {error}")
    return found


def _add(found: Collection, first: _FirstAnswer | None) -> None:
    from visterm.cli.output import progress_bar
    from visterm.collection import Stopped

    try:
        with progress_bar() as progress:
            report = found.add(
                remote=False,
                wait=0.5,
                progress=progress,
                on_skip=skipping,
                on_first=partial(first.give, found) if first and first.is_wanted else None,
            )
    except Stopped as stopped:
        if first is not None and first.is_given and first.options.partial:
            return
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
    if answer.conditions:
        say(f"only pictures {' and '.join(answer.conditions)}")
    for word, known in answer.replaced.items():
        if word in answer.unsure:
            say(f"{word!r} is perhaps {', '.join(known)}, which is a guess")
        else:
            say(f"{word!r} is taken for {', '.join(known)}")
    for word, close in answer.unknown.items():
        hint = f"; close to it: {', '.join(close)}" if close else ""
        say(f"the word {word!r} is not known, so it is left out{hint}")
    if answer.unknown:
        say(MORE_WORDS)


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
                **one.capture.fields(),
                "frame_time": one.frame_time,
            }
            for one in answer.results
        ],
        "cutoff": answer.cutoff,
        "unknown": answer.unknown,
        "replaced": answer.replaced,
        "partial": None if answer.partial is None else vars(answer.partial),
        "unsure": list(answer.unsure),
        "conditions": list(answer.conditions),
    }


def _evidence(one: SearchResult) -> dict[str, Any] | None:
    """What sight, captions and names add to the score, and the words that these hold."""
    if one.parts is None:
        return None
    fields = one.parts.fields()
    return fields | {part: round(fields[part], 6) for part in ("sight", "caption", "name")}


def _line(one: SearchResult) -> str:
    said = one.parts.says() if one.parts is not None else ""
    at = "" if one.frame_time is None else f" at {clock(one.frame_time)}"
    return f"{one.score:9.4f}  {shown(one.path)}{at}{f'  ({said})' if said else ''}"


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
            draw(found, one.frame or one.picture)
    if not answer.results and not paths:
        none = (
            "no picture is certain enough for --good; without it, the nearest ones are shown"
            if answer.cutoff == 0
            else "no picture fits these conditions"
        )
        say(none)

"""Answers of a collection as lines that a person reads in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from visterm.cli.output import clock, counted, percent, say, short_path, summary

if TYPE_CHECKING:
    from visterm.collection import (
        Added,
        ClusterStatus,
        Collection,
        Description,
        SearchResponse,
        SearchResult,
        Status,
        Trained,
    )


def print_words(response: SearchResponse) -> None:
    """Say on stderr which words were replaced or left out, and which filters apply."""
    from visterm.text.query import MORE_WORDS

    if response.conditions:
        say(f"only pictures {' and '.join(response.conditions)}")
    for word, known in response.replaced.items():
        if word in response.unsure:
            say(f"{word!r} is perhaps {', '.join(known)}, which is a guess")
        else:
            say(f"{word!r} is taken for {', '.join(known)}")
    for word, close in response.unknown.items():
        hint = f"; close to it: {', '.join(close)}" if close else ""
        say(f"the word {word!r} is not known, so it is left out{hint}")
    if response.unknown:
        say(MORE_WORDS)


def print_results(response: SearchResponse, *, only_paths: bool, only_good: bool) -> None:
    """Print results, with a line on stderr where good and possible matches end."""
    if only_paths:
        for result in response.results:
            print(short_path(result.path))
        return
    endings = _endings(response)
    for rank, result in enumerate(response.results):
        if rank in endings:
            say(endings[rank])
        print(_result_line(result), flush=bool(endings))
    if not response.results:
        say(
            "no picture is a good match; without --good, the nearest ones are shown"
            if only_good and response.cutoff == 0
            else "no picture fits these conditions"
        )
    elif only_good:
        _print_how_many_more(response)


def _print_how_many_more(response: SearchResponse) -> None:
    good = response.cutoff or 0
    if response.more and good > len(response.results):
        more = counted(good - len(response.results), "more good match", "more good matches")
        say(f"{more}; -k {good} shows all")
    elif response.possible:
        say(
            f"without --good, {counted(response.possible, 'possible match', 'possible matches')} "
            "would follow"
        )


def _endings(response: SearchResponse) -> dict[int, str]:
    """By the number of a result, what is said before it."""
    if response.cutoff is None or response.possible is None:
        return {}
    good, possible = response.cutoff, response.possible
    if not good and not possible:
        return {0: "nothing here looks like it; the nearest ones are"}
    endings = {good + possible: "the others are unlikely"}
    if good and possible:
        endings[good] = "good matches end here; possible ones follow"
    elif possible:
        endings[0] = "no good match; possible ones are"
    return endings


def _result_line(result: SearchResult) -> str:
    sources = result.evidence.says() if result.evidence is not None else ""
    at = "" if result.frame_time is None else f" at {clock(result.frame_time)}"
    sure = "" if result.probability is None else percent(result.probability)
    return f"{sure:>6}  {short_path(result.path)}{at}{f'  ({sources})' if sources else ''}"


def status_lines(status: Status, cluster: ClusterStatus | None = None) -> Iterator[str]:
    """How much there is of everything, a line each."""
    for name, value in _status_rows(status):
        yield f"{name:<10} {value}"
    if cluster is not None:
        yield f"cluster    {counted(cluster.nodes, 'node')}, {counted(cluster.cores, 'core')}"
        for shard, replicas in cluster.shards.items():
            yield f"shard      {shard}: {counted(replicas, 'replica')}"
        if not cluster.shards:
            yield "shards     none: visterm serve --ray begins some"


def _status_rows(status: Status) -> Iterator[tuple[str, str]]:
    yield "folder", status.folder + ("" if status.up_to_date else " (has changed: visterm add)")
    yield from (("follows", followed) for followed in status.followed if followed)
    yield "pictures", f"{status.pictures:,} in {counted(status.files, 'file')}"
    yield "vanished", f"{status.vanished:,}"
    yield "skipped", f"{status.skipped:,}"
    sources = ", ".join(f"{source} {count:,}" for source, count in status.sources.items())
    yield "captioned", f"{status.captioned:,}" + (f" ({sources})" if sources else "")
    if status.names != "none":
        names = "files and folders" if status.names == "both" else status.names
        yield "names", f"those of {names} count as words"
    yield "features", f"{status.features or 'none'}, {counted(status.described, 'picture')}"
    if status.model is None or status.index is None:
        yield "model", "none yet: visterm train learns from captions"
    else:
        model, index = status.model, status.index
        learnt = counted(model["words"], "word")
        if model["learnt_from"]:
            learnt += f" from {counted(model['learnt_from'], 'picture')}"
        quality = "" if model["avgp"] is None else f", AvgP {100 * model['avgp']:.1f} %"
        yield "model", f"{model['name']} {model['version']}, {learnt}{quality}"
        yield "index", index.get("problem") or counted(index["pictures"], "picture")
    yield "sizes", ", ".join(f"{part} {n / 1e6:,.1f} MB" for part, n in status.bytes.items())
    yield from (
        ("set aside", f"{one}; say it again if it still counts") for one in status.set_aside
    )


def added_lines(collection: Collection, report: Added, seconds: float) -> Iterator[str]:
    """What an ``add`` did, and what to do next."""
    rate = f", {report.extracted / seconds:,.0f} pictures a second" if report.extracted else ""
    yield f"{summary(report)} in {seconds:.1f} s{rate}"
    if report.nodes:
        again = counted(report.retries, "batch", "batches")
        yield f"described on {counted(report.nodes, 'node')}, {again} begun again"
    yield f"{collection.root} holds {counted(len(collection), 'picture')}"
    if collection.needs_training:
        yield "the model learnt from other features; visterm train learns from these"
    if not collection.is_trained and collection.has_captions:
        yield "visterm train learns from their captions"
    elif not collection.is_trained:
        yield "No captions yet: visterm caption PICTURE WORDS, or visterm caption --from TABLE"


def trained_lines(done: Trained, seconds: float) -> Iterator[str]:
    """What a training brought, measured on pictures that were held out."""
    words, pictures = counted(done.words, "word"), counted(done.pictures, "picture")
    yield f"learnt {words} from {pictures} in {seconds:.1f} s"
    held_out = counted(done.held_out, "held-out picture")
    if done.avgp is None:
        yield f"{held_out} {'is' if done.held_out == 1 else 'are'} too few to measure how well"
    else:
        yield f"AvgP on {held_out}: {_hundredths(done.avgp)}"
        yield f"  a random order: {_hundredths(done.untrained_avgp)}"
        if done.previous_avgp is not None:
            yield f"  the model before: {_hundredths(done.previous_avgp)}"
    if done.interrupted:
        yield "you stopped it; this is the best model until then"
    if done.kept == "previous":
        yield "it is worse, so the model before stays; --force takes the new one"
    if done.advice is not None:
        yield done.advice


def _hundredths(fraction: float | None) -> str:
    return "unknown" if fraction is None else f"{100 * fraction:.1f} %"


def description_lines(description: Description) -> Iterator[str]:
    """What is said of one picture."""
    yield short_path(description.path)
    for source, text in description.own.items():
        yield f"  own       {text.replace(chr(10), ' · ')}  ({source})"
    words = [
        f"{likely.word} ({likely.score:.3f})"
        if likely.probability is None
        else f"{likely.word} {likely.probability:.2f}"
        for likely in description.words
    ]
    phrases = [f"{phrase.phrase} {phrase.share:.2f}" for phrase in description.phrases]
    for name, said in (("words", words), ("phrases", phrases)):
        if said:
            yield f"  {name:<8}  {' · '.join(said)}"
    for near in description.captions:
        yield f"  like      {near.score:.2f}  {near.text}  ({short_path(near.path)})"

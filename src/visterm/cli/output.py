"""What a command prints: an answer on stdout, as lines or JSON; progress and warnings on stderr."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.progress import Progress, silent

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
        Url,
    )


AVGP = "average precision"
"""How high up the pictures that answer stand in a ranking: 100 % where all of them come first."""
SOURCES = {"person": "by you", "table": "from a table", "ocr": "read in the picture"}
"""Where captions come from, as people say it."""
_MOST_TIMES = 11.5
"""Of a factor of 100,000 and more nobody wants to know how much more."""


def show(answer: object, lines: Iterable[str] | str = (), *, json: bool) -> None:
    """Print an answer: lines for a person, or one JSON object where ``json`` is asked for."""
    if json:
        from visterm.json_text import json_text

        print(json_text(answer, indent=2))
        return
    for line in [lines] if isinstance(lines, str) else lines:
        print(line)


def say(line: str) -> None:
    """One line on stderr."""
    print(f"visterm: {line}", file=sys.stderr)


def asked(questions: Mapping[int, str]) -> dict[int, bool]:
    """What is typed, or comes from a program, about pictures: y, n, s to skip one, q to end."""
    answers: dict[int, bool] = {}
    for picture, question in questions.items():
        print(f"{question} [y/n/s/q] ", end="", file=sys.stderr, flush=True)
        typed = sys.stdin.readline().strip().lower()
        if typed in ("y", "yes", "n", "no"):
            answers[picture] = typed.startswith("y")
        elif typed != "s":
            break
    return answers


def skipping(path: str, reason: str) -> None:
    """One line on stderr for each file that cannot be used."""
    print(f"skipping {path}: {reason}", file=sys.stderr)


def short_path(path: Path | Url) -> str:
    """A path as somebody standing here would type it; a URL as it is."""
    if isinstance(path, str):
        return path
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.path.join("..", "..")) else relative


def counted(count: int, noun: str, plural: str = "") -> str:
    """So many of something.

    >>> counted(1, "node"), counted(2000, "node"), counted(0, "retry", "retries")
    ('1 node', '2,000 nodes', '0 retries')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def percent(probability: float) -> str:
    """A probability as people read it, rounded down as on the page: 49.7 % is no good match.

    >>> percent(0.743), percent(0.497), percent(0.0004), percent(0.9999)
    ('74 %', '49 %', '< 1 %', '> 99 %')
    """
    if probability < 0.01:
        return "< 1 %"
    return "> 99 %" if probability > 0.99 else f"{int(100 * probability + 1e-9)} %"


def clock(seconds: float) -> str:
    """A time in a video.

    >>> clock(72.5), clock(3661)
    ('1:12', '1:01:01')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def times(log_factor: float, other: str) -> str:
    """By how much something is likelier than it is otherwise, as people say it.

    >>> times(6.16, "there"), times(-1.2, "there"), times(0.01, "there")
    ('470 times as likely as there', '3.3 times less likely than there', 'as likely as there')
    """
    factor = math.exp(min(abs(log_factor), _MOST_TIMES))
    if factor < 1.05:
        return f"as likely as {other}"
    much = f"{factor:.2g}" if factor < 100 else f"{int(float(f'{factor:.2g}')):,}"
    return f"{much} times " + (
        f"as likely as {other}" if log_factor > 0 else f"less likely than {other}"
    )


def summary(report: Added) -> str:
    """What an ``add`` did, in one line; "" where it found nothing."""
    names = ("new", "changed", "moved", "duplicates", "returned", "vanished")
    counts = {name: getattr(report, name) for name in names} | {"skipped": len(report.skipped)}
    kinds = [(n, name.removesuffix("s") if n == 1 else name) for name, n in counts.items() if n]
    if not kinds:
        return ""
    (count, kind), *others = kinds
    first = (
        f"{count:,} {kind}" if kind.startswith("duplicate") else counted(count, f"{kind} picture")
    )
    return ", ".join([first, *(f"{n:,} {name}" for n, name in others)])


def lines_now_and_then(seconds: float = 30.0) -> Progress:
    """Progress as lines on stderr, one in so many seconds, for logs and pipes.

    >>> import contextlib
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     lines_now_and_then(0)("training", 1_000, 20_000)
    training: 1,000 of 20,000
    """
    last = time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= seconds:
            last = now
            print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    return report


@contextmanager
def progress_bar(*, hidden: bool = False) -> Iterator[Progress]:
    """A bar for each kind of work on stderr; a line now and then where that is no terminal.

    What stands behind a dot in the middle (``adding pictures · 2 nodes``) is shown beside its rate.
    """
    if hidden or not sys.stderr.isatty():
        yield silent if hidden else lines_now_and_then()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int) -> None:
            kind, _, beside = what.partition(" · ")
            if kind not in tasks:
                tasks[kind] = bars.add_task(kind, total=total, rate="")
            speed = bars.tasks[tasks[kind]].speed
            rate = ", ".join(filter(None, [speed and f"{speed:,.0f} a second", beside]))
            bars.update(tasks[kind], completed=done, total=total, rate=rate)

        yield report


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
    if below := _below(response, only_good=only_good):
        say(below)


def _below(response: SearchResponse, *, only_good: bool) -> str:
    """What is said below the results."""
    shown, good = len(response.results), response.cutoff
    if not shown:
        if only_good and good == 0:
            return "no picture is a good match; without --good, the nearest ones are shown"
        return "no picture fits these conditions"
    if good is None:
        unknown = "where good matches end is not known for these words, so all are shown"
        own = sum(result.judged is True for result in response.results)
        taught = (
            f"learnt from your yes to {counted(own, 'picture')}; how likely others are is not known"
        )
        return unknown if only_good else taught if own else ""
    if good > shown:
        more = counted(good - shown, "more good match", "more good matches")
        return f"{more}; -k {good} shows all"
    if only_good and response.possible:
        possible = counted(response.possible, "possible match", "possible matches")
        return f"good matches end here; without --good, {possible} would follow"
    return ""


def _endings(response: SearchResponse) -> dict[int, str]:
    """By the number of a result, what is said before it."""
    if response.cutoff is None or response.possible is None:
        return {}
    good, possible = response.cutoff, response.possible
    if not good and not possible:
        return {0: "nothing here looks like it; the nearest ones are shown"}
    if not possible:
        return {good: "good matches end here; the others are unlikely"}
    begin = (
        "good matches end here; possible ones follow"
        if good
        else "no good match; these are possible"
    )
    return {good: begin, good + possible: "possible matches end here; the others are unlikely"}


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
    if status.vanished:
        yield "vanished", f"{status.vanished:,}; they come back with their files"
    if status.skipped:
        yield "skipped", f"{counted(status.skipped, 'file')} that cannot be read"
    counts = status.sources.items()
    sources = ", ".join(f"{SOURCES.get(source, source)} {count:,}" for source, count in counts)
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
        quality = "" if model["avgp"] is None else f"; {AVGP} {_hundredths(model['avgp'])}"
        yield "model", f"{model['name']}, version {model['version']}, {learnt}{quality}"
        if index.get("problem"):
            yield "index", index["problem"]
    yield "sizes", ", ".join(f"{part} {n / 1e6:,.1f} MB" for part, n in status.bytes.items())
    yield from (
        ("set aside", f"{change}; say it again if it still counts") for change in status.set_aside
    )


def added_lines(collection: Collection, report: Added, seconds: float) -> Iterator[str]:
    """What an ``add`` did, and what to do next."""
    rate = f", {report.extracted / seconds:,.0f} pictures a second" if report.extracted else ""
    yield f"{summary(report) or 'nothing new'}, {seconds:.1f} s{rate}"
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
    held_out = f"{counted(done.held_out, 'captioned picture')} that it did not learn from"
    if done.avgp is None:
        yield f"{held_out} {'is' if done.held_out == 1 else 'are'} too few to measure how well"
    else:
        yield f"{AVGP} on {held_out}: {_hundredths(done.avgp)}"
        yield f"  of a random order: {_hundredths(done.untrained_avgp)}"
        if done.previous_avgp is not None:
            yield f"  of the model before: {_hundredths(done.previous_avgp)}"
    if done.interrupted:
        yield "you stopped it; this is the best model until then"
    if done.kept == "previous":
        yield "it is worse, so the model before stays; --force takes the new one"


def _hundredths(fraction: float | None) -> str:
    return "unknown" if fraction is None else f"{100 * fraction:.1f} %"


def description_lines(description: Description) -> Iterator[str]:
    """What is said of one picture."""
    yield short_path(description.path)
    for source, text in description.own.items():
        yield f"  own       {text.replace(chr(10), ' · ')}  ({source})"
    words = [
        likely.word
        if likely.probability is None
        else f"{likely.word} {percent(likely.probability)}"
        for likely in description.words
    ]
    phrases = [f"{phrase.phrase} {percent(phrase.share)}" for phrase in description.phrases]
    for name, texts in (("words", words), ("phrases", phrases)):
        if texts:
            yield f"  {name:<8}  {' · '.join(texts)}"
    for near in description.captions:
        yield f"  like      {near.text}  ({short_path(near.path)})"

"""Has anything that people notice become slower? A dozen ratios in at most six minutes.

    python -m benchmarks.headlines --json [--write]

Every value is a ratio to a yardstick that is measured in the same run, so that machines can be
compared as far as that goes; ``memory_mb`` alone is what it is. What fell by more than a quarter
against ``benchmarks/headlines.json`` is named under ``fell``, and the exit status is 1 then;
runs of other sizes than the usual ones are compared with nothing.
``--write`` makes this run the one that later ones are compared with.

=================== ======================================================================== ======
search_1, search_3  a search of so many words: times as fast as NumPy over float32 columns   higher
search_over_limit   … of 3 words over 4 reads of its columns and 1 ms                        lower
first_use_over_read a word nobody has asked for, over reading all rows                       lower
click_over_read     from a click to its new ranking, over the same                           lower
train_growth        training in this collection over training in one of a tenth              lower
serve               searches a second over HTTP, times the processor seconds of a yardstick  higher
serve_work          processor time of such a search over the yardstick                       lower
memory_mb           megabytes that the server has to itself                                  lower
cold_start          ``visterm search`` over ``import numpy``, whole processes                lower
pamir               triplets of PAMIR's loop: times as fast as the same in NumPy             higher
extraction          the CNN's vector of a picture from its file over the yardstick           lower
add                 ``Collection.add`` of a picture over that extraction                     lower
=================== ======================================================================== ======

The yardstick is one thread writing and reading JSON, some milliseconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import cold_start, large_collection, pamir, serve
from benchmarks.common import median_ms, say, show
from benchmarks.drawn_collection import make
from benchmarks.pamir_problem import draw_pictures
from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.features.cnn import CNN
from visterm.models import Pamir
from visterm.models.supervision import Supervision

KEPT = Path(__file__).with_name("headlines.json")
HIGHER = ("search_1", "search_3", "serve", "pamir")
"""Those of which more is better; of the others less."""
QUARTER = 0.75
WIDTH, WORDS = 256, 300
TRIPLETS = 200_000
SIZES = ("pictures", "seconds", "triplets", "rounds")
"""Options without which alone a run can be compared with the one that was written."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.headlines", description=__doc__)
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=8.0, help="of load on the server")
    parser.add_argument("--triplets", type=int, default=TRIPLETS, help="of PAMIR's loop")
    parser.add_argument("--rounds", type=int, default=5, help="of cold starts")
    parser.add_argument("--write", action="store_true", help=f"write {KEPT.name}")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    began = time.perf_counter()
    found = {name: round(value, 3) for name, value in measure(given).items()}
    is_usual = all(getattr(given, name) == parser.get_default(name) for name in SIZES)
    kept = json.loads(KEPT.read_text())["headlines"] if KEPT.exists() and is_usual else {}
    fell = fallen(kept, found)
    about = {"headlines": found, "seconds": round(time.perf_counter() - began)}
    if given.write:
        KEPT.write_text(json.dumps(about, indent=1) + "\n")
    show({**about, "before": kept, "fell": fell}, as_json=given.json)
    return int(bool(fell))


def fallen(before: dict[str, float], now: dict[str, float]) -> list[str]:
    """What has become worse by more than a quarter.

    >>> fallen({"search_1": 10.0, "cold_start": 2.0}, {"search_1": 7.0, "cold_start": 2.6})
    ['search_1: 7.0, was 10.0']
    """
    found = []
    for name in sorted(before.keys() & now.keys()):
        old, new = before[name], now[name]
        is_worse = new < QUARTER * old if name in HIGHER else QUARTER * new > old
        found += [f"{name}: {new}, was {old}"] if is_worse else []
    return found


def measure(given: argparse.Namespace) -> dict[str, float]:
    yardstick = _yardstick()
    with tempfile.TemporaryDirectory(prefix="visterm-headlines-") as temporary:
        seconds = {}
        for pictures in (given.pictures // 20, given.pictures // 10, given.pictures):
            folder = Path(temporary, str(pictures))  # the first of them loads and compiles
            folder.mkdir()
            seconds[pictures] = make(folder, pictures, words=WORDS, width=WIDTH)
        large = folder
        found = {"train_growth": seconds[given.pictures] / seconds[given.pictures // 10]}
        say("searches and clicks")
        with Collection.open(large) as collection:
            about = large_collection.measure(collection, WIDTH, WORDS, rounds=9)
        for words in (1, 3):
            found[f"search_{words}"] = about["search"][words]["search_over_numpy"]
        found["search_over_limit"] = about["search"][3]["search_over_limit"]
        found |= {name: about[name] for name in ("first_use_over_read", "click_over_read")}
        say("the server")
        asked = argparse.Namespace(
            pictures=given.pictures, connections=32, k=20, client="python", seconds=given.seconds
        )
        with serve.serving(large) as (process, url):
            served = serve.measure(process, url, large, asked)
        found["serve"] = served["searches_a_second"] * yardstick / 1000
        found["serve_work"] = served["processor_ms_a_search"] / yardstick
        found["memory_mb"] = served["memory_mb"]
        say("cold starts")
        found["cold_start"] = cold_start.measure(large, given.rounds, given.pictures)["ratio_numpy"]
        say("PAMIR's loop")
        found["pamir"] = _pamir(given.triplets)
        say("pictures")
        found |= _pictures(Path(temporary, "pictures"), min(64, given.pictures // 100))
    return found


def _yardstick() -> float:
    """Milliseconds of a piece of work that is no part of visterm."""
    content = [{"number": n, "text": str(n), "values": [n / 7] * 4} for n in range(500)]
    return _ms(lambda: json.loads(json.dumps(content)), 50)


def _pamir(triplets: int) -> float:
    with threadpool_limits(limits=1):
        training, _ = draw_pictures()
        model = Pamir(C=pamir.C, max_iter=triplets, max_words=None)
        drawn = model._triplets(Supervision(training.vectors, training.captions))
        pamir.warm_up(training, drawn)
        fit = statistics.median(
            pamir.timed(lambda: model.fit(training.vectors, training.captions)) for _ in range(3)
        )
        by_numpy = pamir.measure_numpy(training, drawn, triplets, min(1000, triplets // 10))
    return float(by_numpy["gram"] * triplets / fit)


def _pictures(folder: Path, count: int) -> dict[str, float]:
    paths = [path for path, _ in draw_scenes(folder, count, seed=1)]
    cnn = CNN().fit([])
    cnn.transform(paths[:8])
    yardstick = _yardstick()  # now, as the machine may be busy otherwise than before
    extraction = _ms(lambda: cnn.transform(paths), 3) / count
    yardstick = (yardstick + _yardstick()) / 2
    with Collection.open(folder) as collection:
        began = time.perf_counter()
        collection.add(features="cnn")
        added = 1000 * (time.perf_counter() - began) / count
    return {"extraction": extraction / yardstick, "add": added / extraction}


def _ms(call: Callable[[], Any], times: int) -> float:
    return median_ms([call] * times)


if __name__ == "__main__":
    raise SystemExit(main())

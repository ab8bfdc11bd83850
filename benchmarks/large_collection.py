"""What does a picture cost, on disk and in time, as a collection grows?

    python -m benchmarks.large_collection --json [--sizes 10000 100000 1000000 10000000]

Collections of drawn vectors (:mod:`benchmarks.drawn_collection`), 1,280 numbers and about 1,500
words (64 and those of the starter), of 10 million pictures 64 numbers and 256 words. By size: bytes
a picture of catalogue, vectors and index; the time to open and search first, to search, from a
click on an answer to its new ranking, to add 256 pictures whose vectors are known, to describe one,
and to train and map all. ``click_over_read`` is a click over one reading of all vectors as they are
stored, by as many threads; ``sync_ms`` is what the disk takes for a click's syncs, and is part of
the click. Clicks are taken back afterwards.
``--plot FILE.svg`` draws it. ``--folder`` keeps the collections there, one a size, and uses those
that it holds; ``--make`` makes them and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from benchmarks.click_speed import syncs
from benchmarks.common import median_ms, say, show
from benchmarks.drawn_collection import WIDTH, drawn_vectors, make, put
from visterm.collection import Collection
from visterm.collection.feedback.feature_matrix import feature_matrix
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.versions import current
from visterm.collection.training.index_sync import catch_up
from visterm.compute.row_threads import n_threads

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
HUGE = 5_000_000
"""From here on words and vectors are fewer and shorter, so that one machine can hold them."""
NEW = 256
TIMES = ("search_ms", "click_ms", "add_ms_a_picture", "describe_ms", "open_ms", "train_s")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.large_collection", description=__doc__
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="pictures")
    parser.add_argument(
        "--words", type=int, help="64 beside the starter's, of 5 million pictures and more 256"
    )
    parser.add_argument("--width", type=int, help="numbers of a vector: 1,280, or then 64")
    parser.add_argument("--rounds", type=int, default=20, help="searches and clicks")
    parser.add_argument("--folder", type=Path, help="keep the collections here, or use those here")
    parser.add_argument("--make", action="store_true", help="only make the collections")
    parser.add_argument("--plot", type=Path, help="draw the table into this file")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="visterm-large-") as temporary:
        sizes = [_measured(size, given, given.folder or Path(temporary)) for size in given.sizes]
    if given.plot:
        plot(sizes, given.plot)
    show({"sizes": sizes}, as_json=given.json)
    return 0


def _measured(pictures: int, given: argparse.Namespace, kept: Path) -> dict[str, Any]:
    words = given.words or (256 if pictures >= HUGE else 64)
    width = given.width or (64 if pictures >= HUGE else WIDTH)
    folder, made = kept / str(pictures), kept / f"{pictures}.json"
    if not made.exists():
        folder.mkdir(parents=True)
        train_s = make(folder, pictures, words=words, width=width)
        about = {"pictures": pictures, "captioned_words": words, "width": width}
        about |= {"words": predicted(folder), **disk(folder, pictures)}
        made.write_text(json.dumps({**about, "train_s": round(train_s, 1)}))
    found: dict[str, Any] = json.loads(made.read_text())
    if given.make:
        return found
    begin = time.perf_counter()
    with Collection.open(folder) as collection:
        collection.search("word001", k=20)
        found["open_ms"] = round(1000 * (time.perf_counter() - begin), 1)
        found |= measure(collection, found["width"], min(words, 256), given.rounds)
    if not given.folder:
        shutil.rmtree(folder)
    return found


def predicted(folder: Path) -> int:
    """How many words the model predicts, each of which has a column in the index."""
    with Collection.open(folder) as collection:
        version = current(collection.catalogue)
        assert version is not None  # it has just been trained
        return version.words


def disk(folder: Path, pictures: int) -> dict[str, Any]:
    """Bytes a picture, and of what."""
    store = folder / ".visterm"
    sizes = {path: path.stat().st_size for path in store.rglob("*") if path.is_file()}

    def below(name: str) -> float:
        return sum(n for path, n in sizes.items() if path.is_relative_to(store / name)) / pictures

    parts = {name: round(below(name), 1) for name in ("features", "index", "models")}
    catalogue = sum(n for path, n in sizes.items() if path.name.startswith("catalogue")) / pictures
    return {
        "bytes_a_picture": round(sum(sizes.values()) / pictures, 1),
        "bytes": parts | {"catalogue": round(catalogue, 1)},
    }


def measure(collection: Collection, width: int, words: int, rounds: int) -> dict[str, Any]:
    collection.prepare()
    queries = [f"word{7 * n % words:03d} word{(7 * n + 3) % words:03d}" for n in range(rounds + 1)]
    for query in queries:
        collection.search(query, k=20)
    search_ms = median_ms(partial(collection.search, query, k=20) for query in queries)
    clicks = _clicks(collection, words, rounds + 1)
    next(clicks)()
    read_ms = median_ms([_reading(collection)] * 5)
    click_ms = median_ms(clicks)
    collection.forget_judgements()
    first = max(collection.catalogue.last_number("pictures"), len(collection))
    begin = time.perf_counter()
    _add(collection, width, first)
    add_ms = 1000 * (time.perf_counter() - begin) / NEW
    described = [partial(collection.describe, n, k=10) for n in range(1, 6)]
    say(f"measured {len(collection):,} pictures")
    return {
        "search_ms": round(search_ms, 2),
        "click_ms": round(click_ms, 1),
        "read_ms": round(read_ms, 1),
        "click_over_read": round(click_ms / read_ms, 2),
        "sync_ms": round(median_ms([lambda: syncs(collection.store)] * 5), 1),
        "add_ms_a_picture": round(add_ms, 2),
        "describe_ms": round(median_ms(described), 2),
    }


def _clicks(collection: Collection, words: int, count: int) -> Iterator[Callable[[], None]]:
    """Clicks on what searches show; what was judged before would not be learnt again."""
    for number in range(count):
        query = f"word{7 * number % words:03d}"
        found = collection.search(query, k=50).results
        new = [one.picture for one in found if one.judged is None]
        yield partial(_click, collection, query, new[number % len(new)], number % 2 == 0)


def _click(collection: Collection, query: str, picture: int, relevant: bool) -> None:
    collection.judge(query, picture, relevant)
    collection.search(query, k=50)


def _reading(collection: Collection) -> Any:
    """Reads every stored byte of the vectors once, by as many threads as a click does."""
    version = current(collection.catalogue)
    assert version is not None  # it has just been trained
    blocks = feature_matrix(collection.catalogue, version.extractor).blocks
    codes = [np.asarray(block.arrays["codes"]).reshape(-1) for _, block in blocks]
    whole = [some[: some.size // 8 * 8].view(np.int64) for some in codes]

    def read() -> None:
        with ThreadPoolExecutor(n_threads()) as pool:
            list(pool.map(_sum, whole))

    read()
    return read


@njit(nogil=True)
def _sum(numbers):  # type: ignore[no-untyped-def]
    total = 0
    for number in numbers:
        total += number
    return total


def _add(collection: Collection, width: int, first: int) -> None:
    catalogue = collection.catalogue
    version = current(catalogue)
    assert version is not None
    with catalogue.writing("adding"):
        vectors = drawn_vectors(np.random.default_rng(1), NEW, width)
        put(catalogue, Rows(catalogue, version.extractor), vectors, first)
        catch_up(catalogue)


def plot(sizes: list[dict[str, Any]], path: Path) -> None:
    """Times, and bytes a picture, against pictures, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    times, space = figure.subplots(1, 2, width_ratios=(3, 2))
    pictures = [one["pictures"] for one in sizes]
    for name in TIMES:
        values = [one[name] * (1000 if name.endswith("_s") else 1) for one in sizes]
        times.plot(pictures, values, "o-", label=name.replace("_ms", "").replace("_s", ""))
    times.set(xscale="log", yscale="log", xlabel="pictures", ylabel="ms")
    for name in ("features", "index", "catalogue", "models"):
        space.plot(pictures, [one["bytes"][name] for one in sizes], "o-", label=name)
    space.set(xscale="log", yscale="log", xlabel="pictures", ylabel="bytes a picture")
    for axes in (times, space):
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    raise SystemExit(main())

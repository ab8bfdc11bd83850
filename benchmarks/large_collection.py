"""What does a search, a click and a picture cost as a collection grows?

    python -m benchmarks.large_collection --json [--sizes 10000 100000 1000000 10000000]

Collections of drawn vectors (:mod:`benchmarks.drawn_collection`), 1,280 numbers and about 1,500
words (64 and those of the starter), of 10 million pictures 64 numbers and 256 words. By size:

- ``search``, by the number of words: a whole `Collection.search` with its cut-off; beside it
  reading the 16-bit columns of the same words, and adding up the same columns in float32 by NumPy
  with `argpartition`. ``search_over_numpy`` is how many times as fast as NumPy it is,
  ``search_over_limit`` its time over four times the read and a millisecond.
- ``first_use_over_read``: a search for a word that nobody has asked for yet, over reading all rows;
  ``click_over_read``: the same from a click to its new ranking. Clicks are taken back.
- ``bytes_a_picture`` before any word is asked for, and of what; ``train_s`` and, over the smallest
  size, ``train_growth``; the time to open and search first, to add 256 pictures whose vectors are
  known, to describe one.

Reading is summing whole numbers, by as many threads. ``--folder`` keeps the collections there, one
a size, and uses those that it holds.
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
from numpy.typing import NDArray

from benchmarks.common import median_ms, say, show
from benchmarks.drawn_collection import WIDTH, drawn_vectors, make, put
from benchmarks.rankings import described_pictures
from visterm.collection import Collection
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.snapshot import reading
from visterm.index.codes import Codes, magnitudes
from visterm.threads import n_threads

SIZES = (10_000, 100_000, 1_000_000)
HUGE = 5_000_000
"""From here on words are more and vectors shorter, so that one machine can hold them."""
LENGTHS = (1, 2, 3, 5)
"""Words of a query."""
ASKED = 24
"""Words that searches are of; the others are first used, and clicked."""
K, NEW = 20, 256


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.large_collection", description=__doc__
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="pictures")
    parser.add_argument("--words", type=int, help="64, of 5 million pictures and more 256")
    parser.add_argument("--width", type=int, help="numbers of a vector: 1,280, or then 64")
    parser.add_argument("--rounds", type=int, default=10, help="searches and clicks")
    parser.add_argument("--folder", type=Path, help="keep the collections here, or use those here")
    parser.add_argument("--make", action="store_true", help="only make the collections")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="visterm-large-") as temporary:
        sizes = [_measured(size, given, given.folder or Path(temporary)) for size in given.sizes]
    for size in sizes:
        size["train_growth"] = round(size["train_s"] / sizes[0]["train_s"], 2)
    show({"sizes": sizes, "threads": n_threads()}, as_json=given.json)
    return 0


def _measured(pictures: int, given: argparse.Namespace, kept: Path) -> dict[str, Any]:
    words = given.words or (256 if pictures >= HUGE else 64)
    width = given.width or (64 if pictures >= HUGE else WIDTH)
    folder, made = kept / str(pictures), kept / f"{pictures}.json"
    if not made.exists():
        folder.mkdir(parents=True)
        train_s = make(folder, pictures, words=words, width=width)
        about = {"pictures": pictures, "captioned_words": words, "width": width}
        about |= {**disk(folder, pictures), "train_s": round(train_s, 2)}
        made.write_text(json.dumps(about))
    found: dict[str, Any] = json.loads(made.read_text())
    if given.make:
        return found
    for columns in folder.glob(".visterm/features/*/*/columns"):
        shutil.rmtree(columns)  # what an earlier measurement asked for
    begin = time.perf_counter()
    with Collection.open(folder) as collection:
        collection.search("word001", k=K)
        found["open_ms"] = round(1000 * (time.perf_counter() - begin), 1)
        found |= measure(collection, found["width"], words, given.rounds)
    if not given.folder:
        shutil.rmtree(folder)
    return found


def disk(folder: Path, pictures: int) -> dict[str, Any]:
    """Bytes a picture, and of what."""
    store = folder / ".visterm"
    sizes = {path: path.stat().st_size for path in store.rglob("*") if path.is_file()}

    def share(name: str) -> float:
        inside = (size for path, size in sizes.items() if path.parts[len(store.parts)] == name)
        return round(sum(inside) / pictures, 1)

    parts = {name: share(name) for name in ("features", "models", "catalogue.sqlite")}
    return {"bytes_a_picture": round(sum(sizes.values()) / pictures, 1), "bytes": parts}


def measure(collection: Collection, width: int, words: int, rounds: int) -> dict[str, Any]:
    collection.prepare_searches()
    collection.prepare_searches()
    asked = min(ASKED, words // 2)
    found: dict[str, Any] = {"search": {n: searches(collection, asked, n, rounds) for n in LENGTHS}}
    unused = [f"word{number:03d}" for number in range(asked, words)]
    first, clicked = unused[: min(rounds, len(unused) // 2)], unused[len(unused) // 2 :]
    read_ms = median_ms([rows_reader(collection)] * 5)
    first_ms = median_ms(partial(collection.search, word, k=K) for word in first)
    click_ms = median_ms(_clicks(collection, clicked[:rounds]))
    collection.forget_judgements()
    number = max(collection.catalogue.last_number("pictures"), len(collection))
    add_ms = median_ms([partial(_add, collection, width, number)])
    described = [partial(collection.describe, n, k=10) for n in range(1, 6)]
    say(f"measured {len(collection):,} pictures")
    return found | {
        "rows_read_ms": round(read_ms, 2),
        "first_use_ms": round(first_ms, 2),
        "first_use_over_read": round(first_ms / read_ms, 2),
        "click_ms": round(click_ms, 2),
        "click_over_read": round(click_ms / read_ms, 2),
        "add_ms_a_picture": round(add_ms / NEW, 3),
        "describe_ms": round(median_ms(described), 2),
    }


def searches(collection: Collection, asked: int, length: int, rounds: int) -> dict[str, float]:
    """Queries of so many words, against reading and adding up the same columns."""
    numbers = [[(7 * n + 3 * m) % asked for m in range(length)] for n in range(rounds)]
    texts = [" ".join(f"word{number:03d}" for number in some) for some in numbers]
    for text in texts:
        collection.search(text, k=K)
    search_ms = median_ms(partial(collection.search, text, k=K) for text in texts)
    columns = [columns_of(collection, text) for text in texts]
    readers = [reader(list(some)) for some in columns]
    read_ms = median_ms(readers)
    floats = [-magnitudes()[code] for code in columns[0]]
    numpy_ms = median_ms([partial(by_numpy, floats)] * max(3, rounds // 2))
    return {
        "search_ms": round(search_ms, 3),
        "read_ms": round(read_ms, 3),
        "numpy_ms": round(numpy_ms, 3),
        "search_over_numpy": round(numpy_ms / search_ms, 2),
        "search_over_read": round(search_ms / read_ms, 2),
        "search_over_limit": round(search_ms / (4 * read_ms + 1), 2),
    }


def columns_of(collection: Collection, text: str) -> list[Codes]:
    """The columns of a query's words."""
    with reading(collection.catalogue) as now:
        model, rows = now.words, described_pictures(now).file
        numbers = [model.vocabulary.number(word) for word in text.split()]
        weights = [model.word_weights(number) for number in numbers if number is not None]
        return now.columns.columns(rows, weights)


def by_numpy(columns: list[NDArray[np.float32]]) -> NDArray[np.int64]:
    """The straightforward way: add columns up, and take the best."""
    scores = np.add.reduce(columns) if len(columns) > 1 else columns[0]
    best = np.argpartition(-scores, K)[:K]
    return best[np.argsort(-scores[best])]


def rows_reader(collection: Collection) -> Callable[[], object]:
    """What reads every stored byte of all rows."""
    with reading(collection.catalogue) as now:
        rows = described_pictures(now).file
    codes = np.asarray(np.memmap(rows.folder / "codes", np.uint8, "r"))
    read = reader([codes])
    read()
    return read


def reader(arrays: list[Any]) -> Callable[[], object]:
    """What reads arrays once, in parts, by as many threads as a search has."""
    whole = [one[: one.size * one.itemsize // 8 * (8 // one.itemsize)] for one in arrays]
    numbers = [one.view(np.int64) for one in whole]
    _sum(numbers[0])  # compile
    if sum(one.nbytes for one in numbers) < _WORTH_THREADS:
        return lambda: [_sum(one) for one in numbers]
    shares = [[np.array_split(one, n_threads())[n] for one in numbers] for n in range(n_threads())]

    def read() -> None:
        list(_pool.map(lambda share: [_sum(part) for part in share], shares))

    return read


_pool = ThreadPoolExecutor(n_threads())
_WORTH_THREADS = 1 << 21
"""Bytes from which on two threads read sooner than one."""


@njit(nogil=True)
def _sum(numbers):  # type: ignore[no-untyped-def]
    total = 0
    for number in numbers:
        total += number
    return total


def _clicks(collection: Collection, words: list[str]) -> Iterator[Callable[[], None]]:
    """A click on what a search shows, and the ranking after it, of each word."""
    for number, word in enumerate(words):
        picture = collection.search(word, k=K).results[number % 10].picture
        yield partial(_click, collection, word, picture, number % 2 == 0)


def _click(collection: Collection, query: str, picture: int, relevant: bool) -> None:
    collection.judge(query, picture, relevant)
    collection.search(query, k=K)


def _add(collection: Collection, width: int, first: int) -> None:
    catalogue = collection.catalogue
    with reading(catalogue) as now:
        extractor = now.words.version.extractor
    with catalogue.writing("adding"):
        vectors = drawn_vectors(np.random.default_rng(1), NEW, width)
        put(catalogue, Rows(catalogue, extractor), vectors, first)


if __name__ == "__main__":
    raise SystemExit(main())

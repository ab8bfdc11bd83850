"""What does a filter cost a search of a million pictures?

    python -m benchmarks.filters --json [--pictures 1000000]

A collection of drawn vectors (:mod:`benchmarks.drawn_collection`) whose pictures were taken at
random times, at random places and lie in folders. The same queries are asked without a filter and
with filters by time, place and folder that let 0.1, 10 and 90 % through. ``ratios`` are medians of
filtered over unfiltered searches, by what the filter asks and what it leaves, both asked before;
``ratios_of_new_queries`` the same of queries that nobody has asked before; ``first_ms`` is what the
first question with a filter takes, when nobody has used it since files last changed.
``exact`` says whether every answer was the same as that of ranking all pictures and leaving out
those that the filter does not let through.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import median_ms, say, show
from benchmarks.drawn_collection import make
from benchmarks.rankings import described_pictures, ranked
from visterm.collection import Collection
from visterm.collection.search.filters import allowed
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.snapshot import reading
from visterm.text.query import parse_query

SHARES = {"0.1%": 0.001, "10%": 0.1, "90%": 0.9}
_BEGIN = 946_684_800  # 2000-01-01
_DAYS = 7000
K = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.filters", description=__doc__)
    parser.add_argument("--pictures", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=256)
    parser.add_argument("--width", type=int, default=64, help="numbers of a vector")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="where the collection is made")
    parser.add_argument("--collection", type=Path, help="keep it here, and take it if it is there")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    folder = given.collection or Path(tempfile.mkdtemp(prefix="visterm-filters-", dir=given.folder))
    try:
        if not (folder / ".visterm").exists():
            folder.mkdir(exist_ok=True)
            make(folder, given.pictures, words=given.words, width=given.width)
            with Collection.open(folder) as collection:
                _scatter(collection.catalogue, given.pictures)
        with Collection.open(folder) as collection:
            show(_measured(collection, given), as_json=given.json)
    finally:
        if given.collection is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def _scatter(catalogue: Catalogue, pictures: int) -> None:
    """Times and places at random; a day and a kilometre hold the same share of all pictures."""
    random = np.random.default_rng(7)
    taken = _BEGIN + 86_400 * random.integers(0, _DAYS, pictures)
    far = np.sqrt(random.random(pictures)) * 100 / 111.195  # even over a disc of 100 km
    angle = random.random(pictures) * 2 * np.pi
    north, east = (far * np.sin(angle)).tolist(), (far * np.cos(angle)).tolist()
    with catalogue.writing("taking pictures"), catalogue.transaction() as db:
        db.executemany(
            """UPDATE places SET taken = ?, taken_from = 'exif', latitude = ?, longitude = ?
                WHERE picture = ?""",
            zip(taken.tolist(), north, east, range(1, pictures + 1), strict=True),
        )
    say("pictures have times and places")


def filters(share: float, folders: int) -> dict[str, str]:
    """A filter of each kind that lets this share through."""
    last = time.strftime("%Y-%m-%d", time.gmtime(_BEGIN + 86_400 * round(share * _DAYS)))
    some = " ".join(f"in:folder-{n:05d}" for n in range(max(1, round(share * folders))))
    found = {"time": f"before:{last}", "place": f"near:0,0,{100 * share**0.5:.4f}km"}
    return found | ({"folder": some} if share * folders <= 2 else {})


def _measured(collection: Collection, given: argparse.Namespace) -> dict[str, Any]:
    words = min(given.words, 200)
    queries = [
        f"word{7 * n % words:03d} word{(7 * n + 3) % words:03d}" for n in range(given.queries)
    ]
    folders = int(collection.catalogue.one("SELECT count(DISTINCT folder) FROM places"))
    plain = _median(collection, queries, "")
    never = [f"word{3 * n % words:03d} word{(5 * n + 8) % words:03d}" for n in range(100)]
    plain_new = median_ms(_asked(collection, never[:10], ""))
    ratios: dict[str, dict[str, float]] = {}
    first: dict[str, dict[str, float]] = {}
    left: dict[str, dict[str, float]] = {}
    new: dict[str, dict[str, float]] = {}
    exact = True
    rankings = [ranked(collection, query) for query in queries[:2]]
    for name, share in SHARES.items():
        for kind, text in filters(share, folders).items():
            begin = time.perf_counter()
            collection.search(f"{queries[0]} {text}", k=K)
            first.setdefault(kind, {})[name] = round(1000 * (time.perf_counter() - begin), 1)
            again = _median(collection, queries, text)
            ratios.setdefault(kind, {})[name] = round(again / plain, 2)
            asked = _asked(collection, [never.pop() for _ in range(10)], text)
            new.setdefault(kind, {})[name] = round(median_ms(asked) / plain_new, 2)
            let_through, same = _checked(collection, queries[:2], rankings, text)
            left.setdefault(kind, {})[name] = round(let_through / len(collection), 4)
            exact &= same
            say(f"{kind} {name}: {again:.1f} ms, unfiltered {plain:.1f} ms")
    every = [ratio for some in ratios.values() for ratio in some.values()]
    return {
        "pictures": len(collection),
        "unfiltered_ms": round(plain, 2),
        "ratios": ratios,
        "largest_ratio": max(every),
        "ratios_of_new_queries": new,
        "first_ms": first,
        "let_through": left,
        "exact": exact,
    }


def _median(collection: Collection, queries: list[str], text: str) -> float:
    asked = _asked(collection, queries, text)
    for one in asked:
        one()
    return median_ms(asked)


def _asked(collection: Collection, queries: list[str], text: str) -> list[Callable[[], object]]:
    return [partial(collection.search, f"{query} {text}", k=K) for query in queries]


def _checked(
    collection: Collection, queries: list[str], rankings: list[NDArray[np.int64]], text: str
) -> tuple[int, bool]:
    """How many pictures a filter lets through, and whether answers are exact."""
    with reading(collection.catalogue) as now:
        pictures = described_pictures(now)
        rows = allowed(now, pictures, parse_query(text).filters)
        let_through = pictures.ids[rows]
    same = True
    for query, every in zip(queries, rankings, strict=True):
        found = [one.picture for one in collection.search(f"{query} {text}", k=K).results]
        same &= found == every[np.isin(every, let_through)][:K].tolist()
    return len(let_through), same


if __name__ == "__main__":
    raise SystemExit(main())

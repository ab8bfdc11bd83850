"""What do the three commands take on an archive of many real pictures in WebDataset shards?

    python -m benchmarks.archive --data DIR --json [--pictures 100000] [--ray local]

``DIR`` is the folder of a data set, or the one above several. Its pictures are cropped, some
mirrored, and encoded again, so that no two are the same, and put with their captions into ``.tar``
shards of a thousand; that is not counted. Then ``visterm add``, ``train`` and ``search`` run on
them as a person would run them, each a process of its own: ``add_s``, ``train_s``, ``search_s``
(the median of some, start-up and all), pictures a second, and bytes a picture on disk beside those
of the shards. ``avgp`` only says that it learnt: held-out pictures are crops of photographs that
others learnt from. ``--shards`` keeps the shards in a folder for other runs.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.common import say, show
from benchmarks.large_collection import disk
from visterm.datasets import DATASETS

SHARD = 1000
"""Pictures of a shard."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.archive", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of data sets")
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--shards", type=Path, help="where the shards are kept, or were")
    parser.add_argument("--features", default="cnn")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--searches", type=int, default=5)
    parser.add_argument("--ray", help="describe and train on this cluster, not by processes")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        shards = (given.shards or Path(name, "shards")).absolute()
        make_shards(shards, given)
        show(measure(Path(name, "home"), shards, given), as_json=given.json)


def measure(home: Path, shards: Path, given: argparse.Namespace) -> dict[str, Any]:
    home.mkdir()
    where = ["--ray", given.ray] if given.ray else []
    processes = where or ["--workers", str(given.workers)]
    add_s, added = run(home, "add", f"file://{shards}", "--features", given.features, *processes)
    train_s, trained = run(home, "train", *where)
    words = common_words(home, given.searches)
    searches = [run(home, "search", word, "--as-is") for word in words]
    found = {len(answer["results"]) for _, answer in searches}
    return {
        "pictures": added["new"],
        "skipped": len(added["skipped"]),
        "add_s": round(add_s, 1),
        "pictures_a_second": round(added["new"] / add_s, 1),
        "train_s": round(train_s, 1),
        "words": trained["words"],
        "avgp": trained.get("avgp"),
        "search_s": round(statistics.median(seconds for seconds, _ in searches), 3),
        "found": sorted(found),
        "bytes_a_picture_in_shards": round(
            sum(one.stat().st_size for one in shards.glob("*.tar")) / max(added["new"], 1)
        ),
        **disk(home, max(added["new"], 1)),
    }


def run(home: Path, *command: str) -> tuple[float, dict[str, Any]]:
    """The seconds of a command, and the object that it prints."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "visterm", *command, "--json"],
        cwd=home,
        check=True,
        stdout=subprocess.PIPE,
    )
    seconds = time.perf_counter() - began
    say(f"visterm {command[0]}: {seconds:.1f} s")
    return seconds, json.loads(done.stdout)


def common_words(home: Path, count: int) -> list[str]:
    """The words that most captions hold."""
    from visterm.collection import Collection

    with Collection.open(home) as collection:
        return [one.word for one in collection.complete("", count)]


def make_shards(folder: Path, given: argparse.Namespace) -> None:
    """Shards of changed pictures, those that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = list(captioned(given.data))
    starts = range(0, given.pictures, SHARD)
    parts = [
        (folder / f"{first:07}.tar", first, min(SHARD, given.pictures - first), pictures)
        for first in starts
        if not (folder / f"{first:07}.tar").exists()
    ]
    with ProcessPoolExecutor(given.workers) as pool:
        for done, _ in enumerate(
            pool.map(make_shard, *zip(*parts, strict=True)) if parts else (), 1
        ):
            say(f"{done} of {len(parts)} shards made")


def captioned(data: Path) -> Iterator[tuple[Path, str]]:
    """All pictures of the data sets with what their captions say."""
    there = [name for name in DATASETS if (data / name).is_dir()]
    for name in there or [data.name]:
        found = DATASETS[name](data / name if there else data)
        for part in (found.train, found.validation, found.test):
            if part is not None:
                yield from part


def make_shard(path: Path, first: int, count: int, pictures: list[tuple[Path, str]]) -> None:
    with tarfile.open(path.with_suffix(".part"), "w") as tar:
        for number in range(first, first + count):
            source, caption = pictures[number % len(pictures)]
            put(tar, f"{number:08}.jpg", changed(source, number))
            put(tar, f"{number:08}.txt", caption.encode())
    path.with_suffix(".part").rename(path)


def put(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    about = tarfile.TarInfo(name)
    about.size = len(content)
    tar.addfile(about, io.BytesIO(content))


def changed(source: Path, number: int) -> bytes:
    """A crop of a picture, perhaps mirrored, in another quality."""
    from PIL import Image, ImageOps

    drawn = random.Random(number)
    with Image.open(source) as file:
        picture = file.convert("RGB")
        width, height = (round(side * drawn.uniform(0.7, 1.0)) for side in picture.size)
        left = drawn.randint(0, picture.width - width)
        top = drawn.randint(0, picture.height - height)
        crop = picture.crop((left, top, left + width, top + height))
    if drawn.random() < 0.5:
        crop = ImageOps.mirror(crop)
    kept = io.BytesIO()
    crop.save(kept, "JPEG", quality=drawn.randint(60, 95))
    return kept.getvalue()


if __name__ == "__main__":
    main()

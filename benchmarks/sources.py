"""What does it cost to add pictures from shards, an object store or a web server, not a folder?

    python -m benchmarks.sources --json [--pictures 600] [--data DIR]

The same pictures (drawn ones, or the first of ``--data``) are added from a folder, from tar shards,
from an S3 server (moto's) and from a web server (Python's own), each a process on the loopback, in
turns. ``ratio`` is pictures a second over those of the folder, and ``again_s`` the seconds of an
``add`` that finds nothing new. The servers are on the same cores, so real ones cost this machine
less and the network more.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import say, show

SHARD = 200
"""Pictures of a shard."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sources", description=__doc__)
    parser.add_argument("--pictures", type=int, default=600)
    parser.add_argument("--data", type=Path, help="a folder of pictures; else they are drawn")
    parser.add_argument("--features", default="cnn")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        pictures = _pictures(Path(folder, "folder"), arguments.data, arguments.pictures)
        places = _places(Path(folder), pictures, servers)
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in places}
        _added(Path(folder, "home"), places["folder"], arguments)  # what is loaded once
        for _ in range(arguments.rounds):
            for name, where in places.items():
                runs[name].append(_added(Path(folder, "home"), where, arguments))
                say(f"{name}: {runs[name][-1][0]:.1f} s, again {runs[name][-1][1]:.2f} s")
    first = {name: statistics.median(one for one, _ in found) for name, found in runs.items()}
    again = {name: statistics.median(one for _, one in found) for name, found in runs.items()}
    show(
        {
            "pictures": len(pictures),
            "features": arguments.features,
            "pictures_a_second": {n: round(len(pictures) / s, 1) for n, s in first.items()},
            "ratio": {n: round(first["folder"] / s, 3) for n, s in first.items() if n != "folder"},
            "again_s": {name: round(seconds, 2) for name, seconds in again.items()},
        },
        as_json=arguments.json,
    )


def _pictures(folder: Path, data: Path | None, count: int) -> list[Path]:
    from visterm.datasets.scenes import draw_scenes

    if data is None:
        return [path for path, _ in draw_scenes(folder, count)]
    folder.mkdir()
    return [Path(shutil.copy(path, folder)) for path in sorted(data.rglob("*.jpg"))[:count]]


def _places(folder: Path, pictures: list[Path], servers: ExitStack) -> dict[str, str]:
    """The same pictures in every kind of place."""
    shards = folder / "shards"
    shards.mkdir()
    for first in range(0, len(pictures), SHARD):
        with tarfile.open(shards / f"{first:06}.tar", "w") as tar:
            for path in pictures[first : first + SHARD]:
                tar.add(path, path.name)
    s3 = servers.enter_context(_server("-m", "moto.server", "-p{port}"))
    os.environ |= {
        "AWS_ENDPOINT_URL": s3,
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    from fsspec.core import url_to_fs

    files, _ = url_to_fs("s3://archive")
    files.mkdir("archive")
    for here in (folder / "folder", shards):
        files.put([str(path) for path in sorted(here.iterdir())], f"s3://archive/{here.name}/")
    directory = str(folder / "folder")
    web = servers.enter_context(_server("-m", "http.server", "{port}", "--directory", directory))
    return {
        "folder": directory,
        "shards": f"file://{shards}",
        "s3": "s3://archive/folder",
        "shards in s3": "s3://archive/shards",
        "http": web,
    }


@contextmanager
def _server(*command: str) -> Iterator[str]:
    """The address of a server on the loopback, in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [one.format(port=port) for one in command]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, *words], stdout=quiet, stderr=quiet)
    try:
        for _ in range(600):
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _added(home: Path, where: str, arguments: Any) -> tuple[float, float]:
    """Seconds of the first ``add`` into an empty collection, and of a second one."""
    from visterm import Collection

    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    # The folder is added as people add one: a collection of its own, with its store elsewhere.
    is_url = "://" in where
    root, paths = (home, [where]) if is_url else (Path(where), [])
    seconds = []
    with Collection.open(root, store=home / "store") as collection:
        for _ in range(2):
            began = time.perf_counter()
            collection.add(paths, features=arguments.features, n_jobs=arguments.workers)
            seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1]


if __name__ == "__main__":
    main()

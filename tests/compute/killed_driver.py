"""``visterm add`` on a cluster, by a process that is killed in the middle of it."""

from __future__ import annotations

import os
import signal
import sys

from visterm.collection import Collection
from visterm.collection.ingest import pipeline
from visterm.features import EXTRACTORS


def main(folder: str, address: str, size: str) -> None:
    from fragile import Fragile  # found beside this file where it is run, and nowhere else

    EXTRACTORS[Fragile.name] = Fragile
    pipeline.BATCH = int(size)
    with Collection.open(folder) as collection:
        collection.add(features=Fragile.name, ray=address, progress=die)


def die(what: str, done: int, total: int) -> None:
    if what.startswith("adding") and done > total // 2:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])

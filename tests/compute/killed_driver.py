"""``visterm add`` on a cluster, by a process that is killed in the middle of it."""

from __future__ import annotations

import os
import signal
import sys

from fragile import Fragile

from visterm.collection import Collection
from visterm.collection.ingest import pipeline
from visterm.features import EXTRACTORS

folder, address, size = sys.argv[1:]
EXTRACTORS[Fragile.name] = Fragile
pipeline.BATCH = int(size)


def die(what: str, done: int, total: int) -> None:
    if what.startswith("adding") and done > total // 2:
        os.kill(os.getpid(), signal.SIGKILL)


with Collection.open(folder) as collection:
    collection.add(features=Fragile.name, ray=address, progress=die)

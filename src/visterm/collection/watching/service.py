"""Following a folder: what has changed is added, and learnt from where its owner allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from visterm.collection.collection import Collection
from visterm.collection.ingest.batches import Added
from visterm.collection.store.lock import Locked
from visterm.collection.watching.watcher import Watcher
from visterm.errors import VistermError


@dataclass(frozen=True)
class News:
    """What happened after some files had changed."""

    added: Added = field(default_factory=Added)
    trained: bool = False


def follow(
    collection: Collection,
    *,
    polling: bool | None = None,
    learns: bool = False,
    on_skip: Callable[[str, str], None] = lambda path, reason: None,
    watcher: Watcher | None = None,
) -> Iterator[News]:
    """Keep a collection in step with its folder, until the watcher is stopped.

    What cannot be written because somebody else is writing is tried again a moment later.
    """
    watcher = watcher or Watcher(collection.root, polling=polling)
    yield News(collection.add(remote=False, on_skip=on_skip))
    waiting = {""}  # what happened between that look and the beginning of the watch
    for folders in watcher.changes():
        waiting |= folders
        try:
            if waiting:
                added = collection.add(changed=waiting, wait=0, on_skip=on_skip)
                waiting = set()
                yield News(added)
            collection.apply_waiting()
            if learns and collection.is_worth_training:
                yield News(trained=_train(collection))
        except Locked:
            continue


def _train(collection: Collection) -> bool:
    try:
        return collection.train().kept != "previous"
    except Locked:
        raise
    except VistermError:  # too few captions are no reason to stop watching
        return False

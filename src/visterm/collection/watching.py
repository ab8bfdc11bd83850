"""A living folder: files that come, go, move and change are noticed, added and learnt from."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from visterm.collection.collection import Collection
from visterm.collection.ingest.batches import Added
from visterm.collection.sources.folders import is_looked_at
from visterm.collection.sources.opening import ending_of
from visterm.collection.store.location import STORE
from visterm.collection.store.lock import Locked
from visterm.errors import VistermError

_NETWORK = ("nfs", "cifs", "smb", "sshfs", "fuse", "9p", "afs", "davfs", "webdav", "glusterfs")
_QUIET_MS = 400
"""So long nothing may happen before a change is reported: a file being written is not done."""
_PATIENCE_MS = 5000
"""Changes that go on and on are reported after so long."""
_ASK_MS = 1000


class Watcher:
    """Reports which folders below a root have changed.

    Parameters
    ----------
    root
        The collection's folder.
    polling
        Ask for changes instead of being told of them: for network drives, whose servers do not
        tell. Where it is not said, what the root lies on decides.
    """

    def __init__(self, root: Path, *, polling: bool | None = None) -> None:
        self.root = root.resolve()
        self.polling = is_network_drive(self.root) if polling is None else polling
        self._stop = threading.Event()
        self.is_watching = False
        """Whether changes are noticed now: not while the root, or every handle, is away."""

    def stop(self) -> None:
        """End `changes`, from another thread."""
        self._stop.set()

    def changes(self) -> Iterator[set[str]]:
        """Sets of changed folders, "" being the root; an empty set says that nothing happened.

        A root that goes away is waited for.
        """
        try:
            from watchfiles import watch
        except ImportError:  # a build without it
            raise VistermError("watching needs watchfiles: pip install watchfiles") from None
        while not self._stop.is_set():
            if not self.root.is_dir():  # a drive that is away
                self._stop.wait(_ASK_MS / 1000)
                continue
            try:
                for changed in watch(
                    self.root,
                    watch_filter=lambda change, path: self.concerns(path),
                    debounce=_PATIENCE_MS,
                    step=_QUIET_MS,
                    stop_event=self._stop,
                    rust_timeout=_ASK_MS,
                    yield_on_timeout=True,
                    force_polling=self.polling,
                    poll_delay_ms=_ASK_MS if self.polling else 300,
                    raise_interrupt=True,
                ):
                    self.is_watching = True
                    yield self.folders(path for _, path in changed)
                    if not self.root.is_dir():
                        break
            except FileNotFoundError:
                continue
            except (OSError, RuntimeError):  # as watchfiles says that no handle is left
                if self.polling:
                    self._stop.wait(_ASK_MS / 1000)
                self.polling = True  # which needs no handle between two looks
                continue
            finally:
                self.is_watching = False
            yield {""}  # what happened between two watches nobody reported

    def concerns(self, path: str) -> bool:
        """Whether a change of this path may change the collection."""
        below = os.path.relpath(path, self.root)
        parts = below.replace(os.sep, "/").split("/")
        if STORE in parts or any(part.startswith(".") and part != "." for part in parts):
            return False
        return not ending_of(path) or is_looked_at(path) or os.path.isdir(path)

    def folders(self, paths: Iterable[str]) -> set[str]:
        """The folders that hold these paths, and those of them that are folders themselves."""
        folders = set()
        for path in paths:
            below = os.path.relpath(path, self.root).replace(os.sep, "/")
            folders.add("" if below == "." else below.rpartition("/")[0])
            if below != "." and os.path.isdir(path):
                folders.add(below)
        return folders


def is_network_drive(path: Path) -> bool:
    """Whether a folder lies on a drive whose changes nobody tells this machine.

    >>> is_network_drive(Path("/"))
    False
    """
    if str(path).startswith(("\\\\", "//")):
        return True
    try:
        mounts = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return False
    best = ("", "")
    for line in mounts:
        _, where, kind, *_ = line.split(" ")
        where = where.replace("\\040", " ")
        inside = where == "/" or str(path) == where or str(path).startswith(where + "/")
        if inside and len(where) >= len(best[0]):
            best = (where, kind)
    return best[1].startswith(_NETWORK)


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

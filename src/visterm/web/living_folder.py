"""The folder of a served collection, watched: what changes there becomes a background job."""

from __future__ import annotations

import threading
from pathlib import Path

from visterm.collection import Collection, Locked, Watcher
from visterm.web.jobs import Jobs


class LivingFolder:
    """A thread that starts jobs when files change, and when enough has changed to learn again.

    Parameters
    ----------
    learns
        Whether training may start by itself.
    """

    def __init__(self, folder: Path, store: Path, jobs: Jobs, *, learns: bool = False) -> None:
        self._folder, self._store, self._jobs, self._learns = folder, store, jobs, learns
        self._watcher = Watcher(folder)
        self._thread = threading.Thread(target=self._run, name="living-folder", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._watcher.stop()

    @property
    def is_watching(self) -> bool:
        """Whether changes are noticed; not so before it has begun, or where it has failed."""
        return self._thread.is_alive()

    def _run(self) -> None:
        waiting: set[str] = set()
        begun: tuple[int, set[str]] = (0, set())
        with Collection.open(self._folder, store=self._store) as collection:
            if not collection.is_writable:
                return
            for folders in self._watcher.changes():
                waiting |= folders
                job = self._jobs.last
                if self._jobs.is_running:
                    continue
                if job is not None and job.id == begun[0] and job.state != "done":
                    waiting |= begun[1]  # somebody else was writing: again
                try:
                    if waiting:
                        begun = (self._jobs.start("add", changed=waiting).id, waiting)
                        waiting = set()
                    elif self._learns and collection.is_worth_training:
                        self._jobs.start("train")
                except Locked:
                    continue

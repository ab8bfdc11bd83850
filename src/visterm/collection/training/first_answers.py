"""Answers from the first pictures of a new collection, while the others are being described."""

from __future__ import annotations

from collections.abc import Callable

from visterm.collection.store import versions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.training.index_sync import catch_up
from visterm.collection.training.pretrained import begin

_EVERY = 1024
"""Files after which those that came are mapped into the index: whoever looks sees it fill up."""


class FirstAnswers:
    """Called after every batch of an ``add`` with the files done and all there are."""

    def __init__(self, catalogue: Catalogue, on_first: Callable[[int, int], None] | None) -> None:
        self.catalogue, self.on_first = catalogue, on_first
        self._mapped = 0

    def __call__(self, done: int, total: int) -> None:
        if done >= total:
            return
        if not self._mapped and versions.current(self.catalogue) is None:
            begin(self.catalogue)
            self._mapped = done
            if self.on_first is not None and versions.current(self.catalogue) is not None:
                self.on_first(done, total)
        elif done - self._mapped >= _EVERY and versions.current(self.catalogue) is not None:
            catch_up(self.catalogue)
            self._mapped = done

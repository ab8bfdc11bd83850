"""Answers from the first pictures of a new collection, while the others are being described."""

from __future__ import annotations

from collections.abc import Callable

from visterm.collection.store import versions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.training.pretrained import begin

WORTH_TWO_ANSWERS = 256
"""Files that are left when somebody who waits is told the first ones: of fewer, all come soon."""


class FirstAnswers:
    """Called after every batch of an ``add`` with the files done and all there are."""

    def __init__(self, catalogue: Catalogue, on_first: Callable[[int, int], None] | None) -> None:
        self.catalogue, self.on_first = catalogue, on_first
        self._is_begun = False

    def __call__(self, done: int, total: int) -> None:
        if done >= total:
            return
        if not self._is_begun and versions.current(self.catalogue) is None:
            self._is_begun = True
            begin(self.catalogue)
            is_long = total - done >= WORTH_TWO_ANSWERS
            if self.on_first and is_long and versions.current(self.catalogue) is not None:
                self.on_first(done, total)

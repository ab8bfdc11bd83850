"""What several open objects of one collection share: a server has one for each of its threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from visterm.collection.store.snapshot import SharedParts
from visterm.compute import Replicas

if TYPE_CHECKING:
    from visterm.collection.media.word_counts import WordCounts


@dataclass
class SharedState:
    """Parts of snapshots, and the words of the captions.

    With ``replicas``, shards of the pictures answer searches. With ``mend_later``, whoever reads
    and finds that a killed writer left something calls it, and does not do it while others wait.
    """

    parts: SharedParts = field(default_factory=SharedParts)
    replicas: Replicas | None = None
    mend_later: Callable[[], None] | None = None

    @cached_property
    def word_counts(self) -> WordCounts:
        from visterm.collection.media.word_counts import WordCounts  # no search needs it

        return WordCounts()

    def forget_words(self) -> None:
        """Count the words of captions anew when somebody asks for them."""
        if "word_counts" in vars(self):
            self.word_counts.forget()

    def close(self) -> None:
        """Close the files, once whoever shares them has ended."""
        self.parts.close()

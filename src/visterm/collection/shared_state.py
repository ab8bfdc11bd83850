"""What several open objects of one collection share: a server has one for each of its threads."""

from __future__ import annotations

from dataclasses import dataclass, field

from visterm.collection.media.word_counts import WordCounts
from visterm.collection.store.active_model import OpenVersions


@dataclass
class SharedState:
    """Open models and indexes, and the words of the captions."""

    versions: OpenVersions = field(default_factory=OpenVersions)
    word_counts: WordCounts = field(default_factory=WordCounts)

    def close(self) -> None:
        """Close the files, once whoever shares them has ended."""
        self.versions.close()

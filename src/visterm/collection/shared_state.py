"""What several open objects of one collection share: a server has one for each of its threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from visterm.collection.store.snapshot import SharedParts
from visterm.compute import Replicas


@dataclass
class SharedState:
    """Parts of snapshots.

    With ``replicas``, shards of the pictures answer searches. With ``mend_later``, whoever reads
    and finds that a killed writer left something calls it, and does not do it while others wait.
    """

    parts: SharedParts = field(default_factory=SharedParts)
    replicas: Replicas | None = None
    mend_later: Callable[[], None] | None = None

    def close(self) -> None:
        """Close the files, once whoever shares them has ended."""
        self.parts.close()

"""What the parts of the API share."""

from __future__ import annotations

from dataclasses import dataclass, field

from visterm.web.jobs import Jobs
from visterm.web.readers import Rooms
from visterm.web.words import WordCounts


@dataclass
class Server:
    """An open collection: threads that read it, jobs that change it, and its words."""

    rooms: Rooms
    jobs: Jobs
    words: WordCounts = field(default_factory=WordCounts)

    def close(self) -> None:
        self.jobs.close()
        self.rooms.close()

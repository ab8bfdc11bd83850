"""What the parts of the API share."""

from __future__ import annotations

from dataclasses import dataclass

from visterm.web.jobs import Jobs
from visterm.web.reader_pool import ReaderPools


@dataclass
class Server:
    """An open collection: threads that read it, and jobs that change it."""

    readers: ReaderPools
    jobs: Jobs

    def close(self) -> None:
        self.jobs.close()
        self.readers.close()

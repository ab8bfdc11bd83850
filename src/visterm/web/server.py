"""The state that all routes of the API share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from visterm.web.jobs import Jobs
from visterm.web.reader_pool import ReaderPools


@dataclass
class Server:
    """An open collection: threads that read it, and jobs that change it."""

    readers: ReaderPools
    jobs: Jobs

    async def submit(self, verb: str, **values: Any) -> Any:
        """What a change of the collection returns; `Queued` where it waits for a job to finish."""
        return await self.readers.submit(verb, **values)

    def close(self) -> None:
        self.jobs.close()
        self.readers.close()

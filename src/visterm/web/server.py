"""The state that all routes of the API share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate

from visterm.collection import Collection
from visterm.web.jobs import Jobs
from visterm.web.reader_pool import Found, ReaderPools, Values


@dataclass
class Server:
    """An open collection: threads that read it, and jobs that change it."""

    readers: ReaderPools
    jobs: Jobs

    async def change(
        self,
        change: Callable[Concatenate[Collection, Values], Found],
        *values: Values.args,
        **named: Values.kwargs,
    ) -> Found:
        """What a change of the collection returns; it is refused at once while a job is running."""
        self.jobs.refuse_while_running()
        return await self.readers.changes.ask(change, *values, **named)

    def close(self) -> None:
        self.jobs.close()
        self.readers.close()

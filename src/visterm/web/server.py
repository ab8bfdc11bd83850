"""The state that all routes of the API share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec

from starlette.responses import Response

from visterm.collection import Collection
from visterm.json_text import json_text
from visterm.web.jobs import Jobs
from visterm.web.living_folder import LivingFolder
from visterm.web.reader_pool import ReaderPools

Values = ParamSpec("Values")


@dataclass
class Server:
    """An open collection: threads that read it, and jobs that change it."""

    readers: ReaderPools
    jobs: Jobs
    living: LivingFolder | None = None
    """The watched folder, where it is watched."""

    async def answer(
        self,
        question: Callable[Concatenate[Collection, Values], object],
        *values: Values.args,
        **named: Values.kwargs,
    ) -> Response:
        """What ``question(collection, ...)`` returns, as JSON; schemas describe it, and check
        nothing: that would take longer than a search."""

        def answered(collection: Collection) -> Response:
            return json_response(question(collection, *values, **named))

        return await self.readers.questions.ask(answered)

    async def submit(self, verb: str, **values: Any) -> Any:
        """What a change of the collection returns; `Queued` where it waits for a job to finish."""
        return await self.readers.submit(verb, **values)

    def close(self) -> None:
        self.jobs.close()
        self.readers.close()


def json_response(value: object) -> Response:
    """A value of the collection as the API returns it."""
    return Response(json_text(value), media_type="application/json")

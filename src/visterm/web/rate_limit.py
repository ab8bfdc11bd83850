"""Rate limits: a token bucket for each client."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable


class Bucket:
    """So many at once, and so many a second after that, for each client.

    >>> bucket = Bucket(rate=1.0, size=2, clock=iter([0.0, 0.0, 0.0, 1.5]).__next__)
    >>> [bucket.take("me") for _ in range(4)]
    [True, True, False, True]
    """

    def __init__(
        self, rate: float, size: int, clock: Callable[[], float] = time.monotonic, most: int = 4096
    ) -> None:
        self.rate, self.size, self._clock, self._most = rate, float(size), clock, most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def is_empty(self, client: str) -> bool:
        """Whether a client would be refused now."""
        return self._filled(client, self._clock()) < 1

    def take(self, client: str) -> bool:
        now = self._clock()
        left = self._filled(client, now)
        self._left.pop(client, None)
        allowed = left >= 1
        self._left[client] = (left - allowed, now)
        while len(self._left) > self._most:  # many clients must not fill the memory
            self._left.popitem(last=False)
        return allowed

    def _filled(self, client: str, now: float) -> float:
        left, since = self._left.get(client, (self.size, now))
        return min(self.size, left + self.rate * (now - since))


class Guesses:
    """Wrong tokens of each client, so many a second.

    The same wrong one again costs nothing: it is no guess but an old page that asks on.
    """

    def __init__(self, rate: float, size: int, most: int = 4096) -> None:
        self._bucket, self._most = Bucket(rate, size, most=most), most
        self._last: OrderedDict[str, str] = OrderedDict()

    def are_too_many(self, client: str) -> bool:
        """Whether a client must wait before another token of it is looked at."""
        return self._bucket.is_empty(client)

    def add(self, client: str, wrong: str) -> None:
        """Count a wrong token."""
        if self._last.pop(client, None) != wrong:
            self._bucket.take(client)
        self._last[client] = wrong
        while len(self._last) > self._most:
            self._last.popitem(last=False)

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

    def take(self, client: str) -> bool:
        now = self._clock()
        left, since = self._left.pop(client, (self.size, now))
        left = min(self.size, left + self.rate * (now - since))
        allowed = left >= 1
        self._left[client] = (left - allowed, now)
        while len(self._left) > self._most:  # many clients must not fill the memory
            self._left.popitem(last=False)
        return allowed

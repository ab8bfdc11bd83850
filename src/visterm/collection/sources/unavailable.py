"""Why bytes could not be had, in a few words, and whether another time may do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from visterm.errors import VistermError

_NO_RANGES = ("range requests", "more bytes")


class Unavailable(Exception):
    """A reason; ``passing`` where it says nothing about the picture: a server may be away."""

    def __init__(self, reason: str, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.passing = passing


@contextmanager
def explained() -> Iterator[None]:
    """Whatever comes from file systems of others, as `Unavailable`."""
    try:
        yield
    except (Unavailable, VistermError):
        raise
    except FileNotFoundError:
        raise Unavailable("no such file") from None
    except PermissionError:
        raise Unavailable("no permission to read it", passing=True) from None
    except Exception as error:  # every file system has its own errors, and libraries below it
        message = " ".join(str(error).split())
        if any(sign in message for sign in _NO_RANGES):
            raise Unavailable("its server gives no byte ranges, which shards need") from None
        kind = type(error).__name__
        about = f"{kind}: {message[:120]}" if message else kind
        raise Unavailable(f"it cannot be reached ({about})", passing=True) from None

"""How long decoding may take in a process whose death costs one picture and nothing else.

A library in C that loops hears nothing but a signal, whose default action ends the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_longest: float | None = None


@contextmanager
def mortal(longest: float) -> Iterator[None]:
    """For as long as it lasts, a picture that takes so many seconds of the processor ends this
    process; on Windows none does."""
    global _longest
    before, _longest = _longest, longest
    try:
        yield
    finally:
        _longest = before


@contextmanager
def limited() -> Iterator[None]:
    """Decode one picture, which ends this process if it is `mortal` and that takes too long."""
    import signal

    # Those of the processor: a machine that is busy, or a command that was stopped for a while, is
    # no fault of the picture.
    is_ours = hasattr(signal, "setitimer") and signal.getsignal(signal.SIGPROF) is signal.SIG_DFL
    if _longest is None or not is_ours:  # somebody's profiler has it
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, _longest)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)

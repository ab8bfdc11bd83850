"""Children of a trial: their birth, what they acknowledge, their end."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from benchmarks.campaign import disk

CRASHED = 70
"""The exit code of a child that raised, or never ended."""
_LONGEST = 120.0
_CPU_CLOCK = 2
"""Of another process: clock_getcpuclockid(3) computes the clock's number so from the process's."""
_told = -1


def acknowledge(text: str) -> None:
    """Say, in a child, that something is done: it must be found afterwards."""
    os.write(_told, (text + "\n").encode())


def be_a_child(work: Callable[[], int | str], said: Path, told: Path) -> None:
    """Do some work, and end; errors go to one file, what is acknowledged to another."""
    global _told
    code = CRASHED
    try:
        errors = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        _told = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        os.dup2(errors, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        done = work()
        if isinstance(done, str):
            acknowledge(done)
            done = 0
        code = done
    except BaseException:
        disk.disarm()
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def waited(number: int, kill_after: float | None) -> tuple[int, float]:
    """A child's exit code, and the seconds that it computed; killed after so many of these."""
    handle = os.pidfd_open(number)
    try:
        if kill_after is not None:
            # Its own clock, not that of the wall: on a busy machine kills would all come early.
            clock = ~number << 3 | _CPU_CLOCK
            while not _is_readable(handle, 0.0003) and time.clock_gettime(clock) < kill_after:
                pass
            os.kill(number, signal.SIGKILL)
        in_time = _is_readable(handle, _LONGEST)
    finally:
        os.close(handle)
    if not in_time:
        os.kill(number, signal.SIGKILL)
    _, status, used = os.wait4(number, 0)
    code = os.waitstatus_to_exitcode(status) if in_time else CRASHED
    return code, used.ru_utime + used.ru_stime


def _is_readable(handle: int, seconds: float) -> bool:
    """Whether a process has ended, or does within so many seconds."""
    return bool(select.select([handle], [], [], seconds)[0])

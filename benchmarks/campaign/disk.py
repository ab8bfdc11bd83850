"""The played disk: `shim.c`, built where a compiler is, loaded before all else, and armed."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from enum import IntEnum
from pathlib import Path

_SOURCE = Path(__file__).with_name("shim.c")


class Fault(IntEnum):
    """What happens at the n-th change, as `shim.c` numbers it; a power cut is a kill and more."""

    COUNT = 1
    """Nothing."""
    IO_ERROR = 2
    """It fails with EIO, once."""
    GONE = 3
    """From there on everything fails with EIO, as on a drive that was pulled out."""
    FULL = 4
    """From there on everything that needs room fails with ENOSPC."""
    SHORT = 5
    """A write takes half of the bytes, and says so."""
    TEAR = 6
    """Half of the bytes are written, then the process is killed."""
    KILL = 7
    """The process is killed before it."""
    POWER = 107
    """It is killed, and all that was never synced is lost."""
    CACHE = 207
    """It is killed, and of what was never synced some is lost, by the seed: disks reorder."""

    @property
    def mode(self) -> int:
        return self % 100

    def matters(self, change: str) -> bool:
        """Whether it is a fault at all at a change of this kind; see `changes`."""
        if self in (Fault.SHORT, Fault.TEAR):
            return change == "w"
        return self is not Fault.COUNT and not (self is Fault.FULL and change == "u")

    @property
    def needs_journal(self) -> bool:
        return self in (Fault.POWER, Fault.CACHE)


def compiler() -> str | None:
    """What can build the shim here; None where nothing can."""
    return shutil.which("cc") if sys.platform == "linux" else None


def library() -> Path:
    """The shim, built now unless it was before."""
    text = _SOURCE.read_bytes()
    folder = Path(tempfile.gettempdir(), f"visterm-shim-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    built = folder / f"{hashlib.sha256(text).hexdigest()[:16]}.so"
    if not built.exists():
        part = built.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [compiler() or "cc", "-O1", "-shared", "-fPIC", "-pthread", "-o", part, _SOURCE],
            check=True,
        )
        part.rename(built)
    return built


def is_loaded() -> bool:
    return hasattr(ctypes.CDLL(None), "fault_arm")


def load() -> None:
    """Begin this program again with the shim before everything else, unless that was done."""
    if is_loaded():
        return
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    environment = {**os.environ, **one, "LD_PRELOAD": str(library())}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def arm(folder: Path, fault: Fault, at: int, journal: Path | None = None) -> None:
    """From now on count this process's changes under a folder, with a fault at one of them."""
    where = b"" if journal is None else os.fsencode(journal)
    ctypes.CDLL(None).fault_arm(
        os.fsencode(folder), where, ctypes.c_int(fault.mode), ctypes.c_long(at)
    )


def changes() -> str:
    """The changes so far, a letter each: w writes, s syncs, n names or grows, u takes away."""
    shim = ctypes.CDLL(None)
    shim.fault_count.restype, shim.fault_kinds.restype = ctypes.c_long, ctypes.c_void_p
    return ctypes.string_at(shim.fault_kinds(), shim.fault_count()).decode()


def disarm() -> None:
    ctypes.CDLL(None).fault_disarm()

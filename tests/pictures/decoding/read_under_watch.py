"""Read every picture of a folder, and say before and after each how it goes; see test_mutated.py.

A program of its own with few imports, so that the memory it reports is what pictures take.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from visterm.errors import UnreadablePicture
from visterm.pictures.decoding.decoder import read_picture


def outcome(path: Path, max_side: int | None) -> str:
    try:
        pixels = read_picture(path, max_side=max_side)
    except UnreadablePicture as problem:
        return "refused" if problem.reason else "refused without a reason"
    healthy = pixels.ndim == 3 and pixels.shape[2] == 3 and pixels.dtype == "uint8"
    return "read" if healthy and pixels.size else f"gave {pixels.shape} of {pixels.dtype}"


def peak_memory() -> int:
    """Bytes. Linux hands a parent's peak down in ``getrusage``, so its own page is asked first."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def main(folder: Path) -> None:
    # A stop far above the limit that is tested, so that a bug does not take the whole machine.
    resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000))
    for number, path in enumerate(sorted(folder.iterdir())):
        print(f"reading\t{path.name}", flush=True)
        said = outcome(path, max_side=64 if number % 5 == 4 else None)
        print(f"{said}\t{peak_memory()}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Six hundred damaged picture files: each gives pixels or a reason, none hangs, crashes or swells.

The files are read by `read_under_watch.py` in a process of its own, which announces each before
reading it. The test waits a bounded time for the next line and looks at the peak memory that comes
with each answer, so whichever file does harm is named.
"""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[3]))

from benchmarks.campaign.mutations import Mutant, bombs, mutated, pictures

COUNT = 600
MOST_MEMORY = 500_000_000
PATIENCE = 60.0
READER = Path(__file__).with_name("read_under_watch.py")
EXTENSIONS = (".jpg", ".png", ".webp", ".gif", ".tif", ".bmp", ".avif", ".heic", ".txt", "")


def mutants(seed: int = 2_006) -> Iterator[Mutant]:
    """The same six hundred files every time, and what was done to each."""
    rng = np.random.default_rng(seed)
    healthy = pictures(rng)
    harmful = list(bombs())
    yield from harmful
    for number in range(len(harmful), COUNT):
        yield mutated(healthy, number, rng)


def write_mutants(folder: Path) -> int:
    """One file each, numbered, under an extension that is more often wrong than right."""
    for number, (name, data) in enumerate(mutants()):
        extension = EXTENSIONS[number % len(EXTENSIONS)]
        (folder / f"{number:04} {name}{extension}").write_bytes(data)
    return number + 1


def supervise(command: list[str], patience: float) -> dict[str, int]:
    """Run a reader of many files; count its outcomes, fail with the name of a harmful file."""
    outcomes: dict[str, int] = {}
    name = "the first file"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        try:
            for line in _lines(child, patience):
                word, _, rest = line.partition("\t")
                if word == "reading":
                    name = rest
                    continue
                assert word in ("read", "refused"), f"{name}: {line}"
                assert int(rest) <= MOST_MEMORY, f"{name}: {int(rest) / 1e6:.0f} MB"
                outcomes[word] = outcomes.get(word, 0) + 1
        except TimeoutError:
            pytest.fail(f"{name}: no answer in {patience} seconds")
        finally:
            child.kill()
    return outcomes


def _lines(child: subprocess.Popen[bytes], patience: float) -> Iterator[str]:
    assert child.stdout is not None
    rest = b""
    while True:
        if not select.select([child.stdout], [], [], patience)[0]:
            raise TimeoutError
        got = child.stdout.read1(65_536)
        *whole, rest = (rest + got).split(b"\n")
        yield from (line.decode() for line in whole)
        if not got:
            break
    code = child.wait(patience)
    if code:
        yield f"the reader ended with {code}"


def test_six_hundred_damaged_files_give_pixels_or_a_reason(tmp_path: Path) -> None:
    assert write_mutants(tmp_path) == COUNT
    outcomes = supervise([sys.executable, str(READER), str(tmp_path)], PATIENCE)
    assert sum(outcomes.values()) == COUNT
    # Damage that never or always shows would say that the mutations miss the decoders.
    assert min(outcomes["read"], outcomes["refused"]) > COUNT // 5, outcomes


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("while True: pass", r"boat\.jpg: no answer"),
        ("os.abort()", r"boat\.jpg: the reader ended with -6"),
        ("x = b'1' * 600_000_000; print('read', peak_memory(), sep='\t')", r"boat\.jpg: 6\d\d MB"),
        ("raise KeyError('oh')", r"boat\.jpg: Traceback"),
    ],
)
def test_the_supervisor_names_a_file_that_hangs_crashes_or_swells(harm: str, said: str) -> None:
    """The test above could fail: readers that do harm are found out."""
    program = f"""
import os, sys
sys.path.insert(0, {str(READER.parent)!r})
from read_under_watch import peak_memory
print("reading\tsea.jpg")
print("read\t100")
print("reading\tboat.jpg", flush=True)
{harm}
"""
    patience = 5.0 if "while" in harm else PATIENCE
    with pytest.raises((AssertionError, pytest.fail.Exception), match=said):
        supervise([sys.executable, "-c", program], patience)

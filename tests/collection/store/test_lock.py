from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from visterm.collection.store.lock import Locked, writer
from visterm.errors import VistermError


def test_a_second_writer_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    with (
        writer(tmp_path / "lock", "adding pictures"),
        pytest.raises(Locked) as refused,
        writer(tmp_path / "lock", "training", wait=0.1),
    ):
        pass
    assert f"adding pictures, process {os.getpid()} on " in str(refused.value)


def test_a_second_writer_waits_a_little_and_then_goes_on(tmp_path: Path) -> None:
    order = []

    def first() -> None:
        with writer(tmp_path / "lock", "first"):
            holds.set()
            time.sleep(0.2)
            order.append("first")

    holds = threading.Event()
    thread = threading.Thread(target=first)
    thread.start()
    holds.wait()
    with writer(tmp_path / "lock", "second"):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from visterm.collection.store.lock import writer\n"
        "with writer(Path(sys.argv[1]), 'dying'): print('held', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path / "lock"], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    with pytest.raises(Locked), writer(tmp_path / "lock", "living", wait=0):
        pass
    child.kill()
    child.wait()
    with writer(tmp_path / "lock", "living", wait=0):
        pass


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed here")
def test_a_lock_that_is_a_link_signs_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "lock").symlink_to(tmp_path / "thesis.tex")
    with pytest.raises(VistermError, match="cannot write"), writer(tmp_path / "lock", "adding"):
        pass
    assert (tmp_path / "thesis.tex").read_text() == "years of work"

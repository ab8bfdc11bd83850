"""Files are whole or not there: the promise under every other one."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from visterm.errors import VistermError
from visterm.files import write_whole


def test_bytes_and_writers_give_the_same_file(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"tree" * 1000)
    write_whole(str(tmp_path / "b"), lambda file: file.writelines([b"tree"] * 1000))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"tree" * 1000
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_the_file_is_readable_to_those_the_umask_allows(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_whole(tmp_path / "whole", b"")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def _full(file: BinaryIO) -> None:
    file.write(b"half")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_keeps_the_old_file_and_says_so_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    write_whole(path, b"old")
    with pytest.raises(VistermError) as caught:
        write_whole(path, _full)
    assert str(caught.value) == (
        f"cannot write {path}: no space left on the device; free some and try again"
    )
    assert os.listdir(tmp_path) == ["words.txt"]
    assert path.read_bytes() == b"old"


def test_a_full_disk_met_only_when_syncing_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(VistermError, match="no space left"):
        write_whole(tmp_path / "words.txt", b"new")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX's")
def test_a_limit_set_by_the_system_leaves_nothing_behind(tmp_path: Path) -> None:
    child = (
        "import resource, signal, sys\n"
        "from visterm.files import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "write_whole(sys.argv[1], b'x' * 100_000)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", child, str(tmp_path / "big")], capture_output=True, text=True
    )
    assert done.stderr.strip().endswith("the file would be larger than this system allows")
    assert os.listdir(tmp_path) == []


def test_a_writer_that_fails_keeps_the_old_file_and_its_own_error(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    write_whole(path, b"old")

    def broken(file: BinaryIO) -> None:
        file.write(b"half")
        raise KeyError("tree")

    with pytest.raises(KeyError, match="tree"):
        write_whole(path, broken)
    assert os.listdir(tmp_path) == ["words.txt"]
    assert path.read_bytes() == b"old"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(VistermError, match=r"cannot write .*nowhere.*No such file"):
        write_whole(tmp_path / "nowhere" / "words.txt", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_a_kill_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"old")
    child = (
        "import os, signal, sys\n"
        "from visterm.files import write_whole\n"
        "def die(file):\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_whole(sys.argv[1], die)\n"
    )
    done = subprocess.run([sys.executable, "-c", child, str(path)])
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"

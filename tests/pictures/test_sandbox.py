"""Decoders that die or hang cost a picture, and nobody notices but whoever asked for it."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image
from tests.readers import reading_by

from visterm.errors import UnreadablePicture
from visterm.pictures.sandbox import (
    CRASHES,
    HANGS,
    NEVER_READY,
    Readers,
    picture_size,
    read_picture,
)

# A decoder that does what the name of a file says, before it decodes it.
HARMED = """
import json, os, sys, time
from visterm.pictures import sandbox
def say(data): sys.stdout.buffer.write(data); sys.stdout.buffer.flush()
def asked():
    for line in sys.stdin.buffer:
        path = json.loads(line)["path"]
        if "crash" in path: os.abort()
        if "mute" in path: time.sleep(60)
        if "stammer" in path: say(b'{"sha'); time.sleep(60)
        if "half" in path: say(b'{"shape": [1, 2, 2, 3], "bytes": 12}\\n123'); time.sleep(60)
        if "nonsense" in path: say(b'{}\\n'); time.sleep(60)
        if "drip" in path:
            while True: say(b" "); time.sleep(0.1)
        yield line
sandbox.serve(asked(), sys.stdout.buffer)
"""

# A decoder that says its number, then loops in C, where Python hears nothing.
_LOOPS = """
import itertools, os, sys
from PIL.ImageFile import ImageFile
from visterm.pictures import sandbox
def load(self):
    print(os.getpid(), file=sys.stderr, flush=True)
    sum(itertools.repeat(0))
ImageFile.load = load
sandbox.serve(sys.stdin.buffer, sys.stdout.buffer)
"""
_ASKS = """
import sys
from visterm.pictures.reader import Wanted
from visterm.pictures.sandbox import Readers
child = sys.executable, "-c", sys.argv[1]
Readers(1, longest=1, command=child).read(sys.argv[2], Wanted(pixels=True))
"""


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    Image.new("RGB", (40, 20), (200, 10, 10)).save(tmp_path / "red.png")
    return tmp_path / "red.png"


def named(picture: Path, name: str) -> Path:
    path = picture.with_name(f"{name}.png")
    path.write_bytes(picture.read_bytes())
    return path


def test_a_picture_that_ends_its_decoder_costs_itself(picture: Path) -> None:
    crashing, nonsense = named(picture, "crash"), named(picture, "nonsense")
    with reading_by(Readers(1, command=(sys.executable, "-c", HARMED))):
        for read in (read_picture, picture_size):
            for path in (crashing, nonsense):
                with pytest.raises(UnreadablePicture, match=CRASHES):
                    read(path)
            assert read_picture(picture).shape == (20, 40, 3)


def test_pictures_that_never_end_are_given_up(picture: Path) -> None:
    hanging = [named(picture, how) for how in ("mute", "stammer", "half", "drip")]
    harmed = Readers(4, longest=0.5, command=(sys.executable, "-c", HARMED))
    with reading_by(harmed), ThreadPoolExecutor(4) as threads:
        for given_up in [threads.submit(read_picture, path) for path in hanging]:
            with pytest.raises(UnreadablePicture, match=rf"{HANGS}, more than 0\.5 seconds"):
                given_up.result()
        assert read_picture(picture).shape == (20, 40, 3)


def test_a_decoder_that_loops_ends_although_whoever_asked_was_killed(picture: Path) -> None:
    asks = [sys.executable, "-c", _ASKS, _LOOPS, str(picture)]
    with subprocess.Popen(asks, stderr=subprocess.PIPE) as asking:
        assert asking.stderr is not None
        child = int(asking.stderr.readline())
        asking.kill()
        try:
            asking.communicate(timeout=60)  # the child has this pipe until it ends
        except subprocess.TimeoutExpired:
            os.kill(child, signal.SIGKILL)
            raise


def test_a_decoder_that_loops_is_given_up_for_its_processor_time(picture: Path) -> None:
    with (
        reading_by(Readers(1, longest=0.5, command=(sys.executable, "-c", _LOOPS))),
        pytest.raises(UnreadablePicture, match=rf"{HANGS}, more than 0\.5 seconds"),
    ):
        read_picture(picture)


def test_a_file_that_takes_too_much_memory_costs_itself(picture: Path) -> None:
    greedy = _LOOPS.replace("sum(itertools.repeat(0))", "bytearray(10**10)")
    with (
        reading_by(Readers(1, command=(sys.executable, "-c", greedy))),
        pytest.raises(UnreadablePicture, match="not enough memory"),
    ):
        read_picture(picture)


def test_relative_paths_are_those_of_the_folder_one_stands_in_now(
    picture: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert read_picture(picture).shape == (20, 40, 3)
    monkeypatch.chdir(picture.parent)
    assert read_picture("red.png").shape == (20, 40, 3)
    with pytest.raises(UnreadablePicture, match=r"^blue\.png: no such file"):
        read_picture("blue.png")
    monkeypatch.chdir(tmp_path_factory.mktemp("gone"))
    Path.cwd().rmdir()
    with pytest.raises(UnreadablePicture, match=r"^red\.png: no such file"):
        read_picture("red.png")


def test_the_time_that_a_decoder_takes_to_start_is_not_the_pictures(picture: Path) -> None:
    starts = f"exec {sys.executable} -c 'from {Readers.__module__} import main; main()'"
    with reading_by(Readers(1, longest=0.3, command=("sh", "-c", f"sleep 1; {starts}"))):
        assert read_picture(picture).shape == (20, 40, 3)


def test_a_decoder_that_does_not_start_is_said_to(picture: Path) -> None:
    for command in ("false", "/no/such/program"):
        with (
            reading_by(Readers(1, command=(command,))),
            pytest.raises(UnreadablePicture, match=NEVER_READY),
        ):
            read_picture(picture)


def test_a_decoder_is_heard_although_many_files_are_open(picture: Path) -> None:
    """As in a server with a thousand connections."""
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < 1200:
        pytest.skip("this system lets a process open fewer files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1200, most))
    with contextlib.ExitStack() as after:
        after.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, most))
        for _ in range(1040):
            after.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        with reading_by(Readers(1)):
            assert read_picture(picture).shape == (20, 40, 3)

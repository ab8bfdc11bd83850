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

import numpy as np
import pytest
from PIL import Image

from visterm.errors import UnreadablePicture
from visterm.pictures import read_picture
from visterm.pictures.decoding import picture_size
from visterm.pictures.decoding.decoder_process import (
    CRASHES,
    HANGS,
    NEVER_READY,
    DecoderProcesses,
)
from visterm.pictures.decoding.isolation import decoding_elsewhere

# A decoder that does what the name of a file says, before it decodes it.
_HARMED = """
import json, os, sys, time
from visterm.pictures.decoding import decoder_process
def say(data): sys.stdout.buffer.write(data); sys.stdout.buffer.flush()
def asked():
    for line in sys.stdin.buffer:
        path = json.loads(line)["path"]
        if "crash" in path: os.abort()
        if "mute" in path: time.sleep(60)
        if "stammer" in path: say(b'{"sha'); time.sleep(60)
        if "half" in path: say(b'{"shape": [1, 2, 2, 3], "size": 12}\\n123'); time.sleep(60)
        if "drip" in path:
            while True: say(b" "); time.sleep(0.1)
        yield line
decoder_process.serve(asked(), sys.stdout.buffer)
"""

# A decoder that says its number, then loops in C, where Python hears nothing.
_LOOPS = """
import itertools, os, sys
from PIL.ImageFile import ImageFile
from visterm.pictures.decoding import decoder_process
def load(self):
    print(os.getpid(), file=sys.stderr, flush=True)
    sum(itertools.repeat(0))
ImageFile.load = load
decoder_process.serve(sys.stdin.buffer, sys.stdout.buffer)
"""
_ASKS = """
import sys
from visterm.pictures.decoding.decoder_process import DecoderProcesses
child = sys.executable, "-c", sys.argv[1]
DecoderProcesses(1, longest=1, command=child).read(sys.argv[2], 10**6, None)
"""


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    Image.new("RGB", (40, 20), (200, 10, 10)).save(tmp_path / "red.png")
    return tmp_path / "red.png"


def test_pixels_and_reasons_are_those_of_this_process(picture: Path) -> None:
    picture.with_name("broken.png").write_bytes(picture.read_bytes()[:40])
    here = read_picture(picture, max_side=10)
    with pytest.raises(UnreadablePicture) as refused:
        read_picture(picture.with_name("broken.png"))
    with decoding_elsewhere():
        np.testing.assert_array_equal(read_picture(picture, max_side=10), here)
        with pytest.raises(UnreadablePicture) as elsewhere:
            read_picture(picture.with_name("broken.png"))
        assert read_picture(picture).flags.writeable
    assert str(elsewhere.value) == str(refused.value)


@pytest.mark.parametrize("ending", ["webp", "avif"])
def test_heads_that_a_library_in_c_reads_are_read_by_a_child(picture: Path, ending: str) -> None:
    path = picture.with_suffix(f".{ending}")
    Image.new("RGB", (40, 20)).save(path)
    crashing = path.with_stem("crash")
    crashing.write_bytes(path.read_bytes())
    broken = path.with_stem("broken")
    broken.write_bytes(path.read_bytes()[:40])
    with decoding_elsewhere(DecoderProcesses(1, command=(sys.executable, "-c", _HARMED))):
        assert picture_size(path) == (40, 20)
        with pytest.raises(UnreadablePicture, match=CRASHES):
            picture_size(crashing)
        with pytest.raises(UnreadablePicture, match=r"its|cut short"):
            picture_size(broken)
        crashing.write_bytes(picture.read_bytes())
        assert picture_size(crashing) == (40, 20), "a PNG, whatever it is called: Python reads it"


def test_a_picture_that_ends_its_decoder_costs_itself(picture: Path) -> None:
    harmed = DecoderProcesses(1, command=(sys.executable, "-c", _HARMED))
    crashing = picture.with_name("crash.png")
    crashing.write_bytes(picture.read_bytes())
    with decoding_elsewhere(harmed):
        for _ in range(2):
            with pytest.raises(UnreadablePicture, match=CRASHES):
                read_picture(crashing)
            assert read_picture(picture).shape == (20, 40, 3)


def test_pictures_that_never_end_are_given_up(picture: Path) -> None:
    harmed = DecoderProcesses(4, longest=1.5, command=(sys.executable, "-c", _HARMED))
    hanging = [picture.with_name(f"{how}.png") for how in ("mute", "stammer", "half", "drip")]
    for path in hanging:
        path.write_bytes(picture.read_bytes())
    with decoding_elsewhere(harmed), ThreadPoolExecutor(4) as threads:
        for given_up in [threads.submit(read_picture, path) for path in hanging]:
            with pytest.raises(UnreadablePicture, match=rf"{HANGS}, more than 1\.5 seconds"):
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


def test_relative_paths_are_those_of_the_folder_one_stands_in_now(
    picture: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with decoding_elsewhere(DecoderProcesses(1)):
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
    slow = ("sh", "-c", f"sleep 1; exec {sys.executable} -m {DecoderProcesses.__module__}")
    with decoding_elsewhere(DecoderProcesses(1, longest=0.9, command=slow)):
        assert read_picture(picture).shape == (20, 40, 3)


def test_a_decoder_that_does_not_start_is_said_to(picture: Path) -> None:
    with (
        decoding_elsewhere(DecoderProcesses(1, command=("false",))),
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
        with decoding_elsewhere():
            assert read_picture(picture).shape == (20, 40, 3)

"""Decoders that die or hang cost a picture, and nobody notices but whoever asked for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.errors import UnreadablePicture
from visterm.pictures import read_picture
from visterm.pictures.decoding.decoder_process import (
    CRASHES,
    HANGS,
    DecoderProcesses,
    decoding_elsewhere,
)

# A decoder that does what the name of a file says, before it decodes it.
_HARMED = """
import json, os, sys, time
from visterm.pictures.decoding import decoder_process
def asked():
    for line in sys.stdin.buffer:
        path = json.loads(line)["path"]
        if "crash" in path: os.abort()
        if "hang" in path: time.sleep(60)
        yield line
decoder_process.serve(asked(), sys.stdout.buffer)
"""


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    Image.new("RGB", (40, 20), (200, 10, 10)).save(tmp_path / "red.png")
    return tmp_path / "red.png"


@pytest.fixture
def harmed() -> Iterator[DecoderProcesses]:
    processes = DecoderProcesses(1, longest=3.0, command=(sys.executable, "-c", _HARMED))
    yield processes
    processes.close()


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


def test_a_picture_that_ends_its_decoder_costs_itself(
    picture: Path, harmed: DecoderProcesses
) -> None:
    crashing = picture.with_name("crash.png")
    crashing.write_bytes(picture.read_bytes())
    with decoding_elsewhere(harmed):
        for _ in range(2):
            with pytest.raises(UnreadablePicture, match=CRASHES):
                read_picture(crashing)
            assert read_picture(picture).shape == (20, 40, 3)


def test_a_picture_that_never_ends_is_given_up(picture: Path, harmed: DecoderProcesses) -> None:
    hanging = picture.with_name("hang.png")
    hanging.write_bytes(picture.read_bytes())
    with decoding_elsewhere(harmed):
        assert read_picture(picture).shape == (20, 40, 3)
        with pytest.raises(UnreadablePicture, match=HANGS):
            read_picture(hanging)
        assert read_picture(picture).shape == (20, 40, 3)

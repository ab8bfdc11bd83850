"""Times and places in the headers of videos; headers that say nothing give nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from visterm.pictures.metadata import Capture, video_capture
from visterm.pictures.reader import Wanted, read_here

MOMENT = int(datetime(2019, 7, 4, 10, 20, 30, tzinfo=UTC).timestamp())


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_time_and_place_are_read(tmp_path: Path, ending: str) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / f"film.{ending}"
    with av.open(str(path), "w") as container:
        container.metadata["creation_time"] = "2019-07-04T10:20:30Z"
        container.metadata["location"] = "+38.7000-009.1400/"
        stream = container.add_stream("libx264", rate=5)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        container.mux(stream.encode(av.VideoFrame(32, 32, "yuv420p")))
        container.mux(stream.encode())
    found = read_here(path, Wanted(metadata=True)).metadata.recorded
    assert (found.taken, found.source) == (MOMENT, "video")
    assert (found.latitude, found.longitude) == (38.7, -9.14)


@pytest.mark.parametrize("time", ["1904-01-01T00:00:00.000000Z", "1970-01-01T00:00:00Z", "soon"])
def test_a_clock_that_was_never_set_says_nothing(time: str) -> None:
    assert video_capture({"creation_time": time, "location": "nowhere"}) == Capture()


def test_a_broken_video_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(bytes.fromhex("000000206674797069736f6d") + bytes(600))
    assert read_here(path, Wanted(metadata=True)).metadata.recorded == Capture()

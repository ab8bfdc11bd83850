"""Times and places in the headers of videos; broken headers say nothing."""

from __future__ import annotations

import io
import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visterm.pictures.metadata.caption_sources import metadata_of
from visterm.pictures.metadata.video_header import video_capture


def box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", 8 + len(body)) + kind + body


def film(seconds: int, place: bytes = b"") -> bytes:
    """The boxes of a film that hold its time and place, after those of its pictures."""
    header = box(b"mvhd", struct.pack(">III", 0, seconds, 0) + bytes(88))
    user = box(b"udta", box(b"\xa9xyz", struct.pack(">HH", len(place), 0) + place))
    return box(b"ftyp", b"isom" + bytes(4)) + box(b"mdat", bytes(99)) + box(b"moov", header + user)


MOMENT = int(datetime(2019, 7, 4, 10, 20, 30, tzinfo=UTC).timestamp())


def test_time_and_place_are_read(tmp_path: Path) -> None:
    data = film(MOMENT + 2_082_844_800, b"+38.7000-009.1400+012/")
    found = video_capture(io.BytesIO(data))
    assert (found.taken, found.source) == (MOMENT, "video")
    assert (found.latitude, found.longitude) == (38.7, -9.14)
    (tmp_path / "film.mp4").write_bytes(data)
    assert metadata_of(tmp_path / "film.mp4").recorded == found


def test_what_pyav_writes_is_read(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    with av.open(str(tmp_path / "film.mp4"), "w") as container:
        container.metadata["creation_time"] = "2019-07-04T10:20:30Z"
        stream = container.add_stream("libx264", rate=5)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        container.mux(stream.encode(av.VideoFrame(32, 32, "yuv420p")))
        container.mux(stream.encode())
    assert metadata_of(tmp_path / "film.mp4").recorded.taken == MOMENT


def test_a_clock_that_was_never_set_says_nothing() -> None:
    assert video_capture(io.BytesIO(film(0))).taken is None
    assert video_capture(io.BytesIO(film(2_082_844_800))).taken is None


@given(st.binary(max_size=300), st.integers(0, 200))
def test_broken_headers_never_raise(noise: bytes, place: int) -> None:
    data = film(MOMENT, b"+38.7-009.1/")
    video_capture(io.BytesIO(data[:place] + noise + data[place + len(noise) :]))
    video_capture(io.BytesIO(noise))

"""Frames of videos that differ, with their times; and a reason for every video without any."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.drawn_videos import CODECS, encode
from benchmarks.hostile_media import damaged

from visterm.datasets.scenes import draw_scenes
from visterm.errors import UnreadablePicture
from visterm.pictures.formats import kind_of_name, video_format
from visterm.pictures.reader import Reading, Wanted, read_here
from visterm.pictures.sandbox import picture_size, read_picture, readers

pytest.importorskip("av")


def read_frames(path: Path, max_side: int | None = None) -> Reading:
    reading = readers().read(path, Wanted(pixels=True, frames=True, max_side=max_side))
    if reading.reason is not None:
        raise UnreadablePicture(str(path), reading.reason)
    return reading


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("scenes")
    draw_scenes(folder, 3, size=(96, 64))
    return sorted(folder.glob("*.jpg"))


@pytest.mark.parametrize("ending", CODECS)
def test_every_scene_is_a_frame_that_can_be_read_again(
    scenes: list[Path], tmp_path: Path, ending: str
) -> None:
    video = encode(tmp_path / f"film{ending}", scenes)
    found = read_frames(video, max_side=48)
    assert sorted(int(second // 2) for second in found.seconds) == [0, 1, 2]
    for second, pixels in zip(found.seconds, found.pixels, strict=True):
        assert pixels.shape == (32, 48, 3)
        drawn = read_picture(scenes[int(second // 2)], max_side=48).astype(int)
        assert np.abs(pixels - drawn).mean() < 12
        assert (read_picture(video, max_side=48, second=second) == pixels).all()
    assert picture_size(video) == (96, 64)
    assert kind_of_name(video.name) == "video"


def test_one_visit_brings_the_same_frames_and_the_size(scenes: list[Path], tmp_path: Path) -> None:
    video = encode(tmp_path / "film.mp4", scenes)
    everything = Wanted(digest=True, metadata=True, size=True, pixels=True, frames=True)
    found, frames = readers().read(video, everything), read_frames(video)
    assert found.seconds == frames.seconds
    assert all((a == b).all() for a, b in zip(found.pixels, frames.pixels, strict=True))
    assert found.size == (96, 64)
    assert found.digest == hashlib.sha256(video.read_bytes()).digest()


def test_a_scene_that_lasts_is_one_frame_and_the_usual_one_comes_first(
    scenes: list[Path], tmp_path: Path
) -> None:
    video = encode(tmp_path / "film.mp4", [scenes[0], scenes[1], scenes[1], scenes[1]])
    found = read_frames(video)
    assert len(found.seconds) == 2
    assert found.seconds[0] >= 2
    first = read_picture(video.read_bytes())
    assert (first == found.pixels[0]).all()


@pytest.mark.parametrize("ending", CODECS)
def test_hostile_videos_give_frames_or_a_reason_each(
    scenes: list[Path], tmp_path: Path, ending: str
) -> None:
    sound = encode(tmp_path / f"film{ending}", scenes[:2], seconds=1).read_bytes()
    reasons = []
    for number in range(12):
        path = tmp_path / f"{number}{ending}"
        path.write_bytes(damaged(sound, number))
        try:
            assert read_frames(path, max_side=32).pixels
        except UnreadablePicture as error:
            reasons.append(error.reason)
    assert reasons
    assert all(reason.startswith(("its ", "it ", "there ")) for reason in reasons)


def test_what_only_looks_like_a_video_gives_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "list.mp4"
    path.write_bytes(b"#EXTM3U\nhttp://127.0.0.1:1/secret\n")
    with pytest.raises(UnreadablePicture, match="not a picture in a format"):
        read_frames(path)
    path.write_bytes(bytes.fromhex("000000206674797069736f6d") + bytes(600))
    with pytest.raises(UnreadablePicture, match=r"its video data are broken|holds no"):
        read_frames(path)
    assert video_format(b"\0\0\0\x18ftypheic") is None


def test_without_the_extra_the_reason_says_what_to_install(
    scenes: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = encode(tmp_path / "film.mp4", scenes[:1])
    monkeypatch.setitem(sys.modules, "av", None)
    reason = read_here(video, Wanted(pixels=True)).reason
    assert "pip install 'visterm[video]'" in str(reason)

"""Frames of videos that differ, with their times; and a reason for every video without any."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.drawn_videos import CODECS, encode
from benchmarks.hostile_media import damaged

from visterm.datasets.scenes import draw_scenes
from visterm.errors import UnreadablePicture
from visterm.pictures import read_picture
from visterm.pictures.decoding import picture_size
from visterm.pictures.decoding.formats import kind_of_name, video_format
from visterm.pictures.decoding.frames import read_frames
from visterm.pictures.decoding.isolation import decoding_elsewhere

pytest.importorskip("av")


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


def test_a_scene_that_lasts_is_one_frame_and_the_usual_one_comes_first(
    scenes: list[Path], tmp_path: Path
) -> None:
    video = encode(tmp_path / "film.mp4", [scenes[0], scenes[1], scenes[1], scenes[1]])
    found = read_frames(video)
    assert len(found.seconds) == 2
    assert found.seconds[0] >= 2
    first = read_picture(video.read_bytes())
    assert (first == found.pixels[0]).all()


def test_a_server_decodes_videos_where_it_decodes_pictures(
    scenes: list[Path], tmp_path: Path
) -> None:
    video = encode(tmp_path / "film.mp4", scenes[:2])
    alone = read_frames(video)
    with decoding_elsewhere():
        there = read_frames(video)
        assert (read_picture(video, second=0.0) == read_picture(video, second=0.0)).all()
    assert there.seconds == alone.seconds


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
    scenes: list[Path], tmp_path: Path
) -> None:
    video = encode(tmp_path / "film.mp4", scenes[:1])
    code = f"""
import sys
sys.modules["av"] = None
from visterm.pictures.decoding.frames import decode_frames
try:
    decode_frames({str(video)!r}, 10**8, None)
except Exception as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'visterm[video]'" in found.stdout

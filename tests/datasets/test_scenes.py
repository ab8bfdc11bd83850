"""The drawn scenes: repeatable, varied, sensible, and written with their captions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.datasets import SCENE_WORDS, Scene, draw_scene, draw_scenes, read_tsv
from visterm.errors import BadInput


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return [draw_scene(0, index, (96, 64)) for index in range(300)]


def test_a_scene_is_the_same_whenever_it_is_drawn_and_others_differ(scenes: list[Scene]) -> None:
    for index in (17, 3, 120):
        again = draw_scene(0, index, (96, 64))
        assert again.words == scenes[index].words
        assert again.pixels.tobytes() == scenes[index].pixels.tobytes()
    assert len({scene.pixels.tobytes() for scene in scenes}) == len(scenes)
    assert draw_scene(1, 5, (96, 64)).pixels.tobytes() != scenes[5].pixels.tobytes()


def test_pixels_are_bytes_of_the_size_asked_for_and_captions_the_same_in_any_size() -> None:
    for size in ((192, 128), (64, 96), (50, 33), (301, 200)):
        scene = draw_scene(2, 9, size)
        assert scene.pixels.shape == (size[1], size[0], 3)
        assert scene.pixels.dtype == np.uint8
        assert scene.words == draw_scene(2, 9).words


def test_every_word_is_in_two_of_a_hundred_captions_and_none_in_all(scenes: list[Scene]) -> None:
    counts = Counter(word for scene in scenes for word in scene.words)
    assert set(counts) == set(SCENE_WORDS)
    assert min(counts.values()) >= 6
    assert max(counts.values()) <= 270


def test_captions_hold_two_to_seven_words_in_order_and_make_sense(scenes: list[Scene]) -> None:
    assert len({scene.words for scene in scenes}) > 0.7 * len(scenes)
    for scene in scenes:
        words = set(scene.words)
        assert 2 <= len(words) <= 7
        assert list(scene.words) == sorted(words, key=SCENE_WORDS.index)
        assert not {"star", "moon"} & words or "night" in words
        assert not {"sun", "night"} <= words
        assert not {"rain", "snow"} <= words
        assert "lighthouse" not in words or "sea" in words


def test_nights_are_darker_than_days(scenes: list[Scene]) -> None:
    dark = [scene.pixels.mean() for scene in scenes if "night" in scene.words]
    bright = [scene.pixels.mean() for scene in scenes if "night" not in scene.words]
    assert np.mean(dark) < 0.6 * np.mean(bright)


def test_scenes_are_written_with_their_table(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    drawn = draw_scenes(
        tmp_path / "new" / "folder",
        4,
        seed=3,
        size=(96, 64),
        progress=lambda what, done, total: seen.append((what, done, total)),
    )
    assert [path.name for path, _ in drawn] == [f"scene-000{n}.jpg" for n in (1, 2, 3, 4)]
    assert seen == [("drawing", n, 4) for n in (1, 2, 3, 4)]
    table = read_tsv(tmp_path / "new" / "folder" / "captions.tsv")
    assert table.paths == [path for path, _ in drawn]
    assert table.captions == [" ".join(words) for _, words in drawn]
    for index, (path, words) in enumerate(drawn):
        scene = draw_scene(3, index, (96, 64))
        assert scene.words == words
        with Image.open(path) as picture:
            assert np.abs(np.asarray(picture, int) - scene.pixels).mean() < 12


def test_wrong_numbers_and_sizes_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="count from 0"):
        draw_scene(-1, 0)
    with pytest.raises(BadInput, match="at least 32 × 32"):
        draw_scene(0, 0, (31, 64))
    with pytest.raises(BadInput, match="at least 1"):
        draw_scenes(tmp_path, 0)

"""Features with parameters: a collection keeps them under a key of their own."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scene


def test_features_with_parameters_are_kept_under_a_key_that_says_them(tmp_path: Path) -> None:
    for number in range(3):
        Image.fromarray(draw_scene(0, number).pixels).save(tmp_path / f"{number}.png")
    with Collection.open(tmp_path) as collection:
        collection.add(features="cnn(size=64)", n_jobs=1)
        assert collection.status().features == "cnn-1(size=64)"
        assert (collection.store / "features" / "cnn-1(size=64)").is_dir()
    with Collection.open(tmp_path) as collection:
        collection.add(n_jobs=1)
        assert collection.status().features == "cnn-1(size=64)", "as before, where nothing is said"

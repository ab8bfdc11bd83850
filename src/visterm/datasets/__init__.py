"""One reader of captioned pictures, the public data sets that are read by it, and drawn scenes.

Importing this package loads NumPy only; Pillow comes with the first scene that is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visterm.datasets.captioned_dataset import (
    CaptionedDataset,
    CaptionedPictures,
    QueryOptions,
    read_dataset,
    read_tsv,
)
from visterm.datasets.public_datasets import (
    DATASETS,
    Corel5k,
    data_folder,
    read_corel5k,
    read_flickr8k,
    read_iaprtc12,
)

if TYPE_CHECKING:
    from visterm.datasets.scenes import SCENE_WORDS, Scene, draw_scene, draw_scenes

__all__ = [
    "DATASETS",
    "SCENE_WORDS",
    "CaptionedDataset",
    "CaptionedPictures",
    "Corel5k",
    "QueryOptions",
    "Scene",
    "data_folder",
    "draw_scene",
    "draw_scenes",
    "read_corel5k",
    "read_dataset",
    "read_flickr8k",
    "read_iaprtc12",
    "read_tsv",
]

_DRAWN = ("SCENE_WORDS", "Scene", "draw_scene", "draw_scenes")


def __getattr__(name: str) -> object:
    # Drawing needs Pillow, which a command that only reads a benchmark should not wait for.
    if name in _DRAWN:
        from visterm.datasets import scenes

        return getattr(scenes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

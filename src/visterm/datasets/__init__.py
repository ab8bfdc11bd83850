"""Readers of public benchmarks and of captioned folders, and the drawn scenes of the demo.

Importing this room loads NumPy only; Pillow comes with the first scene that is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visterm.datasets.captioned_pictures import CaptionedPictures, read_tsv
from visterm.datasets.corel5k import Corel5k, read_corel5k
from visterm.datasets.iaprtc12 import IaprTc12, read_iaprtc12
from visterm.datasets.locations import data_folder

if TYPE_CHECKING:
    from visterm.datasets.scenes import SCENE_WORDS, Scene, draw_scene, draw_scenes

__all__ = [
    "SCENE_WORDS",
    "CaptionedPictures",
    "Corel5k",
    "IaprTc12",
    "Scene",
    "data_folder",
    "draw_scene",
    "draw_scenes",
    "read_corel5k",
    "read_iaprtc12",
    "read_tsv",
]

_DRAWN = ("SCENE_WORDS", "Scene", "draw_scene", "draw_scenes")


def __getattr__(name: str) -> object:
    # Drawing needs Pillow, which a command that only reads a benchmark should not wait for.
    if name in _DRAWN:
        from visterm.datasets.scenes import scene as scenes

        return getattr(scenes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

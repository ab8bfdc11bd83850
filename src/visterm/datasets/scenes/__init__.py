"""Little painted landscapes that know their captions: the pictures of the demo, docs and tests."""

from visterm.datasets.scenes.scene import SCENE_WORDS, Scene, draw_scene, draw_scenes

__all__ = ["SCENE_WORDS", "Scene", "draw_scene", "draw_scenes"]

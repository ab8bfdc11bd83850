"""Little painted landscapes that know their captions: the pictures of the demo, docs and tests.

Nothing is downloaded and nothing is looked up: every picture is drawn from its seed and its
number, in one of five lights, with grain, tilt, haze and things in front of other things, so that a
model has to learn what its words look like. A caption names exactly what is left to be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance

from visterm.datasets.scenes.canvas import Canvas
from visterm.datasets.scenes.composition import compose
from visterm.datasets.scenes.palette import choose_light
from visterm.datasets.scenes.plans import choose_plan
from visterm.datasets.scenes.textures import SIDE, tile
from visterm.datasets.scenes.view import View
from visterm.errors import BadInput
from visterm.files import write_whole
from visterm.progress import Progress, silent

SCENE_WORDS = (
    "sky", "sea", "sun", "cloud", "mountain", "snow", "tree", "forest", "field", "flower",
    "house", "city", "boat", "bridge", "road", "car", "bird", "night", "star", "moon",
    "rain", "beach", "desert", "fire", "people", "river", "lighthouse", "rainbow", "balloon",
    "cactus",
)  # fmt: skip
"""Every word a caption can hold, in the order in which captions hold them."""

VISIBLE = 0.005
"""A word is dropped when its thing covers less of the picture than this."""


@dataclass(frozen=True)
class Scene:
    """A picture as (height, width, 3) bytes, and the words that caption it."""

    pixels: NDArray[np.uint8]
    words: tuple[str, ...]


def draw_scene(seed: int, index: int, size: tuple[int, int] = (192, 128)) -> Scene:
    """Draw picture ``index`` of ``seed``, the same whatever else is drawn.

    Parameters
    ----------
    seed, index : int
        Which picture; both at least 0.
    size : (int, int)
        Width and height in pixels; at least 32 each. Details are painted for about 192 × 128.

    Examples
    --------
    >>> scene = draw_scene(seed=0, index=7)
    >>> scene.pixels.shape
    (128, 192, 3)
    >>> set(scene.words) <= set(SCENE_WORDS)
    True
    """
    if seed < 0 or index < 0:
        raise BadInput(f"seed and index count from 0, but were {seed} and {index}")
    if min(size) < 32:
        raise BadInput(f"a scene needs at least 32 × 32 pixels, not {size[0]} × {size[1]}")
    attempt = 0
    while True:
        rng = np.random.default_rng([seed, index, attempt])
        scene = _draw(rng, size)
        if len(scene.words) >= 2:
            return scene
        attempt += 1


def draw_scenes(
    folder: Path | str,
    count: int,
    *,
    seed: int = 0,
    size: tuple[int, int] = (192, 128),
    progress: Progress = silent,
) -> list[tuple[Path, tuple[str, ...]]]:
    """Draw ``count`` scenes into a folder as JPEG files, with their captions in ``captions.tsv``.

    Returns the path and the words of each, in order. The table is one ``read_tsv`` understands.
    """
    if count < 1:
        raise BadInput(f"the number of scenes to draw is at least 1, not {count}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    drawn: list[tuple[Path, tuple[str, ...]]] = []
    digits = max(4, len(str(count)))
    for index in range(count):
        scene = draw_scene(seed, index, size)
        path = folder / f"scene-{index + 1:0{digits}}.jpg"
        Image.fromarray(scene.pixels).save(path, quality=88)
        drawn.append((path, scene.words))
        progress("drawing", index + 1, count)
    lines = [f"{path.name}\t{' '.join(words)}\n" for path, words in drawn]
    write_whole(folder / "captions.tsv", "".join(lines).encode())
    return drawn


def _draw(rng: np.random.Generator, size: tuple[int, int]) -> Scene:
    plan = choose_plan(rng)
    view = View(Canvas(size, rng), choose_light(rng, plan.light), plan.horizon, plan.winter)
    compose(view, plan)
    shift = (view.between(-0.02, 0.02), view.between(-0.02, 0.02))
    tilt = float(np.clip(rng.normal(0, 0.018), -0.045, 0.045))
    picture, shares = view.canvas.develop(tilt, view.between(1.0, 1.12), shift)
    seen = {word for word, share in shares.items() if share >= VISIBLE}
    # Night and rain are over the whole picture, wherever one looks.
    seen |= plan.words & {"night", "rain"}
    return Scene(_printed(rng, picture), tuple(word for word in SCENE_WORDS if word in seen))


def _printed(rng: np.random.Generator, picture: Image.Image) -> NDArray[np.uint8]:
    """The picture as from an old press: its inks a little off, darker edges, paper and grain."""
    width, height = picture.size
    faded = rng.random() < 0.08
    strength = rng.uniform(0.3, 0.65) if faded else rng.uniform(0.9, 1.18)
    pixels = np.asarray(ImageEnhance.Color(picture).enhance(strength), np.float32)
    inks = rng.normal(1.0, 0.03, 3).astype(np.float32) * np.float32(rng.uniform(0.93, 1.09))
    y, x = np.ogrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    edges = (1 - rng.uniform(0.02, 0.14) * (x**2 + y**2)).astype(np.float32)
    left, top = rng.integers(0, SIDE, 2).tolist()
    weave = np.asarray(tile("grain"))
    rows, columns = (top + np.arange(height)) % SIDE, (left + np.arange(width)) % SIDE
    grain = rng.standard_normal((height, width), np.float32) * np.float32(rng.uniform(0.5, 2.5))
    paper = weave[rows[:, None], columns].astype(np.float32) - 128
    grain += paper * np.float32(rng.uniform(0.01, 0.04))
    pixels = pixels * inks
    pixels *= edges[..., None]
    pixels += grain[..., None]
    return np.clip(pixels, 0, 255).astype(np.uint8)

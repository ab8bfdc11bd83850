"""Little drawn landscapes that know their captions: the pictures of tests and small examples.

Every picture is drawn from its seed and its number: a place, an hour of the day, and things that
stand there, each a few polygons in colours of its own, with other sizes, tints and grain every
time, so that a model has something to learn. A caption names what was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from visterm.errors import BadInput
from visterm.files import write_whole
from visterm.progress import Progress, silent

Colour = tuple[int, int, int]
Outline = list[tuple[float, float]]

SCENE_WORDS = (
    "sky", "sea", "sun", "cloud", "mountain", "snow", "tree", "forest", "field", "flower",
    "house", "city", "boat", "bridge", "road", "car", "bird", "night", "star", "moon",
    "rain", "beach", "desert", "fire", "people", "river", "lighthouse", "rainbow", "balloon",
    "cactus",
)  # fmt: skip
"""Every word a caption can hold, in the order in which captions hold them."""


@dataclass(frozen=True)
class Scene:
    """A picture as (height, width, 3) bytes, and the words that caption it."""

    pixels: NDArray[np.uint8]
    words: tuple[str, ...]


def draw_scene(seed: int, index: int, size: tuple[int, int] = (192, 128)) -> Scene:
    """Draw picture ``index`` of ``seed``, the same whatever else is drawn.

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
    random = np.random.default_rng([seed, index])
    words, hour = _planned(random)
    pixels = _painted(random, size, words, hour)
    return Scene(pixels, tuple(word for word in SCENE_WORDS if word in words))


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
    for index in range(count):
        scene = draw_scene(seed, index, size)
        path = folder / f"scene-{index + 1:0{max(4, len(str(count)))}}.jpg"
        Image.fromarray(scene.pixels).save(path, quality=88)
        drawn.append((path, scene.words))
        progress("drawing", index + 1, count)
    lines = [f"{path.name}\t{' '.join(words)}\n" for path, words in drawn]
    write_whole(folder / "captions.tsv", "".join(lines).encode())
    return drawn


_PLACES = {
    "sea": "boat boat lighthouse bird sun cloud rain mountain",
    "sea beach": "boat lighthouse people fire sun bird balloon cloud tree",
    "mountain field": "snow snow tree river house flower people bird rainbow",
    "mountain forest": "snow snow river house cloud rain fire people",
    "field": "tree house flower flower road car people rain rainbow balloon river bridge fire",
    "field snow": "tree house people road car cloud bird",
    "city": "road car people river bridge rain cloud tree boat snow",
    "desert": "cactus cactus mountain road car people fire sun bird",
    "forest": "river road house fire people bird snow rain",
}
"""What always lies in a place, and what else may stand there."""
_AT_NIGHT = "star star moon moon fire cloud"
_NEEDS = {"car": "road", "boat": "river", "bridge": "river"}
_CLASHES = ("sun rain", "sun cloud", "rain snow", "rain fire", "river road", "balloon rain")
_BY_DAY = {"sun", "rainbow", "balloon", "bird"}
_IN_THE_SKY = _BY_DAY | {"moon", "star", "cloud", "mountain", "city", "rain"}
_MOST_WORDS = 7


def _planned(random: np.random.Generator) -> tuple[set[str], str]:
    """Words that go together, and the hour of the day."""
    place = list(_PLACES)[random.integers(len(_PLACES))]
    hour = ("day", "day", "dusk", "overcast", "night")[random.integers(5)]
    words = set(place.split()) | ({"night"} if hour == "night" else set())
    if words & _IN_THE_SKY or random.random() < 0.75:
        words.add("sky")
    extras = f"{_PLACES[place]} {_AT_NIGHT if hour == 'night' else ''}".split()
    most = int(random.integers(4, _MOST_WORDS + 1))
    for word in random.permutation(extras).tolist():
        more = {word} | ({_NEEDS[word]} if word in _NEEDS and "sea" not in words else set())
        clash = any(set(pair.split()) <= words | more for pair in _CLASHES)
        hidden = word in _IN_THE_SKY and "sky" not in words
        late = hour == "night" and word in _BY_DAY
        if not (clash or hidden or late) and len(words | more) <= most:
            words |= more
    return words, hour


def _box(x: float, y: float, width: float, height: float) -> Outline:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def _disc(radius: float, x: float = 0.0, y: float = 0.0) -> Outline:
    turns = np.linspace(0, 2 * np.pi, 14)
    return [(x + radius * float(np.cos(t)), y + radius * float(np.sin(t))) for t in turns]


_DUSK, _CLOUDED = (235, 160, 110), (175, 182, 190)
_SKIES = {"day": (120, 175, 235), "dusk": _DUSK, "overcast": _CLOUDED, "night": (130, 140, 190)}
_GROUNDS = {
    "sea": (40, 95, 150), "field": (95, 155, 60), "city": (110, 108, 112), "desert": (215, 165, 95),
    "forest": (60, 95, 50),
}  # fmt: skip
_WHITE, _DARK, _BROWN, _RED = (242, 245, 250), (45, 40, 45), (105, 72, 42), (200, 55, 45)
_THINGS: dict[str, tuple[str, tuple[int, int], float, list[tuple[Colour, Outline]]]] = {
    "star": ("sky", (25, 40), 0.006, [((255, 255, 240), _disc(1))]),
    "moon": ("sky", (1, 1), 0.06, [((250, 245, 215), _disc(1))]),
    "sun": ("sky", (1, 1), 0.07, [((255, 225, 90), _disc(1))]),
    "rainbow": ("horizon", (1, 1), 0.4, [
        ((220, 60, 60), _disc(1)), ((240, 170, 50), _disc(0.93)), ((240, 230, 80), _disc(0.86)),
        ((80, 180, 90), _disc(0.79)), ((70, 100, 200), _disc(0.72)), ((150, 190, 235), _disc(0.65)),
    ]),
    "cloud": ("sky", (2, 4), 0.08, [
        (_WHITE, _disc(1)), (_WHITE, _disc(0.7, 1)), (_WHITE, _disc(0.6, -1)),
    ]),
    "bird": ("sky", (4, 8), 0.025, [(_DARK, [(-1, -0.6), (0, 0), (1, -0.6), (0, 0.3)])]),
    "balloon": ("sky", (1, 2), 0.06, [
        ((215, 60, 120), _disc(1)), ((245, 200, 60), _box(-0.3, -0.9, 0.6, 1.8)),
        (_BROWN, _box(-0.25, 1.2, 0.5, 0.4)),
    ]),
    "mountain": ("horizon", (4, 5), 0.2, [((125, 115, 120), [(-1.1, 0), (0, -1.1), (1.1, 0)])]),
    "city": ("horizon", (9, 12), 0.07, [
        ((95, 90, 105), _box(-0.7, -3, 1.4, 3.6)), ((235, 220, 150), _box(-0.4, -2.6, 0.3, 0.4)),
        ((235, 220, 150), _box(0.1, -1.7, 0.3, 0.4)), ((235, 220, 150), _box(-0.4, -0.9, 0.3, 0.4)),
    ]),
    "ground": ("left", (1, 1), 1.0, []),
    "sea": ("ground", (10, 14), 0.12, [((150, 190, 215), _box(-1, 0, 2, 0.06))]),
    "beach": ("shore", (1, 1), 1.0, [((228, 205, 150), _box(-1, 0, 3, 1))]),
    "field": ("ground", (14, 20), 0.05, [((75, 135, 45), [(-1, 0), (0, -0.4), (1, 0)])]),
    "desert": ("ground", (3, 5), 0.3, [((195, 145, 80), [(-1, 0.1), (0, -0.12), (1, 0.1)])]),
    "road": ("horizon", (1, 1), 1.0, [((85, 85, 90), [(0, 0), (0.05, 0), (0.35, 1), (-0.15, 1)])]),
    "river": ("horizon", (1, 1), 1.0, [((70, 130, 180), [(0, 0), (0.06, 0), (0.2, 1), (-0.3, 1)])]),
    "forest": ("ground", (30, 40), 0.07, [((30, 70, 35), [(-0.6, 0.4), (0, -1), (0.6, 0.4)])]),
    "bridge": ("horizon", (1, 1), 0.3, [
        ((150, 95, 80), _box(-1, 0.2, 2, 0.15)), ((150, 95, 80), _box(-0.6, 0.2, 0.12, 0.6)),
        ((150, 95, 80), _box(0.5, 0.2, 0.12, 0.6)),
    ]),
    "house": ("ground", (1, 2), 0.1, [
        ((225, 205, 175), _box(-0.7, -0.5, 1.4, 1)), (_RED, [(-0.9, -0.5), (0, -1.2), (0.9, -0.5)]),
        (_BROWN, _box(-0.15, 0, 0.3, 0.5)),
    ]),
    "lighthouse": ("ground", (1, 1), 0.08, [
        (_WHITE, _box(-0.25, -2.5, 0.5, 2.7)), (_RED, _box(-0.25, -1.6, 0.5, 0.8)),
    ]),
    "tree": ("ground", (2, 4), 0.08, [
        (_BROWN, _box(-0.12, 0, 0.24, 0.9)), ((55, 125, 50), _disc(0.75, 0, -0.5)),
    ]),
    "cactus": ("ground", (3, 5), 0.05, [
        ((60, 120, 60), _box(-0.2, -1.5, 0.4, 2)), ((60, 120, 60), _box(-0.8, -1, 0.3, 0.8)),
        ((60, 120, 60), _box(-0.8, -0.4, 1.5, 0.25)), ((60, 120, 60), _box(0.5, -1.1, 0.3, 0.8)),
    ]),
    "flower": ("ground", (60, 80), 0.012, [((235, 90, 140), _disc(1))]),
    "boat": ("ground", (1, 3), 0.09, [
        (_BROWN, [(-1, 0), (1, 0), (0.6, 0.4), (-0.6, 0.4)]), (_WHITE, [(0, -1.4), (0, 0), (1, 0)]),
    ]),
    "car": ("ground", (2, 3), 0.07, [
        (_RED, _box(-1, -0.3, 2, 0.5)), ((60, 80, 110), _box(-0.5, -0.7, 1, 0.4)),
        (_DARK, _disc(0.25, -0.6, 0.25)), (_DARK, _disc(0.25, 0.6, 0.25)),
    ]),
    "people": ("ground", (3, 6), 0.035, [
        ((60, 70, 150), _box(-0.25, -0.6, 0.5, 1.4)), ((225, 180, 150), _disc(0.3, 0, -0.9)),
    ]),
    "fire": ("ground", (1, 2), 0.07, [
        ((240, 110, 30), [(-0.7, 0.4), (-0.3, -0.9), (0, -0.2), (0.3, -1.2), (0.7, 0.4)]),
        ((255, 215, 80), [(-0.3, 0.4), (0, -0.5), (0.3, 0.4)]),
    ]),
    "rain": ("all", (90, 120), 0.04, [((215, 225, 240), [(0, 0), (0.15, 0), (-0.5, 2)])]),
}  # fmt: skip
"""From far to near: where a thing stands, how many there are, its size, and its polygons around
that point, in units of the size."""
_SHINES = {"star", "moon", "fire"}
_CAP: tuple[Colour, Outline] = (_WHITE, [(-0.5, -0.6), (0, -1.1), (0.5, -0.6)])


def _painted(
    random: np.random.Generator, size: tuple[int, int], words: set[str], hour: str
) -> NDArray[np.uint8]:
    horizon = float(random.uniform(0.35, 0.6)) if "sky" in words else 0.0
    tint = random.normal(1.0, 0.07, 3) * random.uniform(0.85, 1.1)
    dark = tint * (0.35, 0.38, 0.55) if hour == "night" else tint
    image = Image.new("RGB", size)
    pen = ImageDraw.Draw(image)

    def fill(colour: Colour, outline: Outline, light: NDArray[np.float64]) -> None:
        ink = np.clip(np.multiply(colour, light) + random.normal(0, 6, 3), 0, 255)
        points = [(x * size[0], y * size[1]) for x, y in outline]
        pen.polygon(points, tuple(ink.astype(int).tolist()))

    fill(_SKIES[hour], _box(0, 0, 1, 1), dark)
    for word, (where, many, unit, pieces) in _THINGS.items():
        if word == "ground":
            kind = next(name for name in _GROUNDS if name in words)
            is_white = "snow" in words and "mountain" not in words
            fill(_WHITE if is_white else _GROUNDS[kind], _box(0, horizon, 1, 1), dark)
        if word not in words:
            continue
        if word == "mountain" and "snow" in words:
            pieces = [*pieces, _CAP]
        for _ in range(int(random.integers(many[0], many[1] + 1))):
            x = float(random.uniform(0.05, 0.95))
            low, high = {
                "sky": (0.04, max(horizon - 0.08, 0.06)), "horizon": (horizon, horizon),
                "ground": (horizon + 0.08, 0.93), "shore": (0.7, 0.85), "all": (0.0, 1.0),
            }[where]  # fmt: skip
            y = float(random.uniform(low, high))
            wide = unit * (1.0 if unit == 1 else float(random.uniform(0.75, 1.35)))
            tall = wide * size[0] / size[1]
            for colour, outline in pieces:
                around = [(x + wide * across, y + tall * down) for across, down in outline]
                fill(colour, around, tint if word in _SHINES else dark)
    pixels = np.asarray(image, np.float32)
    grain = random.standard_normal(pixels.shape[:2], np.float32) * random.uniform(2, 7)
    return np.clip(pixels + grain[..., None], 0, 255).astype(np.uint8)

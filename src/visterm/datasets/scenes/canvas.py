"""A canvas that remembers which words its paint stands for, so that captions tell what is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageDraw

from visterm.datasets.scenes.paint import Box, Paint, crop
from visterm.datasets.scenes.palette import Colour

Points = Sequence[tuple[float, float]]

FINE = 2
"""Canvas pixels to a picture pixel, along each side."""

OVERSCAN = 0.08
"""How far the canvas reaches beyond the frame, so that the camera may tilt and step back."""


class Canvas:
    """Where a scene is painted: one picture height is one unit, (0, 0) the frame's upper left."""

    def __init__(self, size: tuple[int, int], rng: np.random.Generator) -> None:
        self.size = size
        self.rng = rng
        self.wide = size[0] / size[1]
        self.unit = FINE * size[1]
        self.margin = FINE * round(OVERSCAN * size[1])
        width, height = FINE * size[0] + 2 * self.margin, FINE * size[1] + 2 * self.margin
        self.picture = Image.new("RGB", (width, height))
        # What each spot stands for is kept at the picture's own resolution, which is enough.
        self.sense = Image.new("L", (width // FINE, height // FINE))
        self.pencil = ImageDraw.Draw(self.picture, "RGBA")
        self.marker = ImageDraw.Draw(self.sense)
        self.meanings: list[tuple[str, ...]] = [()]

    def brush(self, *words: str) -> Brush:
        """A brush whose paint stands for these words; without words it stands for nothing new."""
        if words and words not in self.meanings:
            self.meanings.append(words)
        return Brush(self, self.meanings.index(words) if words else None)

    def box(self, xs: Sequence[float], ys: Sequence[float]) -> Box | None:
        """The part of the canvas around some pixels, or nothing where they are all off it."""
        width, height = self.picture.size
        x0, y0 = max(int(min(xs)), 0), max(int(min(ys)), 0)
        x1, y1 = min(int(max(xs)) + 1, width), min(int(max(ys)) + 1, height)
        return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None

    def develop(
        self, tilt: float, zoom: float, shift: tuple[float, float]
    ) -> tuple[Image.Image, dict[str, float]]:
        """What a camera sees: the picture, and the share of it that stands for each word."""
        width, height = self.size
        cos, sin = float(np.cos(tilt)) / zoom, float(np.sin(tilt)) / zoom

        def seen_from(fine: int) -> tuple[float, ...]:
            centre_x = (self.picture.size[0] / FINE / 2 + shift[0] * height) * fine
            centre_y = (self.picture.size[1] / FINE / 2 + shift[1] * height) * fine
            a, b, d, e = fine * cos, -fine * sin, fine * sin, fine * cos
            c = centre_x - a * width / 2 - b * height / 2
            f = centre_y - d * width / 2 - e * height / 2
            return (a, b, c, d, e, f)

        affine = Image.Transform.AFFINE
        # A bilinear sample between four fine pixels is their mean, so this also scales down.
        seen = self.picture.transform(self.size, affine, seen_from(FINE), Image.Resampling.BILINEAR)
        sense = self.sense.transform(self.size, affine, seen_from(1), Image.Resampling.NEAREST)
        shares = np.bincount(np.asarray(sense).ravel(), minlength=len(self.meanings))
        words: dict[str, float] = {}
        for meaning, share in zip(self.meanings, shares / (width * height), strict=True):
            for word in meaning:
                words[word] = words.get(word, 0.0) + float(share)
        return seen, words


@dataclass(frozen=True)
class Brush:
    """Puts shapes on the canvas and notes what they stand for.

    Lengths are picture heights; a brush held ``at`` a thing counts from the thing's foot, in the
    thing's own size, and mirrored where ``way`` is -1.
    """

    canvas: Canvas
    meaning: int | None
    x: float = 0.0
    y: float = 0.0
    size: float = 1.0
    way: int = 1

    def at(self, x: float, y: float, size: float, way: int = 1) -> Brush:
        """The same brush for a thing of some size standing somewhere."""
        return replace(self, x=x, y=y, size=size, way=way)

    def _fine(self, points: Points) -> list[tuple[float, float]]:
        """Points in pixels of the canvas."""
        unit, margin = self.canvas.unit, self.canvas.margin
        step, turned = self.size * unit, self.size * unit * self.way
        x0, y0 = self.x * unit + margin, self.y * unit + margin
        return [(x0 + x * turned, y0 + y * step) for x, y in points]

    def polygon(self, points: Points, fill: Colour | Paint) -> None:
        """A filled outline."""
        on, fine = self.canvas, self._fine(points)
        if isinstance(fill, Paint):
            box = on.box([x for x, _ in fine], [y for _, y in fine])
            if box is None:
                return
            mask = Image.new("L", (box[2] - box[0], box[3] - box[1]))
            ImageDraw.Draw(mask).polygon([(x - box[0], y - box[1]) for x, y in fine], fill=255)
            swatch = fill.swatch(on.rng, box, on.unit, fill.away * on.unit + on.margin - box[0])
            on.picture.paste(swatch, box[:2], mask)
        else:
            on.pencil.polygon(fine, fill=fill)
        if self.meaning is not None:
            on.marker.polygon([(x / FINE, y / FINE) for x, y in fine], fill=self.meaning)

    def rectangle(
        self, left: float, top: float, right: float, foot: float, fill: Colour | Paint
    ) -> None:
        """An upright box."""
        self.polygon([(left, top), (right, top), (right, foot), (left, foot)], fill)

    def ellipse(self, x: float, y: float, rx: float, ry: float, fill: Colour) -> None:
        """An upright ellipse around a centre."""
        on = self.canvas
        [(x, y)] = self._fine([(x, y)])
        rx, ry = rx * self.size * on.unit, ry * self.size * on.unit
        box = (x - rx, y - ry, x + rx, y + ry)
        on.pencil.ellipse(box, fill=fill)
        if self.meaning is not None:
            on.marker.ellipse([value / FINE for value in box], fill=self.meaning)

    def line(self, points: Points, fill: Colour, width: float) -> None:
        """A stroke of one width through some points."""
        on, fine = self.canvas, self._fine(points)
        thick = max(round(width * self.size * on.unit), 1)
        on.pencil.line(fine, fill=fill, width=thick, joint="curve" if len(fine) > 2 else None)
        if self.meaning is not None:
            thin = [(x / FINE, y / FINE) for x, y in fine]
            on.marker.line(thin, fill=self.meaning, width=max(round(thick / FINE), 1))

    def arch(self, x: float, y: float, radius: float, fill: Colour, width: float) -> None:
        """The upper half of a ring."""
        on = self.canvas
        (x0, y0), (x1, y1) = self._fine([(x - radius, y - radius), (x + radius, y + radius)])
        thick = max(round(width * self.size * on.unit), 1)
        on.pencil.arc((x0, y0, x1, y1), 180, 360, fill=fill, width=thick)
        if self.meaning is not None:
            box = (x0 / FINE, y0 / FINE, x1 / FINE, y1 / FINE)
            on.marker.arc(box, 180, 360, fill=self.meaning, width=max(thick // FINE, 1))

    def drift(
        self, left: float, top: float, right: float, foot: float, fill: Colour, cover: float
    ) -> None:
        """Soft billows in a box, of which about ``cover`` is painted."""
        on = self.canvas
        fine = self._fine([(left, top), (right, foot)])
        area = on.box([x for x, _ in fine], [y for _, y in fine])
        if area is None:
            return
        width, height = area[2] - area[0], area[3] - area[1]
        zoom = on.rng.uniform(0.8, 1.6) * on.unit / 256
        grey = crop(on.rng, "billows", width, height, zoom)
        # The tile's values are near a normal curve around 128; this is where the cloud begins.
        start = 128 - 56 * 2.5 * (cover - 0.5)
        steep = 255 / 60
        mask = grey.point([_level((value - start) * steep) for value in range(256)])
        on.picture.paste(fill[:3], area, mask)
        if self.meaning is not None:
            coarse = mask.reduce(FINE)
            corner = (area[0] // FINE, area[1] // FINE)
            on.marker.bitmap(corner, coarse.point(_HALF), fill=self.meaning)


def _level(value: float) -> int:
    return min(max(int(value), 0), 255)


_HALF = [0] * 128 + [255] * 128

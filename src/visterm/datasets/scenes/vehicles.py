"""What people travel in: boats and cars."""

from __future__ import annotations

from visterm.datasets.scenes.canvas import Brush
from visterm.datasets.scenes.paint import Paint, ramp
from visterm.datasets.scenes.palette import Colour, inks, mix, shade, veil
from visterm.datasets.scenes.town import LAMP
from visterm.datasets.scenes.view import View

_HULLS = inks("c83c32 1e3c5a f0eadc 3c6e64 6e4632 ecaa46 282c36")
_SAILS = inks("faf6e8 e2643c f0ce82 be3c3c dce6ec 466482")
_BODIES = inks("c8322c 285a96 f0ece2 ecb43c 3c785a 3c3e46 dc783c 82b4be")


def boat(view: View, x: float, y: float) -> None:
    """A sailing boat, a steamer with its smoke, or a rowing boat, over its reflection."""
    size = view.between(0.2, 0.36) * (0.35 + 0.75 * view.nearness(y))
    bare, brush = (view.brush(*words).at(x, y, size, view.light.side) for words in ((), ("boat",)))
    hull, kind = view.choose(_HULLS, y), view.rng.random()
    bare.ellipse(0, 0.06, 0.62, 0.1, veil(shade(hull, 0.45), 0.5))
    if kind < 0.6:
        _sails(view, brush)
    elif kind < 0.85:
        _cabin(view, brush, bare)
    brush.polygon([(-0.5, -0.2), (0.58, -0.26), (0.4, 0.03), (-0.42, 0.03)], hull)
    brush.line([(-0.5, -0.2), (0.58, -0.26)], shade(hull, 1.4), 0.035)


def _sails(view: View, brush: Brush) -> None:
    high, cloth = view.between(0.9, 1.3), view.choose(_SAILS, brush.y)
    brush.line([(0, -0.16), (0, -0.16 - high)], view.lit((110, 84, 60), brush.y), 0.035)
    boom = -0.16 - high * 0.1
    main = [(-0.03, -0.16 - high * 0.98), (-0.5, boom), (-0.03, boom)]
    brush.polygon(main, Paint(ramp(cloth, 0.88, 1.06), "needles", 0.2))
    brush.polygon([(0.04, -0.16 - high * 0.86), (0.46, boom), (0.04, boom)], shade(cloth, 0.85))


def _cabin(view: View, brush: Brush, bare: Brush) -> None:
    white, smoke = view.lit((244, 238, 224), brush.y), view.lit((216, 212, 206), brush.y)
    brush.rectangle(-0.3, -0.44, 0.28, -0.16, white)
    brush.rectangle(-0.22, -0.35, 0.2, -0.27, shade(white, 0.45))
    brush.rectangle(-0.08, -0.73, 0.08, -0.44, view.choose(_HULLS, brush.y))
    for puff in range(5):
        spot, thin = 0.07 + 0.05 * puff, veil(smoke, 0.45 - 0.06 * puff)
        bare.ellipse(-3 * spot, -0.75 - 0.13 * puff, spot * 1.4, spot, thin)


def car(view: View, x: float, y: float) -> None:
    """A car from its side or from behind, with its lamps lit in the dark."""
    size, way = view.between(0.28, 0.42) * view.scale(y), 1 if view.probably(0.5) else -1
    bare, brush = (view.brush(*words).at(x, y, size, way) for words in ((), ("car",)))
    body, glass = view.choose(_BODIES, y), mix(view.light.sky[1], (30, 40, 50), 0.55)
    bare.ellipse(0, 0, 0.56, 0.08, veil((10, 10, 16), 0.45))
    tyre = view.light.on((30, 30, 34))
    if view.probably(0.3):
        _from_behind(brush, body, glass, tyre)
    else:
        _from_its_side(view, brush, body, glass, tyre)
        if view.lamps:
            bare.polygon([(0.5, -0.2), (2.0, -0.3), (2.0, 0.05)], veil(LAMP, 0.3))
            brush.ellipse(0.5, -0.2, 0.04, 0.04, LAMP)


def _from_behind(brush: Brush, body: Colour, glass: Colour, tyre: Colour) -> None:
    for x in (-0.27, 0.27):
        brush.rectangle(x - 0.07, -0.2, x + 0.07, 0, tyre)
    brush.rectangle(-0.38, -0.42, 0.38, -0.1, body)
    brush.polygon([(-0.32, -0.42), (-0.24, -0.68), (0.24, -0.68), (0.32, -0.42)], shade(body, 0.9))
    brush.polygon([(-0.26, -0.43), (-0.2, -0.63), (0.2, -0.63), (0.26, -0.43)], glass)
    for x in (-0.29, 0.29):
        brush.ellipse(x, -0.3, 0.06, 0.05, (226, 60, 44))


def _from_its_side(view: View, brush: Brush, body: Colour, glass: Colour, tyre: Colour) -> None:
    top, back = -view.between(0.44, 0.62), -view.between(0.26, 0.44)
    cabin = [(back, -0.28), (back + 0.1, top), (0.14, top), (0.3, -0.28)]
    brush.polygon(cabin, shade(body, 0.94))
    panes = [(back + 0.05, -0.29), (back + 0.12, top + 0.05), (0.11, top + 0.05), (0.23, -0.29)]
    brush.polygon(panes, glass)
    brush.line([(-0.08, -0.28), (-0.08, top)], body, 0.03)
    side = [(-0.5, -0.3), (0.3, -0.31), (0.5, -0.24), (0.51, -0.08), (-0.51, -0.08)]
    brush.polygon(side, body)
    for x in (-0.3, 0.3):
        brush.ellipse(x, -0.08, 0.105, 0.105, tyre)
        brush.ellipse(x, -0.08, 0.045, 0.045, shade(tyre, 4))

"""From a plan to a picture: what lies behind is painted before what stands in front of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from visterm.datasets.scenes import land, life, sky, town, trees, vehicles, ways
from visterm.datasets.scenes.lines import close, skyline
from visterm.datasets.scenes.paint import Paint, ramp
from visterm.datasets.scenes.plans import ScenePlan
from visterm.datasets.scenes.view import View

Standing = list[tuple[float, Callable[[], None]]]
"""Where on the land something stands, and how to paint it there."""


def compose(view: View, plan: ScenePlan) -> None:
    """Paint a whole scene."""
    if plan.has("sky"):
        _sky(view, plan)
    _land(view, plan)
    _things(view, plan)
    if plan.has("flower"):
        life.flower(view)
    for word, paint in _IN_THE_AIR.items():
        if plan.has(word):
            paint(view)


_IN_THE_SKY = {
    "star": sky.star,
    "moon": sky.moon,
    "sun": sky.sun,
    "cloud": sky.cloud,
    "rainbow": sky.rainbow,
}
_IN_THE_AIR = {"balloon": sky.balloon, "bird": sky.bird, "rain": sky.rain}


def _sky(view: View, plan: ScenePlan) -> None:
    cloudy = plan.light == "overcast"
    sky.sky(view, cloudy=cloudy)
    for word, paint in _IN_THE_SKY.items():
        if plan.has(word) and not (word == "cloud" and cloudy):
            paint(view)


def _land(view: View, plan: ScenePlan) -> None:
    tall = plan.looks_down
    if plan.has("mountain"):
        land.mountain(view, snow=plan.has("snow"), tall=tall)
    if plan.has("city") and plan.place != "town":
        town.city(view, view.horizon, view.between(0.16, 0.3))
    if plan.place == "town":
        _pavement(view)
        town.city(view, view.horizon + 0.02, view.between(*((1.1, 1.5) if tall else (0.25, 0.55))))
    for word, paint in (("sea", land.sea), ("field", land.field), ("desert", land.desert)):
        if plan.has(word):
            paint(view)
    if plan.has("forest"):
        if plan.place == "woodland" and tall:
            trees.woods(view)
        else:
            trees.forest(view, deep=not plan.has("field"))
    if plan.has("beach"):
        land.beach(view)


def _pavement(view: View) -> None:
    """The ground of a town, which nobody mentions unless snow lies on it."""
    stones = [(150, 146, 140), (120, 124, 128), (170, 156, 136)]
    tone = view.lit(land.SNOW) if view.winter else view.choose(stones)
    paint = Paint(ramp(tone, 1.08, 0.82), view.one("grain", "wash", "strokes"), 0.4, 1.0, True)
    brush = view.brush("snow") if view.winter else view.brush()
    brush.polygon(close(skyline(view, view.horizon + 0.02, 0.004)), paint)


def _things(view: View, plan: ScenePlan) -> None:
    """What stands on the land or floats on the water, the far before the near."""
    low = max(view.horizon, 0.2) + 0.12
    if plan.has("beach"):
        low = max(low, 0.82)
    way = _way(view, plan)
    warm = plan.has("beach", "desert")
    standing: Standing = []
    for word, least, most, paint in (
        ("tree", 2, 5, partial(trees.tree, warm=warm)),
        ("house", 1, 4, town.house),
        ("cactus", 2, 5, life.cactus),
        ("people", 1, 1, partial(life.people, wet=plan.has("rain"))),
        ("fire", 1, 1, life.fire),
    ):
        for _ in range(view.some(least, most) if plan.has(word) else 0):
            y = view.between(low, 1.0)
            standing.append((y, partial(paint, view, view.across(), y)))
    standing += _wordless(view, plan, low)
    standing += _afloat(view, plan, way)
    if plan.has("car") and way:
        for _ in range(view.some(1, 3)):
            y = view.between(low, 0.98)
            x = way.middle(y) + way.half(y) * view.between(-0.5, 0.5)
            standing.append((y, partial(vehicles.car, view, x, y)))
    for _, put in sorted(standing, key=lambda thing: thing[0]):
        put()


def _way(view: View, plan: ScenePlan) -> ways.WindingBand | None:
    """The road or river of the scene, if it has one."""
    if plan.has("road"):
        way = ways.choose_way(view, 0.16, 0.42)
        ways.road(view, way)
        return way
    if plan.has("river"):
        way = ways.choose_way(view, 0.35, 0.7)
        ways.river(view, way)
        return way
    return None


def _wordless(view: View, plan: ScenePlan, low: float) -> Standing:
    """Boulders and fences: what is seen and not said."""
    standing: Standing = []
    if plan.has("sea"):
        return standing
    for _ in range(view.some(0, 2)):
        y = view.between(low, 1.0)
        standing.append((y, partial(life.rock, view, view.across(0), y)))
    if plan.place == "country" and view.probably(0.2):
        y = view.between(low + 0.1, 1.0)
        standing.append((y, partial(life.fence, view, y)))
    return standing


def _afloat(view: View, plan: ScenePlan, way: ways.WindingBand | None) -> Standing:
    """Boats, bridges and lighthouses, on the sea or on the river."""
    standing: Standing = []
    top = max(view.horizon, 0.1)
    shore = max(0.62 if plan.has("beach") else 0.95, top + 0.13)
    if plan.has("bridge"):
        y = view.between(top + 0.1, min(shore, 0.85))
        standing.append((y, partial(town.bridge, view, y)))
    if plan.has("lighthouse"):
        y = view.between(top + 0.04, shore)
        standing.append((y, partial(town.lighthouse, view, view.across(0.2), y)))
    for _ in range(view.some(1, 4) if plan.has("boat") else 0):
        y = view.between(top + 0.08, shore) if way is None else view.between(0.78, 0.95)
        x = view.across(0.12) if way is None else way.middle(y)
        standing.append((y, partial(vehicles.boat, view, x, y)))
    return standing

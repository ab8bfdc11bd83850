"""What a scene shall hold, before it is painted: words that go together, and no more than seven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

MOST_WORDS = 7


@dataclass(frozen=True)
class ScenePlan:
    """The words of a scene to paint, its hour, and how one looks at it."""

    place: str
    words: frozenset[str]
    light: str
    horizon: float
    looks_down: bool
    """Whether the sky is out of the picture, or behind what stands in it."""
    winter: bool

    def has(self, *words: str) -> bool:
        """Whether any of these shall be painted."""
        return not self.words.isdisjoint(words)


@dataclass(frozen=True)
class SceneKind:
    """A kind of place: how often it comes, what it always holds, and what else fits there."""

    share: float
    grounds: tuple[tuple[str, ...], ...]
    extras: Mapping[str, float]
    down: float
    """How often one looks down on it, without a sky."""


_UP = {"sun": 3, "moon": 6, "star": 6, "cloud": 1, "bird": 0.5, "balloon": 0.5, "rainbow": 0.7}

# Weights are uneven on purpose: in people's own pictures, too, some things keep company.
PLACES = {
    "coast": SceneKind(
        0.22,
        (("sea",), ("sea", "beach"), ("sea", "beach")),
        _UP
        | {"boat": 5, "lighthouse": 1, "mountain": 0.6, "bridge": 0.5, "city": 0.4, "bird": 1}
        | {"people": 1, "tree": 1, "fire": 0.3, "rain": 0.6, "house": 0.3},
        down=0.2,
    ),
    "mountains": SceneKind(
        0.19,
        (("mountain", "field"), ("mountain", "forest"), ("mountain", "sea"), ("mountain", "field")),
        _UP
        | {"snow": 8, "tree": 1, "river": 1, "house": 0.6, "road": 0.5, "flower": 0.8, "boat": 1}
        | {"people": 0.4, "car": 0.3, "rain": 0.5, "bridge": 0.3, "fire": 0.4},
        down=0.15,
    ),
    "country": SceneKind(
        0.22,
        (("field",),),
        _UP
        | {"tree": 2.5, "house": 2.5, "flower": 3, "road": 1, "car": 1, "people": 0.8, "rain": 0.6}
        | {"forest": 0.6, "snow": 0.8, "fire": 0.5, "river": 0.6, "bridge": 0.5},
        down=0.25,
    ),
    "town": SceneKind(
        0.15,
        (("city",),),
        _UP
        | {"road": 2, "car": 3, "people": 2, "river": 0.6, "bridge": 1, "rain": 1.5, "tree": 0.6}
        | {"snow": 0.6, "boat": 0.5},
        down=0.2,
    ),
    "desert": SceneKind(
        0.11,
        (("desert",),),
        _UP
        | {"cactus": 5, "mountain": 1, "road": 0.8, "car": 0.6, "people": 0.8, "fire": 1}
        | {"tree": 0.3},
        down=0.2,
    ),
    "woodland": SceneKind(
        0.11,
        (("forest",),),
        _UP
        | {"river": 1.5, "road": 0.8, "house": 1, "snow": 2, "fire": 2.5, "people": 0.8}
        | {"rain": 0.8, "flower": 0.6, "car": 0.4, "bridge": 0.3},
        down=0.45,
    ),
}

HOURS = {"dawn": 0.16, "day": 0.34, "dusk": 0.17, "night": 0.19, "overcast": 0.14}

NEEDS: Mapping[str, frozenset[str]] = {
    "boat": frozenset({"sea", "river"}),
    "lighthouse": frozenset({"sea"}),
    "beach": frozenset({"sea"}),
    "bridge": frozenset({"river", "sea"}),
    "car": frozenset({"road"}),
    "star": frozenset({"night"}),
    "moon": frozenset({"night"}),
    "cactus": frozenset({"desert"}),
    "snow": frozenset({"mountain", "field", "forest", "city"}),
}
"""For some words one of a few others must be there already."""

BRINGS: Mapping[str, str] = {"car": "road", "boat": "river", "bridge": "river"}
"""What comes with a word where nothing that it needs is there yet."""

CLASHES: Mapping[str, frozenset[str]] = {
    "sun": frozenset({"night", "rain", "star", "moon", "overcast"}),
    "rain": frozenset({"sun", "star", "moon", "snow", "day", "dawn", "balloon", "fire"}),
    "rainbow": frozenset({"night", "dusk", "star", "moon", "snow", "sun"}),
    "balloon": frozenset({"night", "rain"}),
    "snow": frozenset({"flower", "rain", "beach", "rainbow", "sea"}),
    "flower": frozenset({"snow", "beach"}),
    "road": frozenset({"river", "sea"}),
    "river": frozenset({"road", "sea"}),
    "fire": frozenset({"rain"}),
}
"""What never stands in one picture; hours of the day count too."""

ALOFT = frozenset({"sun", "moon", "star", "cloud", "balloon", "rainbow", "mountain", "city"})
"""What needs a sky to be seen in, or against."""

ASHORE = frozenset({"people", "tree", "fire", "house", "flower"})
"""What at the sea needs a beach to stand on."""


def choose_plan(rng: np.random.Generator) -> ScenePlan:
    """Draw a place, an hour, and things that fit both and one another."""
    name = _draw(rng, {key: place.share for key, place in PLACES.items()})
    place, hour = PLACES[name], _draw(rng, HOURS)
    down = bool(rng.random() < place.down)
    words = set(place.grounds[rng.integers(len(place.grounds))])
    if hour == "night":
        words.add("night")
    if not down or words & {"mountain", "city"}:
        # Between tall houses and over high ridges some sky may still be seen.
        words |= {"sky", "cloud"} if hour == "overcast" else {"sky"}
    budget = max(int(rng.integers(3, MOST_WORDS + 1)), min(len(words) + 1, MOST_WORDS))
    for word in _shuffled(rng, place.extras):
        more = {word} - words
        if word in BRINGS and not NEEDS[word] & words:
            more.add(BRINGS[word])
        fits = all(_fits(one, words | more, hour, down) for one in more)
        if fits and len(words | more) <= budget:
            words |= more
    winter = "snow" in words and (name != "mountains" or bool(rng.random() < 0.4))
    return ScenePlan(name, frozenset(words), hour, _horizon(rng, words, down, name), down, winter)


def _horizon(rng: np.random.Generator, words: set[str], down: bool, place: str) -> float:
    if not down:
        return float(rng.uniform(0.3, 0.68))
    if "mountain" in words:
        return float(rng.uniform(0.4, 0.6))
    if "city" in words or place == "woodland":
        return float(rng.uniform(0.55, 0.68))
    return -0.12


def _fits(word: str, words: set[str], hour: str, down: bool) -> bool:
    if down and word in ALOFT:
        return False
    if any(_clash(word, other) for other in (*words, hour)):
        return False
    if word in NEEDS and not NEEDS[word] & words:
        return False
    return "sea" not in words or "beach" in words or word not in ASHORE


def _clash(one: str, other: str) -> bool:
    return other in CLASHES.get(one, ()) or one in CLASHES.get(other, ())


def _draw(rng: np.random.Generator, shares: Mapping[str, float]) -> str:
    names = list(shares)
    weights = np.asarray([shares[name] for name in names])
    return names[int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum()))]


def _shuffled(rng: np.random.Generator, weights: Mapping[str, float]) -> list[str]:
    """All words in a random order in which heavy ones tend to come early."""
    waits = {word: float(rng.exponential(1 / weight)) for word, weight in weights.items()}
    return sorted(waits, key=lambda word: waits[word])

"""What a scene shall hold, before it is painted: words that go together, and no more than seven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

MOST_WORDS = 7


@dataclass(frozen=True)
class Plan:
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
class Place:
    """A kind of place: how often it comes, what it always holds, and what else fits there."""

    share: float
    grounds: tuple[tuple[str, ...], ...]
    extras: Mapping[str, float]
    down: float
    """How often one looks down on it, without a sky."""


_UP = {"sun": 2.2, "moon": 6, "star": 6, "cloud": 1.2, "bird": 0.7, "balloon": 0.7, "rainbow": 0.7}

PLACES = {
    "coast": Place(
        0.22,
        (("sea",), ("sea", "beach"), ("sea", "beach")),
        _UP
        | {"boat": 3, "lighthouse": 1.6, "mountain": 0.8, "bridge": 0.8, "city": 0.6}
        | {"people": 1.2, "tree": 1.0, "fire": 0.5, "rain": 0.8, "house": 0.5, "bird": 1.2},
        down=0.2,
    ),
    "mountains": Place(
        0.18,
        (("mountain", "field"), ("mountain", "forest"), ("mountain", "sea"), ("mountain", "field")),
        _UP
        | {"snow": 2.5, "tree": 1.2, "river": 1.2, "house": 0.9, "road": 0.8, "flower": 0.8}
        | {"people": 0.6, "boat": 1.0, "car": 4, "rain": 0.6, "bridge": 0.5, "fire": 0.5},
        down=0.15,
    ),
    "country": Place(
        0.22,
        (("field",),),
        _UP
        | {"tree": 1.5, "house": 1.5, "flower": 2.0, "road": 1.6, "car": 6, "people": 1.0}
        | {"forest": 0.8, "snow": 1.0, "fire": 0.8, "river": 0.9, "bridge": 0.8, "rain": 0.7},
        down=0.25,
    ),
    "town": Place(
        0.15,
        (("city",),),
        _UP
        | {"road": 2.0, "car": 6, "people": 1.4, "river": 0.9, "bridge": 1.5, "rain": 1.4}
        | {"tree": 0.8, "snow": 0.8, "boat": 0.8},
        down=0.2,
    ),
    "desert": Place(
        0.12,
        (("desert",),),
        _UP
        | {"cactus": 3.0, "mountain": 1.2, "road": 1.2, "car": 6, "people": 1.0, "fire": 1.2}
        | {"tree": 0.4},
        down=0.2,
    ),
    "woodland": Place(
        0.11,
        (("forest",),),
        _UP
        | {"river": 1.5, "road": 1.0, "house": 1.2, "snow": 1.5, "fire": 1.8, "people": 1.0}
        | {"rain": 1.0, "flower": 0.8, "car": 4, "bridge": 0.5},
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


def choose_plan(rng: np.random.Generator) -> Plan:
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
    for _ in range(2):  # What needed another word may find it there on the second round.
        for word in _shuffled(rng, place.extras):
            if len(words) < budget and _fits(word, words, hour, down):
                words.add(word)
    winter = "snow" in words and (name != "mountains" or bool(rng.random() < 0.4))
    return Plan(name, frozenset(words), hour, _horizon(rng, words, down, name), down, winter)


def _horizon(rng: np.random.Generator, words: set[str], down: bool, place: str) -> float:
    if not down:
        return float(rng.uniform(0.3, 0.68))
    if "mountain" in words:
        return float(rng.uniform(0.4, 0.6))
    if "city" in words or place == "woodland":
        return float(rng.uniform(0.55, 0.68))
    return -0.12


def _fits(word: str, words: set[str], hour: str, down: bool) -> bool:
    if word in words or (down and word in ALOFT):
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

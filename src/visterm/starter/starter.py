"""The starter model: words and what they look like to a network, in 8 bits a weight.

It is PAMIR's W for the vectors of the CNN, learnt once by ``python -m starter.train`` and shipped;
`card.md` beside this file says from what, and how good it is. ``python -m starter.train --features
NAME`` makes that of an installed network, NAME.safetensors. Loading takes NumPy only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.matrices import unit_rows
from visterm.text import Vocabulary
from visterm.text.synonyms import same_words

if TYPE_CHECKING:
    from visterm.calibration.calibration import Calibration
    from visterm.models import Pamir

FILE = Path(__file__).parent / "starter.safetensors"
CARD = Path(__file__).parent / "card.md"
FORMAT = 1
_NETWORK = re.compile(r"network-\d+\(([\w.-]+)-[0-9a-f]{12}\)")
"""The key of an installed network, with its name."""
PRIOR = 50.0
"""So many captions is the starter's word worth, when it and a person's captions weigh a word."""
_UNKNOWN_IDF = float(np.log(100))
"""Of a word that the starter does not know, until captions say more: one picture in a hundred."""
_DAMAGED = (LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""What comes of reading a file that is not what it should be."""
_ABROAD = (0.48, -0.8)
"""Slope and intercept from log odds on the starter's own pictures to those in a collection of
another kind, where its words mean less and most have no picture. Of slopes from 0.4 to 1 and
intercepts from 0.5 to −1.5 these kept what is called good right on Flickr8k's dev and Corel's
validation pictures, over queries of which about half have no answer, with the least error
(``benchmarks.honest_answers``)."""
_LEVELS = 127
_ALIKE, _SAME = 0.2, 0.9
"""Cosines of words that look much like each other, and of two words for one thing."""
_RIVALS = 8


@dataclass(frozen=True, eq=False)
class Starter:
    """Words with their weights (T × d) over the vectors of one extractor.

    Examples
    --------
    >>> starter = load_starter()
    >>> starter.extractor, "beach" in starter.vocabulary, starter.weights.dtype.name
    ('cnn-1', True, 'float32')
    """

    vocabulary: Vocabulary
    weights: NDArray[np.float32]
    extractor: str
    facts: dict[str, Any]
    """What the recipe wrote down: data, seed, measured quality."""

    def model(self) -> Pamir:
        """The starter as a fitted PAMIR over its own words."""
        return _fitted(self.weights, self.vocabulary.idf)

    def initial_model(self, vocabulary: Vocabulary, captions: int) -> tuple[Vocabulary, Pamir]:
        """Where training on a person's words starts: all words of both, those of captions first.

        A word that the starter knows, perhaps by a synonym, starts as it is known, others from
        zero, unless an encoder knows any word. Weights of words are those of the captions and of
        the starter, by how many captions stand behind each.
        """
        others = [t for t, word in enumerate(self.vocabulary.words) if word not in vocabulary]
        weights = np.zeros((len(vocabulary), self.weights.shape[1]), np.float32)
        idf, found = vocabulary.idf.copy(), [self.find(word) for word in vocabulary.words]
        new = [number for number, known in enumerate(found) if known is None]
        weights[new] = self._unknown_rows([vocabulary.words[number] for number in new])
        for number, known in enumerate(found):
            usual = _UNKNOWN_IDF if known is None else self.vocabulary.idf[known]
            idf[number] = _pooled(idf[number], captions, usual)
            if known is not None:
                weights[number] = self.weights[known]
        joint = Vocabulary(
            vocabulary.words + tuple(self.vocabulary.words[t] for t in others),
            np.concatenate([idf, self.vocabulary.idf[others]]),
            vocabulary.language,
            vocabulary.keys + tuple(self.vocabulary.keys[t] for t in others),
        )
        return joint, _fitted(np.concatenate([weights, self.weights[others]]), joint.idf)

    def calibration(self, vocabulary: Vocabulary | None = None) -> Calibration:
        """What scores are worth, for the starter's words or for those of an `initial_model`."""
        from visterm.calibration.calibration import Calibration, Link, uncalibrated

        own = Calibration.from_json(self.facts["calibration"])
        slope, intercept = _ABROAD
        link = Link(slope * own.link.intercepts + intercept, slope * own.link.slopes)
        own = replace(own, link=link, rivals=self._rivals())
        if vocabulary is None:
            return own
        known = [self.find(word) for word in vocabulary.words]
        places = [0 if number is None else number for number in known]
        new = np.array([number is None for number in known])

        def of(values: NDArray[np.float64], else_: NDArray[np.float64] | float) -> Any:
            return np.where(new, else_, values[places])

        means, deviations = of(own.means, 0.0), of(own.deviations, float(np.median(own.deviations)))
        usual = uncalibrated(means, deviations, -vocabulary.idf).link
        return replace(
            own,
            link=Link(of(own.link.intercepts, usual.intercepts), of(own.link.slopes, usual.slopes)),
            means=means,
            deviations=deviations,
            log_frequency=of(own.log_frequency, -vocabulary.idf),
            rivals=_renumbered(own.rivals, known),
        )

    def _rivals(self) -> NDArray[np.int64]:
        """Words that nobody could measure, each with those that look most like it.

        They are classes of the network, which exclude each other; what looks the same is the same.
        """
        measured = self.facts["avgp"]
        words = [t for t, word in enumerate(self.vocabulary.words) if word not in measured]
        units = self.weights / np.maximum(np.linalg.norm(self.weights, axis=1), 1e-9)[:, None]
        alike = units[words] @ units.T
        alike[alike >= _SAME] = 0.0
        nearest = np.argsort(-alike, axis=1, kind="stable")[:, :_RIVALS]
        near = np.take_along_axis(alike, nearest, axis=1) >= _ALIKE
        rows, places = np.nonzero(near)
        return np.stack([np.array(words, np.int64)[rows], nearest[rows, places]], axis=1)

    def _unknown_rows(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Where words start that are not known."""
        return np.zeros((len(words), self.weights.shape[1]), np.float32)

    def meanings(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of words, nearer to each other the more alike they look; zero if unknown."""
        known = [self.find(word) for word in words]
        units = unit_rows(self.weights - self.weights.mean(axis=0))
        rows = units[[0 if number is None else number for number in known]]
        rows[[number is None for number in known]] = 0.0
        return rows

    def find(self, word: str) -> int | None:
        """The number of a word or, where it is not known, of one that means the same."""
        found = self.vocabulary.number(word)
        if found is None:
            forms = map(self.vocabulary.number, same_words(word))
            found = next((number for number in forms if number is not None), None)
        return found


@lru_cache(maxsize=1)
def load_starter() -> Starter:
    """The starter model that came with visterm."""
    return read_starter(FILE)


@lru_cache(maxsize=4)
def starter_for(extractor: str) -> Starter | None:
    """The starter that came with visterm for an extractor's vectors; None where there is none.

    >>> found = starter_for("cnn-1")
    >>> found is load_starter(), starter_for("network-1(nobody-0123456789ab)")
    (True, None)
    """
    network = _NETWORK.fullmatch(extractor)
    path = FILE if network is None else FILE.with_name(f"{network[1]}.safetensors")
    if (network is None and not extractor.startswith("cnn-")) or not path.is_file():
        return None  # others need not wait for it to load
    found = load_starter() if network is None else read_starter(path)
    return found if found.extractor == extractor else None


def read_starter(path: Path) -> Starter:
    """Read what `write_starter` wrote."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stored:
            about = json.loads((stored.metadata() or {})["visterm"])
            codes, scales, idf = (stored.get_tensor(name) for name in ("codes", "scales", "idf"))
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']}, not {FORMAT}")
        words, keys = tuple(about["words"]), tuple(about["keys"])
        weights = codes.astype(np.float32)
        weights *= scales.astype(np.float32)[:, None]
        vocabulary = Vocabulary(words, idf.astype(np.float64), keys=keys)
        return Starter(vocabulary, weights, about["extractor"], about["facts"])
    except (OSError, SafetensorError, *_DAMAGED) as error:
        raise BadInput(f"{path} is damaged ({error}); install visterm again") from None


def write_starter(
    path: Path,
    vocabulary: Vocabulary,
    weights: NDArray[np.floating],
    extractor: str,
    facts: dict[str, Any],
) -> None:
    """Write weights in 8 bits with a scale a word, rounded to nearest."""
    from safetensors.numpy import save

    from visterm.files import write_whole

    scales = (np.abs(weights).max(axis=1) / _LEVELS).astype(np.float32)
    codes = np.rint(weights / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
    about = {
        "format": FORMAT,
        "extractor": extractor,
        "words": vocabulary.words,
        "keys": vocabulary.keys,
        "facts": facts,
    }
    arrays = {"codes": codes, "scales": scales, "idf": vocabulary.idf.astype(np.float32)}
    write_whole(path, save(arrays, metadata={"visterm": json.dumps(about, ensure_ascii=False)}))


def _renumbered(pairs: NDArray[np.int64], known: Sequence[int | None]) -> NDArray[np.int64]:
    """Pairs of the starter's words by their numbers in another vocabulary, if it has both."""
    place = {number: at for at, number in reversed(list(enumerate(known))) if number is not None}
    found = [(place[a], place[b]) for a, b in pairs.tolist() if a in place and b in place]
    return np.array(found, np.int64).reshape(-1, 2)


def _pooled(idf: float, captions: int, known: float) -> float:
    """−log of the share of captions that hold a word, over captions and what was known before."""
    held = captions * np.exp(-idf) + PRIOR * np.exp(-known)
    return float(-np.log(held / (captions + PRIOR)))


def _fitted(weights: NDArray[np.float32], idf: NDArray[np.float64]) -> Pamir:
    """PAMIR with these weights."""
    from visterm.models import Pamir

    model = Pamir()
    model.n_features_in_ = weights.shape[1]
    learnt = {"weights_": np.ascontiguousarray(weights, dtype=np.float32), "idf_": idf}
    plain = {"C_": 0.1, "negatives_": 1, "warp_": False, "averaged_": False, "n_iter_": 0}
    for name, value in (learnt | plain | {"validation_": float("nan")}).items():
        setattr(model, name, value)
    return model

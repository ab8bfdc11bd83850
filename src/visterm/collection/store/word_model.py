"""What answers queries of words: a version's vocabulary, weights and calibration, with clicks."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.versions import MEAN, METRIC, MODEL, SQUARE, Version, is_encoded
from visterm.errors import VistermError
from visterm.index.codes import magnitudes
from visterm.index.columns import WordWeights, computed
from visterm.index.feature_file import FeatureFile
from visterm.index.mapped_rows import mapped_blocks
from visterm.quick_dataclass import dataclass

if TYPE_CHECKING:
    from visterm.calibration.calibration import Calibration, Link
    from visterm.features.extractor import Rows as Vectors
    from visterm.models.feedback import Metric
    from visterm.text import Vocabulary

Floats = NDArray[np.float32]
Directions = Mapping[int, NDArray[np.float64]]
"""What clicks add to the weights of words, by their numbers."""
_MAPPED_FROM = 1 << 26
"""Bytes of weights that are not read at once."""


@dataclass(frozen=True, eq=False)
class ClickReference:
    """What clicks on a version are measured by."""

    version: Version

    @cached_property
    def metric(self) -> Metric | None:
        """In which vectors are compared; None for the usual way."""
        from visterm.models.feedback import Metric

        return Metric(self._array(METRIC)) if METRIC in self.version.files else None

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """The mean of pictures' vectors, which clicks leave where it is."""
        return self._array(MEAN)

    @cached_property
    def square(self) -> float | None:
        """The mean square length of pictures' vectors around their mean, in the metric."""
        return float(self._array(SQUARE)) or None

    def _array(self, name: str) -> NDArray[np.float64]:
        path = self.version.folder / name
        try:
            array = np.load(path, allow_pickle=False).astype(float)
        except (ValueError, EOFError) as error:
            raise VistermError(f"{path} is damaged ({error}); visterm check --repair") from error
        array.flags.writeable = False
        return array


@dataclass(frozen=True, eq=False)
class WordModel:
    """A version in the space of words, opened.

    The log odds of word t for a picture p are ``i_t + k_t · (f_t(p) + d_t · (p − m))``: what the
    model says, linked, and what clicks add around the mean of all pictures.
    """

    version: Version
    vocabulary: Vocabulary
    """Of the model's words, and after them of those that clicks began."""
    calibration: Calibration
    weights: Floats | None
    """Words × dimensions, where the model is linear."""
    reference: ClickReference
    is_encoded: bool
    """Whether pictures are described by a dual encoder, whose texts can be any."""
    directions: Directions = field(default_factory=dict)
    _weights: dict[int, WordWeights] = field(default_factory=dict)
    """Those that were asked for."""

    @property
    def link(self) -> Link:
        return self.calibration.link

    @property
    def words(self) -> int:
        """How many words the model knows; clicks began the others."""
        return self.version.words

    def with_directions(self, directions: Directions) -> WordModel:
        return replace(self, directions=directions, _weights={})

    def word_weights(self, word: int) -> WordWeights:
        """What makes the column of a word."""
        if word not in self._weights:
            self._weights[word] = self._word_weights(word)
        return self._weights[word]

    def _word_weights(self, word: int) -> WordWeights:
        link, direction = self.link, self.directions.get(word)
        slope, bias = float(link.slopes[word]), float(link.intercepts[word])
        is_learnt = word < self.words
        if is_learnt and self.weights is not None:
            vector = self.weights[word].astype(np.float64)
        else:
            vector = np.zeros(self.width)
        if direction is not None:
            vector = vector + direction
            bias -= slope * float(direction @ self.reference.mean)
        narrow = (slope * vector).astype(np.float32)
        if not is_learnt or self.weights is not None:
            return WordWeights(bias, narrow)
        name = f"{self.version.id} {self.version.time} {word}"
        return WordWeights(bias, narrow, slope, lambda rows: self._model_values(rows, word), name)

    @cached_property
    def width(self) -> int:
        """How many numbers a picture's vector has."""
        if self.weights is not None:
            return self.weights.shape[1]
        return int(self.model.n_features_in_)

    @cached_property
    def model(self) -> Any:
        """The model itself, which no search needs where it is linear."""
        from visterm.models import load_model

        return load_model(self.version.folder / MODEL)

    def values(self, vectors: Vectors, words: NDArray[np.int64]) -> NDArray[np.float64]:
        """What the model says of some of its words, without clicks; pictures × words."""
        if self.weights is not None:
            return np.asarray(vectors @ self.weights[words].T, np.float64)
        return np.asarray(self.model.transform(vectors)[:, words], np.float64)

    def log_probabilities(self, rows: FeatureFile) -> Floats:
        """Log-probabilities of all words for some rows, as their columns hold them."""
        words = [self._word_weights(word) for word in range(len(self.vocabulary))]
        if self.weights is None:
            values = np.asarray(self.model.transform(rows.vectors()), np.float32)
            columns = values.T.copy()
            words[: self.words] = [
                replace(word, values=partial(_given, column))
                for word, column in zip(words, columns, strict=False)
            ]
        return -magnitudes()[np.stack(computed(rows, words), axis=1)]

    def _model_values(self, rows: FeatureFile, word: int) -> Floats:
        """What a model that is not linear says of a word for all rows; all words are mapped at
        once."""
        values = np.empty(len(rows), np.float32)
        name = values_name(self.version)
        for here, mapped in mapped_blocks(rows, name, self.model.transform):
            values[here] = mapped[:, word]
        return values


def _given(values: Floats, rows: FeatureFile) -> Floats:
    """Values that are known already."""
    return values


def values_name(version: Version) -> str:
    """How rows that a version has mapped are named."""
    return f"values-{version.id}"


def open_word_model(version: Version, directions: Directions | None = None) -> WordModel:
    """A version's vocabulary, calibration and weights."""
    return WordModel(
        version,
        version.vocabulary(),
        version.calibration(),
        linear_weights(version.folder / MODEL),
        ClickReference(version),
        is_encoded(version.extractor),
        directions or {},
    )


def linear_weights(path: Path) -> Floats | None:
    """The weights in a model's file, mapped; None where the model is not linear."""
    try:
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            if size > path.stat().st_size:
                raise ValueError("its header is not whole")
            header = json.loads(file.read(size))
        array = header.get(json.loads(header["__metadata__"]["visterm"]).get("linear"))
        if array is None or array["dtype"] != "F32" or len(array["shape"]) != 2:
            return None
        offset, shape = 8 + size + array["data_offsets"][0], tuple(array["shape"])
        if 4 * math.prod(shape) > _MAPPED_FROM:
            return np.memmap(path, "<f4", "r", offset, shape)
        # Read, not mapped: a file that is cut short under a map ends the process.
        return np.fromfile(path, "<f4", math.prod(shape), offset=offset).reshape(shape)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise VistermError(f"{path} is damaged ({error}); visterm check --repair") from error


def read_directions(rows: Iterable[Sequence[Any]]) -> dict[int, NDArray[np.float64]]:
    """Directions by word, from the catalogue's table."""
    return {word: np.frombuffer(direction, np.float64) for word, direction in rows}

"""Several extractors as one."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from visterm.errors import BadInput, NotFitted
from visterm.features.bag_of_visterms import Bag
from visterm.features.concatenation import NORMALISATIONS, check_weights, join_rows
from visterm.features.extractor import Extractor, Rows
from visterm.features.picture_batches import Picture, Pixels, shrunk
from visterm.features.registry import extractor_class
from visterm.files import write_whole
from visterm.progress import Progress, silent
from visterm.stored import FORMAT, _plain, read_stored


@dataclass(repr=False, eq=False)
class Combined(Extractor):
    """The vectors of several extractors side by side, of unit length.

    Parameters
    ----------
    parts : sequence of extractors
        Copies of them are fitted. Dense ones beside sparse ones must not be too wide; see
        `join_rows` for what that costs.
    weights : sequence of float, optional
        What each part is multiplied with, equal by default; `choose_weights` finds good ones.
    normalise : {"each", "late"}
        Each part to unit length before they are joined, or only once afterwards. Late is the ECML
        paper's way to join blobs and SIFT, and only for bags of visterms.
    n_jobs : int
        Processes for all parts together.

    Examples
    --------
    >>> from visterm.datasets.scenes import draw_scene
    >>> from visterm.features import Blocks, Sift
    >>> pictures = [draw_scene(0, i).pixels for i in range(8)]
    >>> blocks = Blocks(channels=((32, "joint", 50),), colours=10)
    >>> Combined([blocks, Sift(visterms=30)]).fit(pictures).transform(pictures).shape
    (8, 80)
    """

    name = "combined"
    arrays: ClassVar[tuple[str, ...]] = ()

    parts: Sequence[Extractor]
    weights: Sequence[float] | None = None
    normalise: str = "each"
    n_jobs: int = 1

    def fit(
        self, pictures: Sequence[Picture], y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Fit a copy of every part to the pictures."""
        parts = self._copies()
        for part in parts:
            part.fit(pictures, progress=progress)
        self.parts_ = parts
        return self

    def fit_transform(
        self, pictures: Sequence[Picture], y: Any = None, *, progress: Progress = silent
    ) -> Rows:
        """Fit, and the vectors of the same pictures; unreadable ones are left out with a warning
        by the parts that learn."""
        parts = self._copies()
        found = [part.fit_transform(pictures, progress=progress) for part in parts]
        self.parts_ = parts
        if len({rows.shape[0] for rows in found}) > 1:
            # A picture that only some parts can read; asking all parts at once keeps them in step.
            return self.extract(pictures, progress=progress).rows
        return self._joined(found)

    def rows(self, pictures: list[Pixels]) -> Rows:
        self._check_fitted()
        found = []
        for part in self.parts_:
            part.n_jobs = self.n_jobs
            found.append(part.rows([shrunk(pixels, part.max_side) for pixels in pictures]))
        return self._joined(found)

    @property
    def key(self) -> str:
        """Keys of all parts; weights and normalisation behind them where they are not the usual."""
        joined = "+".join(part.key for part in self.parts)
        given = self._given("parts", "n_jobs")
        return f"({joined}){given}" if given else joined

    @property
    def max_side(self) -> int | None:  # type: ignore[override]
        """As large as the part that looks closest wants its pictures."""
        sides = [part.max_side for part in self.parts]
        return None if None in sides else max(side for side in sides if side is not None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what all parts learnt as one file, whole or not at all."""
        from safetensors.numpy import save

        self._check_fitted()
        own = self.get_params(deep=False)
        about = {
            "format": FORMAT,
            "name": self.name,
            "parameters": {key: value for key, value in own.items() if key != "parts"},
            "facts": {},
            "parts": [_about(part) for part in self.parts_],
        }
        arrays: dict[str, NDArray[Any]] = {
            f"{number}.{key}": np.ascontiguousarray(array)
            for number, part in enumerate(self.parts_)
            for key, array in part._arrays().items()
        }
        write_whole(path, save(arrays, metadata={"visterm": json.dumps(about, default=_plain)}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        about, arrays = read_stored(path)
        if about["name"] != cls.name:
            raise BadInput(f"{path} holds {about['name']}, not {cls.name}")
        try:
            parts = [
                _restored(part, _of_part(arrays, number))
                for number, part in enumerate(about["parts"])
            ]
            parameters = cls._named_now(about["parameters"])
            combined = cls([clone(part) for part in parts], **parameters)
        except (KeyError, TypeError) as error:
            raise BadInput(f"{path} is damaged, or of another version: {error}") from None
        combined.parts_ = parts
        return combined

    def _joined(self, found: Sequence[Rows]) -> Rows:
        return join_rows(found, self.weights, normalise=self.normalise)

    def _copies(self) -> list[Extractor]:
        """Parts to fit, set up to be joined the way that is asked for."""
        if isinstance(self.parts, Extractor) or not self.parts:
            raise BadInput("a combination needs a list of extractors")
        check_weights(self.weights, len(self.parts))
        if self.normalise not in NORMALISATIONS:
            known = " or ".join(NORMALISATIONS)
            raise BadInput(f"parts are normalised {known}, not {self.normalise!r}")
        copies: list[Extractor] = [clone(part) for part in self.parts]
        for part in copies:
            part.n_jobs = self.n_jobs
            if self.normalise == "late":
                if not isinstance(part, Bag):
                    raise BadInput(f"{part.name} has no tf·idf to normalise late; normalise each")
                part.set_params(weighting="tfidf-raw")
        return copies

    def _check_fitted(self) -> None:
        if not hasattr(self, "parts_"):
            raise NotFitted("this Combined has learnt nothing yet; call fit first")


def _about(part: Extractor) -> dict[str, Any]:
    return {
        "name": part.name,
        "parameters": part.get_params(deep=False),
        "facts": {name: getattr(part, name) for name in part.facts},
    }


def _restored(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Extractor:
    kind = extractor_class(about["name"])
    part = kind(**kind._named_now(about["parameters"]))
    facts = kind._named_now(about["facts"])
    for key in kind.facts:
        setattr(part, key, facts[key])
    part._restore(arrays)
    return part


def _of_part(arrays: dict[str, NDArray[Any]], number: int) -> dict[str, NDArray[Any]]:
    prefix = f"{number}."
    return {
        key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)
    }

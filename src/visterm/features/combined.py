"""Every kind of features by its name, and several extractors as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray

from visterm.encoders import known_networks
from visterm.errors import BadInput, not_fitted
from visterm.estimator import clone
from visterm.features.bag_of_visterms import Bag
from visterm.features.blobs import Blobs
from visterm.features.blocks import BlockCounts, Blocks, VistermCounts
from visterm.features.cnn import CNN, CNNPyramid, OnnxEmbedder
from visterm.features.encoder_vectors import EncoderVectors
from visterm.features.extractor import NORMALISATIONS, Extractor, Rows, check_weights, join_rows
from visterm.features.picture_batches import Pictures, Pixels, shrunk
from visterm.features.sift import DenseSift, Sift
from visterm.progress import Progress, silent
from visterm.stored import as_tuples

EXTRACTORS: dict[str, type[Extractor]] = {
    kind.name: kind
    for kind in (Blocks, BlockCounts, VistermCounts, CNN, CNNPyramid, Sift, DenseSift, Blobs)
}
"""Kinds that need nothing but their name; an embedder needs its file, an encoder its name."""


def extractor_class(name: str) -> type[Extractor]:
    """The class of a name.

    >>> extractor_class("blocks")
    <class 'visterm.features.blocks.block_visterms.Blocks'>
    """
    if name == OnnxEmbedder.name:
        return OnnxEmbedder
    if name == EncoderVectors.name:
        return EncoderVectors
    if name not in EXTRACTORS:
        known = ", ".join(
            [*EXTRACTORS, f"{EncoderVectors.name}(NAME)", f"{OnnxEmbedder.name}:FILE"]
        )
        networks = " and ".join(known_networks())
        raise BadInput(
            f"no features called {name!r}; there are {known}, joined by +; "
            f"visterm encoder add brings {networks} or another network"
        )
    return EXTRACTORS[name]


@dataclass(repr=False, eq=False)
class Combined(Extractor):
    """The vectors of several extractors side by side, of unit length.

    Parameters
    ----------
    parts : sequence of extractors
        Copies of them are fitted. Dense ones beside sparse ones must not be too wide; see
        `join_rows` for what that costs.
    weights : sequence of float, optional
        What each part is multiplied with, equal by default.
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

    parts: Sequence[Extractor]
    weights: Sequence[float] | None = None
    normalise: str = "each"
    n_jobs: int = 1

    def fit(self, pictures: Pictures, y: Any = None, *, progress: Progress = silent) -> Self:
        """Fit a copy of every part to the pictures."""
        parts = self._copies()
        for part in parts:
            part.fit(pictures, progress=progress)
        self.parts_ = parts
        return self

    def fit_transform(
        self, pictures: Pictures, y: Any = None, *, progress: Progress = silent
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

    def _about(self) -> dict[str, Any]:
        about = super()._about()
        del about["parameters"]["parts"]
        return about | {"parts": [part._about() for part in self.parts_]}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            f"{number}.{key}": array
            for number, part in enumerate(self.parts_)
            for key, array in part._arrays().items()
        }

    @classmethod
    def _restored(cls, about: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        parts = [
            extractor_class(part["name"])._restored(part, _of_part(arrays, number))
            for number, part in enumerate(about["parts"])
        ]
        parameters = {key: as_tuples(value) for key, value in about["parameters"].items()}
        combined = cls([clone(part) for part in parts], **parameters)
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
            raise not_fitted("this Combined has learnt nothing yet; call fit first")


def _of_part(arrays: dict[str, NDArray[Any]], number: int) -> dict[str, NDArray[Any]]:
    prefix = f"{number}."
    return {
        key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)
    }

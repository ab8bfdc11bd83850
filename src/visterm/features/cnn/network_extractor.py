"""What extractors over a network share.

A network is opened with onnxruntime: squares of pixels in, one of its outputs out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.features.cnn.recipe import Recipe, frame, normalised
from visterm.features.extractor import Extractor
from visterm.features.picture_batches import Pictures, Pixels
from visterm.onnx_session import one_line, open_session
from visterm.progress import Progress, silent

_INPUT_TYPES = {
    "tensor(uint8)": np.uint8,
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
}


class OnnxNetwork:
    """An ONNX model with one input for pictures.

    Parameters
    ----------
    model
        The path of an ONNX file, or its bytes.
    where
        What errors call it.
    provider
        Where onnxruntime computes: "cpu", "cuda", "coreml", "openvino" or "directml".
    """

    def __init__(self, model: str | bytes, where: str, provider: str = "cpu") -> None:
        self.where = where
        self._session = open_session(model, where, provider)
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or inputs[0].type not in _INPUT_TYPES:
            listed = ", ".join(f"{i.name} {i.type}" for i in inputs)
            raise BadInput(
                f"{where} must have one input, of pixels or floats, but has {listed}; "
                "export the image tower alone"
            )
        self.input = inputs[0].name
        self.dtype = _INPUT_TYPES[inputs[0].type]
        self.shape: list[Any] = inputs[0].shape
        self.outputs: dict[str, list[Any]] = {o.name: o.shape for o in self._session.get_outputs()}

    def vector_output(self, wanted: str) -> str:
        """The output to take: the wanted one, or the first with a vector a picture."""
        if wanted in self.outputs:
            return wanted
        flat = [name for name, shape in self.outputs.items() if len(shape) == 2]
        if wanted or not flat:
            listed = ", ".join(f"{name} {shape}" for name, shape in self.outputs.items())
            missing = f"no output {wanted!r}" if wanted else "no output with a vector a picture"
            raise BadInput(f"{self.where} has {missing}; it has {listed}")
        return flat[0]

    def check(self, recipe: Recipe) -> None:
        """Refuse a recipe whose square the model cannot take."""
        axes = {"N": "n", "C": 3, "H": recipe.size, "W": recipe.size}
        ours = [axes[axis] for axis in recipe.layout]
        fits = len(self.shape) == 4 and all(
            not isinstance(theirs, int) or axis == "N" or theirs == axes[axis]
            for theirs, axis in zip(self.shape, recipe.layout, strict=True)
        )
        if not fits:
            raise BadInput(
                f"{self.where} takes pictures of shape {self.shape}, but its recipe gives {ours}; "
                "set size and layout to match"
            )

    def run(self, squares: NDArray[np.uint8], recipe: Recipe, output: str) -> NDArray[np.float32]:
        """The named output for framed pictures, one a row."""
        fed = self._fed(squares, recipe)
        try:
            (result,) = self._session.run([output], {self.input: fed})
        except Exception as error:
            raise BadInput(f"{self.where} cannot be run: {one_line(error)}") from None
        found = np.asarray(result, dtype=np.float32)
        if len(found) != len(squares) or not np.isfinite(found).all():
            raise BadInput(f"{self.where} gives {output} that is not one row of finite numbers")
        return found

    def _fed(self, squares: NDArray[np.uint8], recipe: Recipe) -> NDArray[Any]:
        fed: NDArray[Any] = squares
        if self.dtype is not np.uint8:
            # One multiplication and addition in place of /255, −mean, /std.
            std = np.asarray(recipe.std, dtype=np.float64)
            factor = (1 / (255 * std)).astype(np.float32)
            shift = (-np.asarray(recipe.mean) / std).astype(np.float32)
            fed = (squares * factor + shift).astype(self.dtype, copy=False)
        return np.ascontiguousarray(fed.transpose(0, 3, 1, 2) if recipe.layout == "NCHW" else fed)


class NetworkExtractor(Extractor):
    """What extractors over a network share; they say which network and how it is fed."""

    uses_threads = True
    together: ClassVar[int] = 1
    """Pictures that go through the network at once. One is right for any network: more may change
    the last digits, or not be allowed."""

    def fit(self, pictures: Pictures = (), y: Any = None, *, progress: Progress = silent) -> Self:
        """Open the network, so that whatever is wrong with it is said now; nothing is learnt."""
        self._opened()
        return self

    def prepare(self, pixels: Pixels) -> NDArray[np.uint8]:
        """The square of one picture that the network will see."""
        return frame(pixels, self._recipe())

    def rows(self, pictures: list[Pixels]) -> NDArray[np.float32]:
        """Vectors of decoded pictures, one a row, on all cores that the processes leave."""
        network, recipe, output = self._opened()

        def some(pictures: list[Pixels]) -> list[NDArray[np.float32]]:
            squares = np.stack([frame(pixels, recipe) for pixels in pictures])
            return [self._shaped(one) for one in network.run(squares, recipe, output)]

        found = in_threads(some, pictures, self.together, self.n_jobs)
        return normalised(np.stack(found), recipe.normalise)

    @property
    def gpus(self) -> int:
        return int(self._recipe().provider != "cpu")

    @property
    def max_side(self) -> int:  # type: ignore[override]
        """Twice what the network sees, so that even a 2 : 1 picture is never enlarged."""
        return 2 * self._recipe().size

    def _recipe(self) -> Recipe:
        raise NotImplementedError

    def _opened(self) -> tuple[OnnxNetwork, Recipe, str]:
        raise NotImplementedError

    def _shaped(self, output: NDArray[np.float32]) -> NDArray[np.float32]:
        return output


def in_threads(
    work: Callable[[list[Pixels]], Iterable[NDArray[np.float32]]],
    pictures: list[Pixels],
    together: int,
    n_jobs: int,
) -> list[NDArray[np.float32]]:
    """Rows of pictures, so many at a time, on all cores that ``n_jobs`` processes leave.

    >>> in_threads(lambda some: [one[0, 0] for one in some], [np.ones((1, 1, 3), np.uint8)], 1, 1)
    [array([1, 1, 1], dtype=uint8)]
    """
    groups = [pictures[first : first + together] for first in range(0, len(pictures), together)]
    threads = min(_cores() // max(1, n_jobs), len(groups))
    if threads <= 1:
        return [row for group in groups for row in work(group)]
    with ThreadPoolExecutor(threads) as pool:
        return [row for rows in pool.map(work, groups) for row in rows]


def _cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())

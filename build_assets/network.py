"""The CNN's networks as files of the package."""

from __future__ import annotations

import os
from pathlib import Path

from build_assets.graph import build_graph
from build_assets.weights import CHECKPOINTS, tensors_of

_FOLDER = Path("src", "visterm", "features", "cnn")
ASSETS = {name: _FOLDER / f"efficientnet-{name}.onnx" for name in CHECKPOINTS}


def build_networks(root: Path) -> list[Path]:
    """Build the networks below ``root``, each whole or not at all, and return their paths."""
    return [_built(root / path, name) for name, path in ASSETS.items()]


def _built(path: Path, name: str) -> Path:
    data = build_graph(tensors_of(name))
    if not path.exists() or path.read_bytes() != data:
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        part.write_bytes(data)
        part.replace(path)
    return path

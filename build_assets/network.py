"""The CNN's network as a file of the package."""

from __future__ import annotations

import os
from pathlib import Path

from build_assets.graph import build_graph
from build_assets.weights import efficientnet_lite0

ASSET = Path("src", "visterm", "features", "cnn", "efficientnet-lite0.onnx")


def build_network(root: Path) -> Path:
    """Build the network below ``root``, whole or not at all, and return its path."""
    path = root / ASSET
    data = build_graph(efficientnet_lite0())
    if not path.exists() or path.read_bytes() != data:
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        part.write_bytes(data)
        part.replace(path)
    return path

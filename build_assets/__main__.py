"""Build the assets of this checkout: ``python -m build_assets``."""

from pathlib import Path

from build_assets.network import build_network

print(build_network(Path(__file__).parents[1]))

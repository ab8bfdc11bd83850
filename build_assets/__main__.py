"""Build the assets of this checkout: ``python -m build_assets``."""

from pathlib import Path

from build_assets.network import build_networks

print(*build_networks(Path(__file__).parents[1]), sep="\n")

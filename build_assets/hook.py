"""hatchling's hook: build the assets before a wheel, or an editable install, takes the files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class AssetsHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        from build_assets.network import ASSETS, build_networks

        build_networks(Path(self.root))
        build_data["artifacts"] += [f"/{path.as_posix()}" for path in ASSETS.values()]

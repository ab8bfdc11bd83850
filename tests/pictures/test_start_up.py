"""Commands that look at no pixels must not pay for Pillow."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_package_loads_neither_pillow_nor_numpy() -> None:
    program = "import sys, visterm.pictures; print(sorted({'PIL', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"

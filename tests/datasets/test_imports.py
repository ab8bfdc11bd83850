"""Reading a benchmark must not wait for libraries that only drawing or learning needs."""

from __future__ import annotations

import subprocess
import sys


def test_the_room_opens_without_pillow_or_numba() -> None:
    ask = (
        "import sys, visterm.datasets as room; "
        "early = {'PIL', 'numba', 'scipy', 'sklearn'} & set(sys.modules); "
        "room.draw_scene; "
        "print(sorted(early), 'PIL' in sys.modules, 'draw_scenes' in dir(room))"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True True"

"""`visterm add` opens every picture file once, whichever of its processes does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from visterm.datasets.scenes import draw_scenes

# Every process of a command writes down which pictures it opens.
_WATCH = """
import os, sys
log = os.open(os.environ["OPENED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def watch(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".jpg"):
        os.write(log, os.path.basename(str(arguments[0])).encode() + b"\\n")
sys.addaudithook(watch)
"""


def test_every_picture_file_is_opened_once_by_add(tmp_path: Path) -> None:
    draw_scenes(tmp_path / "pictures", 20, size=(48, 32))
    (tmp_path / "pictures" / "scene-0003.txt").write_text("a boat")
    (tmp_path / "sitecustomize.py").write_text(_WATCH)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
        "OPENED": str(tmp_path / "opened"),
    }

    def opened_by(command: str) -> Counter[str]:
        (tmp_path / "opened").write_text("")
        add = [sys.executable, "-m", "visterm", *command.split(), "pictures"]
        subprocess.run(add, cwd=tmp_path, env=environment, check=True, capture_output=True)
        return Counter((tmp_path / "opened").read_text().split())

    names = [path.name for path in (tmp_path / "pictures").glob("*.jpg")]
    assert opened_by("add --features cnn") == dict.fromkeys(names, 1)
    assert opened_by("add") == {}
    moved = tmp_path / "pictures" / names[0]
    moved.rename(moved.with_name("moved.jpg"))
    assert opened_by("add") == {"moved.jpg": 1}

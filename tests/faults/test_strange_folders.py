"""A folder of pictures from a stranger: commands run in it load no code of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from visterm.datasets.scenes import draw_scenes

LOADED = ("joblib", "numpy", "PIL", "scipy", "multiprocessing", "visterm")
PROGRAM = """
import sys
from visterm.collection.ingest import pipeline
pipeline.WORTH = 1  # as if they were many
from visterm.cli import main
sys.argv = ["visterm", "add", ".", "--features", "blocks", "--workers", "2"]
main()
"""


def test_helpers_of_a_command_load_nothing_from_the_folder_one_stands_in(tmp_path: Path) -> None:
    draw_scenes(tmp_path / "pictures", 40, size=(48, 32))
    for name in LOADED:
        hostile = f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + ' ')"
        (tmp_path / "pictures" / f"{name}.py").write_text(hostile)
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM],
        cwd=tmp_path / "pictures",
        env=os.environ | {"PYTHONPATH": paths, "PYTHONSAFEPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    ran = tmp_path / "ran"
    assert not ran.exists(), ran.read_text()
    assert done.returncode == 0, done.stderr
    assert "40 new" in done.stdout + done.stderr

"""A folder of pictures from a stranger: what is run in it loads no code and no settings of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes

LOADED = ("joblib", "numpy", "PIL", "scipy", "multiprocessing", "visterm")
COMMAND = """
import sys
from visterm.cli import main
sys.argv = ["visterm", *sys.argv[1:]]
main()
"""
MANY = """
from visterm.collection.ingest import pipeline
pipeline.WORTH = 1  # as if they were many
"""
SERVER = """
import time
from pathlib import Path
from visterm.encoders import installation
from visterm.errors import BadInput
from visterm.web.writer import Writer
writer = Writer(Path("."), Path(".visterm"))
writer.submit("caption", {"picture": 1, "text": "sea"}).result(60)
writer.start("duplicates")
while writer.is_at_work:
    time.sleep(0.01)
print(writer.job.state, writer.job.error)
writer.close()
try:
    installation._tried(Path("."), "fp32")
except BadInput:
    print("tried")
"""
SETTINGS = ".numba_config.yaml"
LATER = f"""
import sys
from pathlib import Path
from visterm.cli import main
sys.argv = ["visterm", "--version"]
try:
    main()
except SystemExit:
    pass
Path({SETTINGS!r}).write_text("cache_dir: .\\ncache_locator_classes: this.that")
from numba import config
print([config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES])
"""
DELETED = """
import os
os.rmdir(os.getcwd())
"""


def ran(program: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, begun without it as the installed command is."""
    paths = os.pathsep.join(filter(None, sys.path))
    mine = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CACHE")}
    return subprocess.run(
        [sys.executable, "-P", "-c", program, *words],
        cwd=folder,
        env=mine | {"PYTHONPATH": paths, "PYTHONSAFEPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A folder of a few pictures and of Python files that say that they were run."""
    folder = tmp_path / "pictures"
    draw_scenes(folder, 40, size=(48, 32))
    for name in LOADED:
        hostile = f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + ' ')"
        (folder / f"{name}.py").write_text(hostile)
    return folder


def test_helpers_of_a_command_load_nothing_from_the_folder_one_stands_in(strange: Path) -> None:
    done = ran(MANY + COMMAND, strange, "add", ".", "--features", "block-counts", "--workers", "2")
    hostile = strange.with_name("ran")
    assert not hostile.exists(), hostile.read_text()
    assert done.returncode == 0, done.stderr
    assert "40 new" in done.stdout + done.stderr


def test_processes_of_a_server_load_nothing_from_there_whoever_begins_it(strange: Path) -> None:
    with Collection.open(strange) as collection:
        collection.add(features="blocks")
    done = ran(SERVER, strange)
    hostile = strange.with_name("ran")
    assert not hostile.exists(), hostile.read_text()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done None\ntried\n"


def test_settings_of_numba_among_pictures_are_refused_before_it_reads_them(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text(f"dump_html: {tmp_path / 'overwritten'}")
    done = ran(COMMAND, tmp_path, "add", ".", "--features", "blocks")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert f"{SETTINGS} in this folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [SETTINGS]


def test_settings_of_numba_that_come_later_say_not_where_kernels_lie(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="numba reads none without it")
    done = ran(LATER, tmp_path)
    assert done.stdout.splitlines()[-1:] == ["['', '']"], done.stderr


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nobody deletes where somebody stands")
@pytest.mark.parametrize(("word", "code"), [("--version", 0), ("status", 2)])
def test_in_a_folder_that_was_deleted_a_command_answers(
    tmp_path: Path, word: str, code: int
) -> None:
    (tmp_path / "here").mkdir()
    done = ran(DELETED + COMMAND, tmp_path / "here", word)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert ("there is no folder ." in done.stderr) == (code == 2)

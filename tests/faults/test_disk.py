"""The played disk itself: careless programs are found out by it, and careful ones are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.campaign import disk
from benchmarks.campaign.disk import Fault
from benchmarks.campaign.power import cut_power

from visterm.index.feature_file import FeatureFile

pytestmark = pytest.mark.skipif(disk.compiler() is None, reason="needs Linux and a C compiler")
ROOT = Path(__file__).parents[2]
_BEGIN = """
import os, sys
from pathlib import Path
from benchmarks.campaign import disk
from visterm.files import make_folder, write_whole
folder = Path(sys.argv[1])
disk.arm(folder, disk.Fault[sys.argv[2]], int(sys.argv[3]), Path(sys.argv[4]))
"""


class Disk:
    """A folder, and programs that change it while something happens."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.journal = folder / "disk", folder / "journal"
        self.folder.mkdir()
        self.journal.mkdir()

    def run(self, program: str, fault: Fault, at: int = 0) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(ROOT), *sys.path])
        return subprocess.run(
            [
                *(sys.executable, "-c", _BEGIN + program + "\nprint(disk.changes())"),
                *(self.folder, fault.name, str(at), self.journal),
            ],
            env={**os.environ, "PYTHONPATH": path, "LD_PRELOAD": str(disk.library())},
            capture_output=True,
            text=True,
        )

    def changes(self, program: str) -> str:
        return self.run(program, Fault.COUNT).stdout.strip()

    def cut_power_after(self, program: str) -> None:
        """Run it to its end, and cut the power there."""
        done = self.run(f"{program}\nos.kill(os.getpid(), 9)", Fault.POWER)
        assert done.returncode == -signal.SIGKILL, done.stderr
        cut_power(self.journal, self.folder)


@pytest.fixture
def played(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def test_every_change_of_a_file_is_counted(played: Disk) -> None:
    program = """
file = os.open(folder / "a", os.O_CREAT | os.O_RDWR)
os.write(file, b"one"); os.pwrite(file, b"two", 3); os.writev(file, [b"three"])
os.fsync(file); os.fdatasync(file); os.ftruncate(file, 2)
os.rename(folder / "a", folder / "b"); os.mkdir(folder / "c"); os.unlink(folder / "b")
os.rmdir(folder / "c"); Path(sys.argv[4], "elsewhere").write_bytes(b"not counted")
"""
    assert played.changes(program) == "nwwwssunnuu"


def test_the_writes_of_sqlite_are_counted(played: Disk) -> None:
    program = """
import sqlite3
db = sqlite3.connect(folder / "a.sqlite")
db.execute("PRAGMA journal_mode = WAL"); db.execute("CREATE TABLE t (x)"); db.commit()
db.execute("INSERT INTO t VALUES (1)"); db.commit()
"""
    changes = played.changes(program)
    assert changes.count("w") > 5
    assert changes.count("s") > 3


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault.IO_ERROR, "Input/output error"),
        (Fault.GONE, "Input/output error"),
        (Fault.FULL, "No space left on device"),
    ],
)
def test_a_write_fails_as_it_was_asked_to(played: Disk, fault: Fault, said: str) -> None:
    done = played.run('(folder / "a").write_bytes(b"words")', fault, at=2)
    assert done.returncode == 1
    assert said in done.stderr


def test_a_torn_write_leaves_half_of_it(played: Disk) -> None:
    done = played.run('(folder / "a").write_bytes(b"1234")', Fault.TEAR, at=2)
    assert done.returncode == -signal.SIGKILL
    assert (played.folder / "a").read_bytes() == b"12"


def test_a_power_cut_loses_what_a_careless_program_has_not_synced(played: Disk) -> None:
    (played.folder / "kept").write_bytes(b"old")
    (played.folder / "gone").write_bytes(b"old")
    played.cut_power_after("""
(folder / "kept").write_bytes(b"new words"); (folder / "new").write_bytes(b"new")
os.unlink(folder / "gone")
file = os.open(folder / "nameless", os.O_CREAT | os.O_WRONLY); os.write(file, b"x"); os.fsync(file)
""")
    names = {path.name: path.read_bytes() for path in played.folder.iterdir()}
    assert names == {"kept": b"old", "gone": b"old"}, "a name lasts once its folder was synced"


def test_a_power_cut_takes_nothing_of_what_was_written_whole(played: Disk) -> None:
    (played.folder / "kept").write_bytes(b"old")
    played.cut_power_after("""
make_folder(folder / "models" / "1"); write_whole(folder / "models" / "1" / "a", b"model")
write_whole(folder / "kept", b"new words")
""")
    assert (played.folder / "models" / "1" / "a").read_bytes() == b"model"
    assert (played.folder / "kept").read_bytes() == b"new words"


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_store_that_is_being_deleted_is_whole_or_gone(played: Disk, at: int) -> None:
    files = [played.folder / "store" / name for name in ("catalogue.sqlite", "model")]
    files[0].parent.mkdir()
    for path in files:
        path.write_bytes(b"whole")
    program = "from visterm.collection.store.location import forget; forget(folder / 'store')"
    assert played.run(program, Fault.KILL, at).returncode == -signal.SIGKILL
    assert [path.exists() for path in files] == 2 * [at == 1]


def test_that_a_starter_was_taken_away_outlives_a_power_cut(played: Disk) -> None:
    (played.folder / "starter.safetensors").write_bytes(b"shared")
    played.cut_power_after("""
from visterm.collection.training.shared_starter import take_away
take_away(folder / "starter.safetensors")
""")
    assert list(played.folder.iterdir()) == []


def test_a_folder_that_nobody_made_lasting_is_lost_with_all_in_it(played: Disk) -> None:
    played.cut_power_after("(folder / 'models').mkdir(); write_whole(folder / 'models' / 'a', b'')")
    assert list(played.folder.iterdir()) == []


APPENDED = """
import numpy as np
from visterm.index.feature_file import FeatureFile
rows = FeatureFile(folder / "rows", "dense", 2, {count})
rows.append(np.full((3, 2), {value}, np.float32)); rows.append_ids([7, 8, 9])
"""


def test_a_power_cut_takes_nothing_of_rows_that_were_appended(played: Disk) -> None:
    played.cut_power_after(APPENDED.format(count=0, value=1))
    rows = FeatureFile(played.folder / "rows", "dense", 2, 3)
    assert rows.ids.tolist() == [7, 8, 9]
    assert rows.vectors().tolist() == [[1, 1]] * 3


def test_a_power_cut_while_rows_are_appended_leaves_the_first_ones_as_they_were(
    tmp_path: Path,
) -> None:
    cuts = 0
    while True:
        (tmp_path / str(cuts)).mkdir()
        played = Disk(tmp_path / str(cuts))
        before = FeatureFile(played.folder / "rows", "dense", 2, 0)
        before.append(np.full((4, 2), 5, np.float32))
        before.append_ids([1, 2, 3, 4])
        done = played.run(APPENDED.format(count=4, value=1), Fault.POWER, at=cuts + 1)
        if done.returncode != 0:
            assert done.returncode == -signal.SIGKILL, done.stderr
            cut_power(played.journal, played.folder)
        rows = FeatureFile(played.folder / "rows", "dense", 2, 4)
        assert rows.ids.tolist() == [1, 2, 3, 4]
        assert rows.vectors().tolist() == [[5, 5]] * 4
        if done.returncode == 0:
            break
        cuts += 1
    assert cuts > 5

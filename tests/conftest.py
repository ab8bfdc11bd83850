"""What every test stands on: a cache of its own, so that none reads or fills a person's."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from build_assets.network import ASSETS, build_networks
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# Set before anything asks for it. Worker processes inherit it, and those of pytest-xdist share it.
if "PYTEST_XDIST_WORKER" not in os.environ:
    # A checkout that nobody installed, such as a new worktree, has none of them.
    if not all((ROOT / path).exists() for path in ASSETS.values()):
        build_networks(ROOT)
    # Collections are synced to the disk at every step; in memory nobody waits for that.
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > 4 << 30:
        tempfile.tempdir = os.environ.setdefault("TMPDIR", str(memory))
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="visterm-cache-")
    atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    # Hundreds of processes are begun, and each would compile the package anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The problems of tests are so small that threads of numerical libraries only wait for each other,
# and the other cores belong to the tests that run there. Read when these libraries are loaded.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A run says the same about the same tree; HYPOTHESIS_PROFILE=explore looks for new examples.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the cluster: at the head of its queue no other process of pytest-xdist takes a
    part of these tests away, which would start a second cluster beside the first. Before it come
    the index's, so that its kernels are compiled once and not by every replica."""
    first = ("test_columns.py", "test_cluster.py")
    items.sort(key=lambda item: first.index(item.path.name) if item.path.name in first else 2)


@pytest.fixture(scope="session")
def drawn_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of an installed encoder that knows colours and shapes; see `benchmarks`."""
    from benchmarks.drawn_encoder import write

    from visterm import encoders

    home = tmp_path_factory.mktemp("encoders")
    os.environ["VISTERM_ENCODERS"] = str(home / "installed")
    return encoders.add(str(write(home / "drawn"))).name

"""A built network is kept, noticed when harmed, and never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from visterm.features.cnn import CNN
from visterm.features.cnn.cache import kept
from visterm.features.cnn.efficientnet import _efficientnet_lite0


class Build:
    """Counts how often it is called."""

    def __init__(self, data: bytes) -> None:
        self.data, self.calls = data, 0

    def __call__(self) -> bytes:
        self.calls += 1
        return self.data


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_what_was_built_once_is_not_built_again(tmp_path: Path) -> None:
    build = Build(b"oak")
    assert kept("tree", "1", build, tmp_path / "new" / "folder") == b"oak"
    assert kept("tree", "1", build, tmp_path / "new" / "folder") == b"oak"
    assert build.calls == 1


def test_another_recipe_or_name_is_built_anew(tmp_path: Path) -> None:
    assert kept("tree", "1", Build(b"oak"), tmp_path) == b"oak"
    assert kept("tree", "2", Build(b"ash"), tmp_path) == b"ash"
    assert kept("bush", "1", Build(b"box"), tmp_path) == b"box"
    assert kept("tree", "1", Build(b"elm"), tmp_path) == b"oak"


@pytest.mark.parametrize("harm", [b"", b"oa", b"oaK", b"oak and more"])
def test_a_harmed_file_is_replaced(harm: bytes, tmp_path: Path) -> None:
    kept("tree", "1", Build(b"oak"), tmp_path)
    only_file(tmp_path).write_bytes(harm)
    build = Build(b"oak")
    assert kept("tree", "1", build, tmp_path) == b"oak"
    assert build.calls == 1
    assert only_file(tmp_path).read_bytes() == b"oak"


def test_an_unfinished_file_of_a_killed_process_is_not_read(tmp_path: Path) -> None:
    kept("tree", "1", Build(b"oak"), tmp_path)
    path = only_file(tmp_path)
    path.rename(path.with_name(f".{path.name}.1234.part"))
    assert kept("tree", "1", Build(b"elm"), tmp_path) == b"elm"


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    build = Build(b"oak")
    for _ in range(2):
        assert kept("tree", "1", build, tmp_path / "a file" / "networks") == b"oak"
    assert build.calls == 2
    if os.geteuid() != 0:
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        assert kept("tree", "1", build, locked) == b"oak"


def test_a_harmed_network_in_the_users_cache_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path)
    _efficientnet_lite0.cache_clear()
    CNN().fit()
    path = only_file(tmp_path / "networks")
    whole = path.read_bytes()
    path.write_bytes(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
    _efficientnet_lite0.cache_clear()
    CNN().fit()
    assert only_file(tmp_path / "networks").read_bytes() == whole

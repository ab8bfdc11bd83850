"""Files of our own that somebody damaged: what was written, or nothing, or a sentence."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from visterm.collection.library.backup import _read
from visterm.encoders.installation import read_manifest as read_encoder
from visterm.errors import VistermError
from visterm.features.cnn.recipe import read_recipe
from visterm.index.columns import _written, is_sound, read_column
from visterm.models.selection import Checkpoint
from visterm.starter.starter import read_starter
from visterm.stored import read_stored

RUNS = [(0.5, {"C": 0.1}), (0.25, {"C": 1.0})]
PATCHES = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=4)),
    min_size=1,
    max_size=4,
)


def damaged(content: bytes, patches: list[tuple[float, bytes]]) -> bytes:
    found = bytearray(content)
    for share, put in patches:
        at = int(share * len(content))
        found[at : at + len(put)] = put
    return bytes(found)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A checkpoint of two runs."""
    with tempfile.TemporaryDirectory() as made:
        checkpoint = Checkpoint(Path(made, "whole.npz"), "a")
        for avgp, choice in RUNS:
            checkpoint.add(avgp, choice, {"weights_": np.eye(3), "C_": np.array(0.1)})
        yield Path(made)


def test_a_checkpoint_gives_back_what_was_learnt_and_nothing_else(folder: Path) -> None:
    kept = Checkpoint(folder / "whole.npz", "a")
    assert kept.runs == RUNS
    assert sorted(kept.fitted) == ["C_", "weights_"]


@given(patches=PATCHES, cut=st.none() | st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_a_damaged_checkpoint_is_whole_or_none(
    folder: Path, patches: list[tuple[float, bytes]], cut: float | None
) -> None:
    content = damaged((folder / "whole.npz").read_bytes(), patches)
    path = folder / "damaged.npz"
    path.write_bytes(content if cut is None else content[: int(cut * len(content))])
    kept = Checkpoint(path, "a")
    assert kept.runs in ([], RUNS)
    assert sorted(kept.fitted) in ([], ["C_", "weights_"])


COLUMN = np.arange(1000, dtype=np.uint16)


@given(patches=PATCHES, cut=st.none() | st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_a_damaged_column_is_found_by_its_hash_and_one_of_another_length_is_not_read(
    folder: Path, patches: list[tuple[float, bytes]], cut: float | None
) -> None:
    whole = folder / "column"
    if not whole.exists():
        _written(whole, COLUMN)
        assert is_sound(whole)
    content = damaged(whole.read_bytes(), patches)
    path = folder / "damaged"
    path.write_bytes(content if cut is None else content[: int(cut * len(content))])
    assert not is_sound(path) or read_column(path).tolist() == COLUMN.tolist()
    assert read_column(path).size in (0, COLUMN.size)


def of_backup(path: Path) -> None:
    head = '{"visterm": "backup"}\n'
    path.write_text(head + DEEP)
    list(_read(path))


def of_metadata(read_file: Callable[[Path], object]) -> Callable[[Path], None]:
    """A file of safetensors that says something too deep about itself."""

    def read_it(path: Path) -> None:
        save_file({"a": np.eye(2)}, path, {"visterm": DEEP})
        read_file(path)

    return read_it


DEEP = "[" * 100_000
DEEP_FILES: dict[str, Callable[[Path], object]] = {
    "manifest of an encoder": lambda path: read_encoder(named(path, "a.json") / "a.json"),
    "recipe": lambda path: read_recipe(named(path, "a.json") / "a.json"),
    "backup": of_backup,
    "model": of_metadata(read_stored),
    "starter": of_metadata(read_starter),
}


@pytest.mark.parametrize("kind", DEEP_FILES)
def test_json_that_is_too_deep_to_be_read_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(VistermError):
        DEEP_FILES[kind](tmp_path / "file")


def named(path: Path, name: str) -> Path:
    """A folder with a file of that name that is too deep."""
    path.mkdir()
    (path / name).write_text(DEEP)
    return path

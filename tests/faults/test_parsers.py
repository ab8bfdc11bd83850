"""Files of our own that somebody damaged: what was written, or nothing, or a sentence."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from visterm.collection.exchange.backup import _read
from visterm.encoders.manifest import FILE
from visterm.encoders.manifest import read_manifest as read_encoder
from visterm.errors import VistermError
from visterm.features.cnn.recipe import read_recipe
from visterm.index import Index
from visterm.index.manifest import NAME, _hash, read_manifest
from visterm.models.checkpoint import Checkpoint
from visterm.starter.starter import read_starter
from visterm.stored import read_stored

RUNS = [(0.5, {"C": 0.1}), (0.25, {"C": 1.0})]
PATCHES = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=4)),
    min_size=1,
    max_size=4,
)
LEAVES = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


def damaged(content: bytes, patches: list[tuple[float, bytes]]) -> bytes:
    found = bytearray(content)
    for share, put in patches:
        at = int(share * len(content))
        found[at : at + len(put)] = put
    return bytes(found)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A checkpoint of two runs, and an index."""
    with tempfile.TemporaryDirectory() as made:
        checkpoint = Checkpoint(Path(made, "whole.npz"), "a")
        for avgp, choice in RUNS:
            checkpoint.add(avgp, choice, {"weights_": np.eye(3), "C_": np.array(0.1)})
        index = Index.create(Path(made, "index"), words=3)
        index.append(np.arange(12, dtype=np.float32).reshape(4, 3))
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


@given(patches=PATCHES)
@settings(max_examples=60, deadline=None)
def test_a_damaged_manifest_is_whole_or_refused(
    folder: Path, patches: list[tuple[float, bytes]]
) -> None:
    whole = read_manifest(folder / "index")
    content = damaged((folder / "index" / NAME).read_bytes(), patches)
    assert read(folder, content) in (None, whole)


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_manifest_with_anything_in_any_place_is_read_or_refused(
    folder: Path, data: st.DataObject
) -> None:
    """Its hash is right, as that of somebody who means harm would be."""
    content = json.loads((folder / "index" / NAME).read_bytes())
    del content["sha256"]
    place: Any = content
    while True:
        keys = range(len(place)) if isinstance(place, list) else sorted(place)
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if not isinstance(inner, list | dict) or not inner or data.draw(st.booleans()):
            place[key] = data.draw(VALUES)
            break
        place = inner
    read(folder, json.dumps({**content, "sha256": _hash(content)}).encode())


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
    "manifest of an index": lambda path: read_manifest(named(path, NAME)),
    "manifest of an encoder": lambda path: read_encoder(named(path, FILE)),
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


def read(folder: Path, content: bytes) -> object:
    """The manifest; None where it is refused with a sentence."""
    other = folder / "other"
    other.mkdir(exist_ok=True)
    (other / NAME).write_bytes(content)
    try:
        return read_manifest(other)
    except VistermError:
        return None

"""Manifests that say what cannot be: refused with a reason, whatever numbers they hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from visterm.errors import VistermError
from visterm.index import Index
from visterm.index.manifest import MOST_WORDS, read_manifest, write_manifest


@pytest.mark.parametrize("words", [MOST_WORDS + 1, 1 << 62, 1 << 70])
def test_more_words_than_memory_has_room_for_are_refused(tmp_path: Path, words: int) -> None:
    Index.create(tmp_path, words=3).append(np.ones((2, 3), np.float32), [1, 2])
    write_manifest(tmp_path, replace(read_manifest(tmp_path), words=words))
    with pytest.raises(VistermError, match="is damaged"):
        Index.open(tmp_path)


@pytest.mark.parametrize("number", ["version", "next_id"])
def test_numbers_that_no_file_can_hold_are_refused(tmp_path: Path, number: str) -> None:
    Index.create(tmp_path, words=3).append(np.ones((2, 3), np.float32), [1, 2])
    write_manifest(tmp_path, replace(read_manifest(tmp_path), **{number: 1 << 63}))
    with pytest.raises(VistermError, match="is damaged"):
        Index.open(tmp_path)

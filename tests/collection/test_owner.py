"""Whose collection is opened: one's own, or one that was named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.errors import BadInput


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no such owner here")
def test_a_store_of_another_user_above_ones_folder_is_opened_only_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "mine" / "2024"
    inside.mkdir(parents=True)
    Collection.open(tmp_path).close()
    with Collection.open(inside) as own:
        assert own.root == tmp_path
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(BadInput, match="belongs to another user"):
        Collection.open(inside)
    with pytest.raises(BadInput, match="belongs to another user"):
        Collection.open(inside, create=False)
    for named in (
        Collection.open(tmp_path),
        Collection.open(inside, store=tmp_path / ".visterm"),
        Collection.open(inside, store=tmp_path / "elsewhere"),
    ):
        named.close()

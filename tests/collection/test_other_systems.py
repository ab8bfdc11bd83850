"""Paths as Windows and macOS spell them, on file systems that know no capitals, simulated."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.errors import BadInput
from visterm.text.query import parse_query


def test_a_name_with_accents_is_found_however_it_is_composed(
    pictures: Callable[[int], Path],
) -> None:
    folder = pictures(2)
    apart = unicodedata.normalize("NFD", "Fähre.jpg")  # as macOS lists it
    (folder / "scene-0001.jpg").rename(folder / apart)
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")
        collection.caption(folder / unicodedata.normalize("NFC", apart), "a ferry")
        assert collection.captions(folder / apart) == {"person": "a ferry"}


def test_capitals_do_not_matter_where_the_file_system_knows_none(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = collection.root / "SCENE-0003.JPG"
    with pytest.raises(BadInput, match="not in the collection"):
        collection.caption(other, "a boat")  # here they do
    monkeypatch.setattr(
        os.path, "samefile", lambda one, two: str(one).casefold() == str(two).casefold()
    )
    collection.caption(other, "a boat")
    assert collection.captions(collection.root / "scene-0003.jpg")["person"] == "a boat"


def test_a_file_renamed_in_its_capitals_only_keeps_what_is_known(collection: Collection) -> None:
    old = collection.root / "scene-0002.jpg"
    collection.caption(old, "a boat")
    old.rename(collection.root / "Scene-0002.JPG")
    report = collection.add()
    assert (report.moved, report.new, report.vanished) == (1, 0, 0)
    assert collection.captions(collection.root / "Scene-0002.JPG")["person"] == "a boat"


def test_folders_in_queries_may_be_written_as_windows_does() -> None:
    assert parse_query(r"sea in:alps\2019").filters.folders == ("alps/2019",)
    assert parse_query(r'sea in:".\summer 2019\"').filters.folders == ("summer 2019",)

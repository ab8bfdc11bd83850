"""The quick way into a search understands what the parser understands, or leaves it alone."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from visterm.cli import search
from visterm.cli.app import app
from visterm.cli.search import SearchOptions, quick_options

WAYS = [
    ["tree"],
    ["tree", "snow"],
    ["tree snow", "-k", "3"],
    ["--limit", "3", "tree"],
    ["tree", "--json", "--good", "--fold", "--paths", "--as-is"],
    ["--like", "a.jpg"],
    ["in:alps", "--like", "a.jpg", "-C", "folder", "--store", "store"],
    [],
]


@pytest.mark.parametrize("words", WAYS)
def test_what_is_understood_quickly_is_what_the_parser_understands(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[SearchOptions] = []
    monkeypatch.setattr(search, "run", parsed.append)
    ran = CliRunner().invoke(app, ["search", *words])
    assert ran.exit_code == 0, ran.output
    assert [quick_options(["search", *words])] == parsed


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["-h"],
        ["tree", "--unheard-of"],
        ["tree", "-k"],
        ["tree", "-k", "many"],
        ["tree", "-k", "0"],
        ["tree", "-k3"],
        ["tree", "--limit=3"],
        ["tree", "-s"],
        ["--", "-snow"],
    ],
)
def test_what_is_not_understood_is_left_to_the_parser(words: list[str]) -> None:
    assert quick_options(["search", *words]) is None


def test_unwanted_words_are_no_options() -> None:
    assert quick_options(["search", "tree", "-snow", "-k", "3"]) == SearchOptions("tree -snow", 3)
    assert quick_options(["search", "-kayak"]) == SearchOptions("-kayak")


def test_other_commands_are_left_to_the_parser() -> None:
    assert quick_options([]) is None
    assert quick_options(["status"]) is None
    assert quick_options(["--version"]) is None
